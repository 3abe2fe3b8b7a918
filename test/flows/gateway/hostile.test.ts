// second tier: time
import * as assert from 'uvu/assert'
import { startClient } from 'caduceus/client'
import { McpError } from 'caduceus/protocol'
import { defineServer, defineTool, gateway, subscribeServer } from 'caduceus/server'
import { connect, fakeClock, type ScriptedServer, scriptedServer } from 'caduceus/testing'
import { suite, type TestContext } from '../../support/suite.js'

const test = suite('gateway: servers that keep no rule', { timeout: 10_000 })
const schema = { type: 'object' }

test('an endless list is cut off, and its known part is offered', async (t) => {
  const pages: unknown[] = []
  const server = scriptedServer({
    'tools/list': ({ params }) => {
      pages.push(params?.cursor)
      return {
        tools: pages.length === 1 ? [{ name: 'a', inputSchema: schema }] : [],
        nextCursor: `${pages.length}`,
      }
    },
  })
  const { client } = await through(t, server)
  assert.equal((await names(client)).sort(), ['bad__a', 'good__ok'])
  assert.ok(pages.length <= 1_000, String(pages.length))
})

test('a server whose list fails is asked again', async (t) => {
  const busy = new McpError(-32_603, 'busy')
  const server = scriptedServer({ 'tools/list': [busy, { tools: [{ name: 'a', inputSchema: schema }] }] })
  const { client } = await through(t, server)
  const changed = new Promise<void>((resolve) => {
    client.onNotification('notifications/tools/list_changed', () => resolve())
  })
  assert.equal(await names(client), ['good__ok'])
  await changed
  assert.equal((await names(client)).sort(), ['bad__a', 'good__ok'])
})

test('a repeated cursor ends a list', async (t) => {
  let pages = 0
  const server = scriptedServer({
    'tools/list': () => {
      pages += 1
      return { tools: [{ name: `a${pages}`, inputSchema: schema }], nextCursor: 'same' }
    },
  })
  const { client } = await through(t, server)
  assert.equal((await names(client)).sort(), ['bad__a1', 'bad__a2', 'good__ok'])
})

test('a server with endless changes is polled less and less; its last change arrives', async (t) => {
  let version = 0
  let asked = 0
  const server = scriptedServer({
    'tools/list': () => {
      asked += 1
      return { tools: [{ name: `v${version}`, inputSchema: schema }] }
    },
  })
  const upstream = startClient({ name: 'bad', transport: server.transport, logger: false })
  t.after(() => upstream.close())
  const clock = fakeClock()
  const below = await connect(gateway({ bad: upstream }), { clock })
  t.after(() => below.close())
  const told: string[] = []
  below.client.onNotification('notifications/tools/list_changed', () => void told.push(`v${version}`))
  const seconds = 20
  for (let ms = 0; ms < seconds * 1_000; ms += 10) {
    version += 1
    server.notify('notifications/tools/list_changed')
    await clock.advance(10)
  }
  assert.ok(asked > 10, `${asked} times in ${seconds} s`)
  assert.ok(asked < 50, `${asked} times in ${seconds} s`)
  assert.ok(told.length <= asked)
  // nothing more is told: what is offered is what there was last
  await clock.advance(1_000)
  assert.equal(await names(below.client), [`bad__v${version}`])
  // quiet meanwhile: the next change is asked for at once
  await clock.advance(1_000)
  const before = asked
  version += 1
  server.notify('notifications/tools/list_changed')
  await clock.advance(10)
  assert.is(asked, before + 1)
  assert.equal(await names(below.client), [`bad__v${version}`])
})

test('a server whose lists fail is not polled more often when it reports changes', async (t) => {
  let asked = 0
  const server = scriptedServer({
    'tools/list': () => {
      asked += 1
      return new McpError(-32_603, 'busy')
    },
  })
  const upstream = startClient({ name: 'bad', transport: server.transport, logger: false })
  t.after(() => upstream.close())
  await upstream.ready()
  const clock = fakeClock()
  const starting = connect(gateway({ bad: upstream }, { startTimeout: 1 }), { clock })
  for (let ms = 0; ms < 20_000; ms += 10) {
    server.notify('notifications/tools/list_changed')
    await clock.advance(10)
  }
  const below = await starting
  t.after(() => below.close())
  assert.ok(asked >= 3 && asked <= 5, `${asked} times in 20 s`)
})

test('too long lists are refused, and the calls of other servers go on', async (t) => {
  let isLong = false
  let asked = 0
  const description = 'd'.repeat(4 * 1024 * 1024)
  const server: ScriptedServer = scriptedServer({
    'tools/list': () => {
      asked += 1
      const tools = [{ name: 'a', inputSchema: schema, ...(isLong && { description }) }]
      return isLong ? { tools, nextCursor: `${asked}` } : { tools }
    },
  })
  const told: string[] = []
  t.after(subscribeServer('gateway', ({ upstream, problem }) => void told.push(`${upstream}: ${problem}`)))
  const { client } = await through(t, server)
  assert.equal((await names(client)).sort(), ['bad__a', 'good__ok'])
  isLong = true
  asked = 0
  server.notify('notifications/tools/list_changed')
  while (told.length === 0) {
    const began = Date.now()
    assert.is((await client.callTool('good__ok')).text, 'ok')
    assert.ok(Date.now() - began < 5_000)
    await new Promise((resolve) => setImmediate(resolve))
  }
  assert.match(
    told.join(),
    /^bad: its lists have more than 4194304 bytes: they are asked for again in \d+ ms$/,
  )
  assert.ok(asked <= 5, `${asked} pages`)
  assert.equal((await names(client)).sort(), ['bad__a', 'good__ok'])
})

test('broken entries, results and notifications affect their server only', async (t) => {
  const server: ScriptedServer = scriptedServer({
    'tools/list': {
      tools: [
        { name: 'x', inputSchema: schema, odd: { z: 1, a: 2 } },
        { name: 'x', inputSchema: schema },
        { name: '__proto__', inputSchema: schema },
        { name: 'a'.repeat(300), inputSchema: schema },
      ],
    },
    'tools/call': () => {
      server.notify('notifications/message', { level: 'weird', data: 1 })
      server.notify('notifications/progress', { progressToken: 'none', progress: 'much' })
      server.notify('notifications/elicitation/complete', {})
      return { content: 'no list' }
    },
  })
  const { client } = await through(t, server)
  const listed = await names(client)
  assert.is(listed.length, 5)
  assert.is(new Set(listed).size, 5)
  assert.ok(listed.every((name) => /^[\w.-]{1,64}$/.test(name)))
  const failed = await client.callTool('bad__x').catch((error: unknown) => error)
  assert.ok(failed instanceof McpError, String(failed))
  assert.is((failed.data as { code: string }).code, 'INVALID_RESPONSE')
  assert.is((await client.callTool('good__ok')).text, 'ok')
})

test.run()

/** A gateway to this server, and to one that is as it should be. */
async function through(t: TestContext, server: ScriptedServer) {
  const bad = startClient({ name: 'bad', transport: server.transport, logger: false })
  t.after(() => bad.close())
  const good = await connect(
    defineServer({ name: 'good', version: '1.0.0', tools: { ok: defineTool({ run: () => 'ok' }) } }),
  )
  t.after(() => good.close())
  const below = await connect(gateway({ bad, good: good.client }), {
    server: { limits: { pageSize: 1_000 } },
  })
  t.after(() => below.close())
  return below
}

async function names(client: { listTools(): Promise<{ tools: { name: string }[] }> }): Promise<string[]> {
  return (await client.listTools()).tools.map(({ name }) => name)
}
