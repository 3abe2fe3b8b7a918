import * as assert from 'uvu/assert'
import { defineTool, records, type SessionRecord } from 'caduceus/server'
import { heard } from '../support/heard.js'
import { suite, type TestContext } from '../support/suite.js'
import { RawClient } from './_client.js'
import { startTestServer } from './_servers.js'

const test = suite('server stop while clients are away')

/** A call that lets its client go and is worked on until the test says so. */
async function start(t: TestContext, drain: number, { comesBack = true } = {}) {
  const entered = heard<void>()
  let leave = (): void => {}
  const left = new Promise<void>((resolve) => {
    leave = resolve
  })
  const gate = defineTool({
    name: 'gate',
    async run(_args, ctx) {
      if (comesBack) assert.is(ctx.releaseStream(), true)
      entered.add()
      await left
      await ctx.update('done', () => true)
      return 'left'
    },
  })
  const saved: SessionRecord[] = []
  const engine = records({ load: () => undefined, save: (record) => saved.push(record), delete: () => {} })
  const server = await startTestServer(t, [gate], { timeouts: { drain }, engine })
  const client = await new RawClient(t, server.url).open()
  const sent = client.post({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'gate' } })
  await entered.next()
  const kept = () => saved.at(-1)?.state
  return { server, sent, leave, kept }
}

test('a call of an absent resumable client keeps its drain time', async (t) => {
  const { server, sent, leave, kept } = await start(t, 10_000)
  assert.equal((await sent).messages, [])
  let isStopped = false
  const stopping = server.stop().then(() => {
    isStopped = true
  })
  // its own port is free by then, and so it has begun to wait
  while (await isListening(server.url)) await new Promise((resolve) => setImmediate(resolve))
  assert.is(isStopped, false)
  assert.equal(kept(), {})
  leave()
  await stopping
  assert.equal(kept(), { done: true })
})

test('an absent client call drains within timeouts.drain', async (t) => {
  const { server, sent, kept } = await start(t, 50)
  await sent
  await server.stop()
  assert.equal(kept(), {})
})

test('a call that ended with its group delays no stop', async (t) => {
  const { server, sent } = await start(t, 60_000)
  await sent
  const gone = new Promise((resolve) => server.registry.whereis('test/transport')?.onExit(resolve))
  server.registry.whereis('test/group')?.kill()
  await gone
  await server.registry.whenUp('test/transport')
  await server.stop()
})

async function isListening(url: string | undefined): Promise<boolean> {
  return fetch(String(url), { headers: { connection: 'close' } }).then(
    () => true,
    () => false,
  )
}

test.run()
