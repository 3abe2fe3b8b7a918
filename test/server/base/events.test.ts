import * as assert from 'uvu/assert'
import { defineTool, type ServerEvents, subscribeServer } from 'caduceus/server'
import { type Heard, heard } from '../../support/heard.js'
import { suite, type TestContext } from '../../support/suite.js'
import { RawClient } from '../_client.js'
import { count, startTestServer } from '../_servers.js'

const test = suite('server events')

function listen<Name extends keyof ServerEvents>(t: TestContext, name: Name): Heard<ServerEvents[Name]> {
  const events = heard<ServerEvents[Name]>()
  t.after(subscribeServer(name, events.add))
  return events
}

test('a session emits its opening, its return and its end', async (t) => {
  const events = listen(t, 'session')
  const server = await startTestServer(t, [count])
  const client = await new RawClient(t, server.url).open('raw', '2025-06-18')
  const opened = await events.next()
  assert.equal([opened.type, opened.server, opened.revision], ['opened', 'test', '2025-06-18'])
  const session = server.registry.whereis(`test/session ${client.sessionId}`)
  assert.is(opened.process, session?.id)
  session?.kill()
  const killed = await events.next()
  assert.equal([killed.type, killed.reason, killed.process], ['ended', 'killed', opened.process])
  await client.text('count')
  assert.is((await events.next()).type, 'restored')
  await client.send('DELETE', undefined, client.headers())
  const ended = await events.next()
  assert.equal([ended.type, ended.reason], ['ended', 'normal'])
})

test('a request emits its start, its outcome and its duration', async (t) => {
  const crash = defineTool({
    name: 'crash',
    run() {
      throw new Error('secret')
    },
  })
  const gate = defineTool({
    name: 'gate',
    run: (_args, { signal }) =>
      new Promise<string>((resolve) => signal.addEventListener('abort', () => resolve(''))),
  })
  const server = await startTestServer(t, [count, crash, gate])
  const client = await new RawClient(t, server.url).open()
  const events = listen(t, 'request')
  const outcome = async () => {
    const { type, method, id, code, isError, cancelled, duration } = await events.next()
    assert.is(type === 'start', duration === undefined)
    assert.ok(duration === undefined || duration >= 0)
    return [type, method, id, code ?? cancelled ?? (isError && 'isError')]
  }
  await client.ask('ping', undefined, 'p')
  await client.call('count', {}, 'c')
  await client.call('crash', {}, 'x')
  await client.ask('nothing', undefined, 'n')
  assert.equal(
    [await outcome(), await outcome(), await outcome(), await outcome()],
    [
      ['start', 'ping', 'p', undefined],
      ['stop', 'ping', 'p', undefined],
      ['start', 'tools/call', 'c', undefined],
      ['stop', 'tools/call', 'c', undefined],
    ],
  )
  assert.equal(
    [await outcome(), await outcome(), await outcome(), await outcome()],
    [
      ['start', 'tools/call', 'x', undefined],
      ['error', 'tools/call', 'x', 'isError'],
      ['start', 'nothing', 'n', undefined],
      ['error', 'nothing', 'n', -32601],
    ],
  )
  const waiting = client.post({ jsonrpc: '2.0', id: 'g', method: 'tools/call', params: { name: 'gate' } })
  assert.equal(await outcome(), ['start', 'tools/call', 'g', undefined])
  await client.tell('notifications/cancelled', { requestId: 'g' })
  await waiting
  assert.equal(await outcome(), ['stop', 'tools/call', 'g', true])
})

test('batch messages emit like any others, in order', async (t) => {
  const server = await startTestServer(t, [count])
  const client = await new RawClient(t, server.url).open('raw', '2025-03-26')
  const [requests, notifications] = [listen(t, 'request'), listen(t, 'notification')]
  const { messages } = await client.post([
    { jsonrpc: '2.0', id: 'a', method: 'ping' },
    { jsonrpc: '2.0', method: 'notifications/unknown' },
    { jsonrpc: '2.0', id: 'b', method: 'nothing' },
    { jsonrpc: '2.0' },
    { jsonrpc: '2.0', id: 'c', method: 'tools/call', params: { name: 'count' } },
  ] as unknown as object)
  assert.is(messages.length, 4)
  const seen = requests.all.map(({ type, id, method, code }) => [type, id, method, code])
  assert.equal(seen, [
    ['start', 'a', 'ping', undefined],
    ['stop', 'a', 'ping', undefined],
    ['start', 'b', 'nothing', undefined],
    ['error', 'b', 'nothing', -32601],
    ['start', 'c', 'tools/call', undefined],
    ['stop', 'c', 'tools/call', undefined],
  ])
  assert.equal(
    notifications.all.map(({ type, method }) => [type, method]),
    [['received', 'notifications/unknown']],
  )
})

test('notifications emit events both ways, and a request of a dead session has failed', async (t) => {
  const told = heard<void>()
  const gate = defineTool({
    name: 'gate',
    run(_args, ctx) {
      ctx.progress(1)
      told.add()
      return new Promise<string>(() => {})
    },
  })
  const server = await startTestServer(t, [gate])
  const client = await new RawClient(t, server.url).open()
  const events = listen(t, 'notification')
  const requests = listen(t, 'request')
  const params = { name: 'gate', _meta: { progressToken: 1 } }
  const waiting = client.post({ jsonrpc: '2.0', id: 1, method: 'tools/call', params })
  await told.next()
  await client.tell('notifications/unknown')
  const seen = [await events.next(), await events.next()].map(({ type, method }) => `${type} ${method}`)
  assert.equal(seen, ['sent notifications/progress', 'received notifications/unknown'])
  server.registry.whereis(`test/session ${client.sessionId}`)?.kill()
  await waiting
  assert.is((await requests.next()).type, 'start')
  const { type, code } = await requests.next()
  assert.equal([type, code], ['error', -32603])
})

test('events have no arguments, results, session ids or error messages', async (t) => {
  const canary = defineTool({
    name: 'probe',
    input: { type: 'object', properties: { secret: { type: 'string' } } },
    run({ secret }) {
      if (secret === 'canary-crash') throw new Error('canary-message')
      return 'canary-result'
    },
  })
  const heardEvents: string[] = []
  for (const name of ['session', 'request', 'notification'] as const)
    t.after(subscribeServer(name, (event) => void heardEvents.push(JSON.stringify(event))))
  const server = await startTestServer(t, [canary])
  const client = await new RawClient(t, server.url).open('canary-client')
  await client.call('probe', { secret: 'canary-argument' })
  await client.call('probe', { secret: 'canary-crash' })
  await client.tell('notifications/cancelled', { requestId: 1, reason: 'canary-reason' })
  await client.send('DELETE', undefined, client.headers())
  await server.stop()
  assert.ok(heardEvents.length >= 8)
  for (const event of heardEvents) {
    assert.not.match(event, /canary/)
    assert.not.ok(event.includes(String(client.sessionId)))
  }
})

test('a throwing event listener stops nothing', async (t) => {
  t.expectStray(2)
  t.after(
    subscribeServer('request', () => {
      throw new Error('listener')
    }),
  )
  const server = await startTestServer(t, [count])
  const client = await new RawClient(t, server.url).open()
  assert.is(await client.text('count'), '1')
})

test.run()
