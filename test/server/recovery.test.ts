import * as assert from 'uvu/assert'
import type { RefOf } from 'caduceus/runtime'
import { defineTool, type Server } from 'caduceus/server'
import { crash } from 'caduceus/testing'
import type { sessionActor } from '../../server/sessions/session-actor.js'
import { suite } from '../support/suite.js'
import { RawClient } from './_client.js'
import { count, echo, killAndWait, startTestServer, untilBack } from './_servers.js'

const test = suite('server recovery')
const parts = ['base', 'tasks', 'transport', 'sessions', 'group'] as const
const ends = {
  'was killed': (server: Server, part: (typeof parts)[number]) => killAndWait(server, `test/${part}`),
  crashed: (server: Server, part: (typeof parts)[number]) => untilBack(() => crash(server, { part })),
}

/** Waits for the next call of the tool, and lets the test end it. */
function makeGate() {
  const entered = withResolvers()
  const tool = defineTool({
    name: 'wait',
    async run(_args, ctx) {
      await ctx.update('waits', (n = 0) => n + 1)
      ctx.progress(1)
      entered.resolve()
      await new Promise((resolve) => ctx.signal.addEventListener('abort', resolve))
      return 'too late'
    },
  })
  return { tool, entered: entered.promise }
}

function withResolvers(): { promise: Promise<void>; resolve(): void } {
  let resolve = (): void => {}
  const promise = new Promise<void>((settle) => {
    resolve = settle
  })
  return { promise, resolve }
}

for (const part of parts) {
  for (const [how, end] of Object.entries(ends)) {
    test(`sessions continue on the same port after test/${part} ${how}`, async (t) => {
      const server = await startTestServer(t, [count])
      const { port } = server
      const clients = await Promise.all(
        ['a', 'b', 'c'].map((client) => new RawClient(t, server.url).open(client)),
      )
      for (const client of clients) await client.text('count', { by: 5 })
      await end(server, part)
      assert.equal(await Promise.all(clients.map((client) => client.text('count'))), ['6', '6', '6'])
      assert.is(server.port, port)
      const restored = await server.sessions()
      assert.equal(
        restored
          .map(({ client, revision, phase, capabilities }) => ({ client, revision, phase, capabilities }))
          .sort((a, b) => (a.client.name < b.client.name ? -1 : 1)),
        ['a', 'b', 'c'].map((client) => ({
          client: { name: client, version: '1' },
          revision: '2025-11-25',
          phase: 'ready',
          capabilities: { roots: {} },
        })),
      )
    })
  }
}

test('a crashed session restarts alone and comes back itself', async (t) => {
  const { tool, entered } = makeGate()
  const server = await startTestServer(t, [count, tool])
  const [a, b] = await Promise.all([
    new RawClient(t, server.url).open('a'),
    new RawClient(t, server.url).open('b'),
  ])
  await a.text('count')
  await b.text('count')
  const transport = server.registry.whereis('test/transport')
  const waiting = a.call('wait')
  await entered
  const other = b.text('count')
  server.registry.whereis(`test/session ${a.sessionId}`)?.kill()
  const { error } = await waiting
  assert.is(error?.code, -32603)
  assert.is(error?.data?.retryable, true)
  assert.is(await other, '2')
  assert.is(await a.text('count'), '2')
  assert.ok(transport?.alive)
})

test('the third crash within five seconds ends a session: 404', async (t) => {
  const server = await startTestServer(t, [count])
  const client = await new RawClient(t, server.url).open()
  const crashSession = async () => {
    const [session] = await server.sessions()
    if (session !== undefined) await crash(session)
  }
  for (const expected of ['1', '2']) {
    assert.is(await client.text('count'), expected)
    await crashSession()
  }
  assert.is(await client.text('count'), '3')
  await crashSession()
  assert.is((await client.tell('notifications/initialized')).status, 404)
  const another = await new RawClient(t, server.url).open()
  assert.is(await another.text('count'), '1')
})

test('group restarts do not count as crashes of a session', async (t) => {
  const server = await startTestServer(t, [count])
  const client = await new RawClient(t, server.url).open()
  for (const expected of ['1', '2', '3']) {
    assert.is(await client.text('count'), expected)
    await killAndWait(server, 'test/base')
  }
  assert.is(await client.text('count'), '4')
})

