import * as assert from 'uvu/assert'
import { type Client, type EraOption, NotificationTarget, startClient } from 'caduceus/client'
import { type Server, startServer } from 'caduceus/server'
import { http, memory, serveHttp, serveWebSocket, websocket } from 'caduceus/transports'
import { interopDefinition } from '../../server/_interop-definition.js'
import { heard } from '../../support/heard.js'
import { suite, type TestContext } from '../../support/suite.js'
import { rejection } from '../_raw.js'

const test = suite('what servers offer', { timeout: 15_000 })

type Where = 'memory' | 'http' | 'websocket'

async function start(t: TestContext, where: Where, era: EraOption): Promise<Client> {
  let server: Server | undefined
  const pair = memory()
  const definition = interopDefinition(() => server as Server)
  server = await startServer(definition, {
    transport: { memory: pair.serve, http: serveHttp(), websocket: serveWebSocket() }[where],
    logger: false,
  })
  const { url, stop } = { url: server.url, stop: () => server?.stop() }
  t.after(stop)
  const transport = where === 'memory' ? pair.connect : (where === 'http' ? http : websocket)(url ?? '')
  const client = startClient({ transport, era, logger: false })
  t.after(() => client.close())
  return client
}

async function all<T>(list: AsyncIterable<T>): Promise<T[]> {
  const items: T[] = []
  for await (const item of list) items.push(item)
  return items
}

for (const where of ['memory', 'http', 'websocket'] as const) {
  for (const era of ['auto', 'handshake'] as const) {
    test(`every method works over ${where} in era ${era}`, async (t) => {
      const client = await start(t, where, era)
      await client.ready()
      const modern = era === 'auto'
      assert.is(client.server?.revision, modern ? '2026-07-28' : '2025-11-25')
      assert.equal(client.server?.info.name, 'interop')
      assert.is(client.server?.instructions, 'Be kind.')
      const names = (await all(client.tools())).map(({ name }) => name)
      assert.ok(names.includes('echo') && names.includes('steps'))
      assert.is((await client.callTool('echo', { text: 'ä' })).text, 'ä')
      assert.equal(
        (await all(client.resources())).map(({ uri }) => uri),
        ['x:page'],
      )
      assert.equal(
        (await all(client.templates())).map(({ uriTemplate }) => uriTemplate),
        ['f:///{name}'],
      )
      assert.is((await client.readResource('x:page')).text, 'a page')
      assert.equal(
        (await all(client.prompts())).map(({ name }) => name),
        ['greet'],
      )
      assert.is((await client.getPrompt('greet', { who: 'Ann' })).text, 'Greet Ann.')
      const { completion } = await client.complete({
        ref: { type: 'ref/prompt', name: 'greet' },
        argument: { name: 'who', value: 'b' },
      })
      assert.equal(completion.values, ['ba'])
      await client.ping()
      assert.ok(client.supports('tools/call') && client.supports('resources.subscribe'))
      assert.is(client.supports('resources/subscribe'), !modern)
      assert.is(client.supports('subscriptions/listen'), modern)
      assert.not.ok(client.supports('elicitation/create') || client.supports('no.such'))
    })

    test(`changes over ${where}, era ${era}, reach handlers, loops and events`, async (t) => {
      const client = await start(t, where, era)
      await client.ready()
      const tools = heard<object>()
      client.onNotification('notifications/tools/list_changed', tools.add)
      const updates = client.notifications('notifications/resources/updated')
      const target = new NotificationTarget(client)
      t.after(() => target[Symbol.dispose]())
      const events = heard<Event>()
      target.addEventListener('notifications/resources/updated', events.add)
      await client.subscribe('x:page')
      await client.callTool('change')
      await tools.next()
      assert.equal((await updates.next()).value?.uri, 'x:page')
      const event = await events.next()
      assert.is((event as CustomEvent<{ uri: string }>).detail.uri, 'x:page')
      await updates.return?.()
      assert.is((await updates.next()).done, true)
      await client.unsubscribe('x:page')
    })
  }
}

test('a loop over notifications ends with the client', async (t) => {
  const client = await start(t, 'memory', 'auto')
  const loop = all(client.notifications('notifications/message'))
  await client.close()
  assert.equal(await loop, [])
})

test('aborting a call in the modern era cancels it at the server', async (t) => {
  for (const where of ['memory', 'http'] as const) {
    const client = await start(t, where, 'modern')
    const controller = new AbortController()
    const call = client.callTool(
      'slow',
      {},
      { signal: controller.signal, onProgress: () => controller.abort() },
    )
    assert.is((await rejection(call)).code, 'CANCELLED')
    assert.is((await client.callTool('aborted')).text, 'aborted')
  }
})

test.run()