test('a call in flight when the group dies gets an error, in its stream if it has one', async (t) => {
  const { tool, entered } = makeGate()
  const server = await startTestServer(t, [tool, echo])
  const client = await new RawClient(t, server.url).open()
  const params = { name: 'wait', _meta: { progressToken: 0 } }
  const answer = client.post({ jsonrpc: '2.0', id: 7, method: 'tools/call', params })
  await entered
  server.registry.whereis('test/base')?.kill()
  const { status, messages } = await answer
  assert.is(status, 200)
  assert.equal(
    messages.map(({ method, id, error }) => method ?? [id, error?.code]),
    ['notifications/progress', [7, -32603]],
  )
})

test('an open call without a stream is answered 503 with Retry-After', async (t) => {
  const { tool, entered } = makeGate()
  const server = await startTestServer(t, [tool, count])
  const client = await new RawClient(t, server.url).open()
  const answer = client.post({ jsonrpc: '2.0', id: 8, method: 'tools/call', params: { name: 'wait' } })
  await entered
  server.registry.whereis('test/transport')?.kill()
  const { status, headers, messages } = await answer
  assert.is(status, 503)
  assert.is(headers['retry-after'], '1')
  assert.is(messages[0]?.error?.code, -32603)
  assert.is(await client.text('count'), '1')
})

test('requests that come while nobody listens wait for the next listener', async (t) => {
  const server = await startTestServer(t, [count])
  const client = await new RawClient(t, server.url).open()
  server.registry.whereis('test/transport')?.kill()
  const answers = await Promise.all([client.text('count'), client.text('count'), client.text('count')])
  assert.equal(answers.sort(), ['1', '2', '3'])
})

test('a GET stream ends with the group, and the next one resumes it', async (t) => {
  const server = await startTestServer(t, [count])
  const client = await new RawClient(t, server.url).open()
  const first = await client.listen()
  server.registry.whereis('test/base')?.kill()
  await first.ended
  await server.registry.whenUp('test/base')
  await server.addTool(echo)
  const second = await client.listen()
  assert.is((await second.next()).method, 'notifications/tools/list_changed')
  second.close()
})

test('tools added at run time stay through a restart of the group', async (t) => {
  const server = await startTestServer(t, [count])
  const client = await new RawClient(t, server.url).open()
  await server.addTool(echo)
  await killAndWait(server, 'test/base')
  assert.is(await client.text('echo', { text: 'still here' }), 'still here')
})

test('a group that gives up is started again by the server, still on the same port', async (t) => {
  const server = await startTestServer(t, [count])
  const client = await new RawClient(t, server.url).open()
  for (const expected of ['1', '2', '3', '4', '5', '6']) {
    assert.is(await client.text('count'), expected)
    await killAndWait(server, 'test/base')
  }
  assert.is(server.registry.state('test/group').state, 'up')
  assert.is(await client.text('count'), '7')
})

test('dead holdings lose the sessions and come back on the port', async (t) => {
  const server = await startTestServer(t, [count])
  const { url } = server
  const client = await new RawClient(t, url).open()
  await client.text('count')
  await killAndWait(server, 'test/holdings')
  assert.is(server.url, url)
  const again = new RawClient(t, url) // connections are cut with the port
  again.sessionId = client.sessionId
  assert.is((await again.tell('notifications/initialized')).status, 404)
  assert.is(await (await new RawClient(t, url).open()).text('count'), '1')
})

test('a request without a task supervisor is still answered', async (t) => {
  const server = await startTestServer(t, [count])
  const client = await new RawClient(t, server.url).open()
  const [session] = await server.sessions()
  const ref = session?.ref as RefOf<typeof sessionActor>
  server.registry.whereis('test/tasks')?.kill()
  const message = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'count' } } as const
  const peer = { transport: 'test', headers: {}, remoteAddress: undefined }
  const answer = await ref.call('deliver', { message, peer, sink: { send: () => false } })
  assert.is(answer && 'error' in answer ? answer.error.code : undefined, -32603)
  assert.is(await client.text('count'), '1')
})

test('when the group dies too often the server gives up, and says so once', async (t) => {
  const server = await startTestServer(t, [count])
  const ended = new Promise((resolve) => server.onExit(resolve))
  const kills = setInterval(() => server.registry.whereis('test/group')?.kill(), 2)
  t.after(() => clearInterval(kills))
  assert.equal(await ended, { type: 'shutdown' })
  await server.stop()
})

test.run()
