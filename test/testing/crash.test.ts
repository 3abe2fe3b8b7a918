import * as assert from 'uvu/assert'
import { Registry, startSupervisor, taskSupervisorAt, taskSupervisorSpec } from 'caduceus/runtime'
import { defineServer } from 'caduceus/server'
import { connect, crash, type Crashable, record, until } from 'caduceus/testing'
import { rejection } from '../client/_raw.js'
import { count } from '../server/_servers.js'
import { suite } from '../support/suite.js'

const test = suite('testing: crash')

const counting = defineServer({ name: 'counting', version: '1', tools: [count] })

test('a crashed session is reported like a bug and restored with its state', async (t) => {
  const { client, server, close } = await connect(counting)
  t.after(close)
  await client.callTool('count')
  using crashes = record('crash')
  const [session] = await server.sessions()
  if (session === undefined) throw new Error('there is no session')
  const bug = new Error('a bug in the session')
  const restored = until('server.session', ({ type }) => type === 'restored')
  assert.equal(await crash(session, { error: bug }), { type: 'crash', error: bug })
  const { name, during, reason } = await crashes.next()
  assert.equal([name, during, reason], ['session', 'crash', { type: 'crash', error: bug }])
  assert.is((await client.callTool('count')).text, '2')
  assert.is((await restored).server, 'counting')
})

test('every part of a server and of a client can crash, and both go on', async (t) => {
  const { client, server, close } = await connect(counting, { client: { backoff: { base: 1, cap: 1 } } })
  t.after(close)
  for (const part of ['base', 'tasks', 'transport', 'sessions', 'group'] as const) {
    await crash(server, { part })
    await server.registry.whenUp('counting/transport')
    // a call that came between the crash and what follows it may have begun
    const { text } = await client.callTool('count', {}, { retry: { safe: true } })
    assert.type(text, 'string', part)
  }
  await crash(server, { part: 'holdings' })
  await until(client, ({ phase }) => phase !== 'ready')
  await client.ready()
  for (const part of ['client', 'transport'] as const) {
    const { sessions } = client.inspect().counts
    await crash(client, { part })
    assert.is((await client.callTool('count')).text, '1')
    assert.is(client.inspect().counts.sessions, sessions + 1, part)
  }
})

test('a supervisor that has to restart too often gives up, as with real bugs', async (t) => {
  const { client, close } = await connect(counting, { client: { intensity: 1 } })
  t.after(close)
  await crash(client)
  await client.ready()
  await crash(client)
  assert.is((await rejection(client.closed)).code, 'GAVE_UP')
  assert.is((await rejection(crash(client))).code, 'NOPROC')
})

test('crash() refuses what cannot crash by name', async (t) => {
  const registry = new Registry()
  const tree = await startSupervisor({ strategy: 'one_for_one', registry, logger: false })
  t.after(() => tree[Symbol.asyncDispose]())
  const { ref } = await tree.startChild(taskSupervisorSpec({}))
  if (ref === undefined) throw new Error('it was ignored')
  const task = taskSupervisorAt(ref).start(() => new Promise(() => {}))
  const { client, server, close } = await connect(counting)
  t.after(close)
  const wrongs: readonly (readonly [unknown, object?])[] = [
    [undefined],
    [{}],
    [task],
    [ref, { part: 'base' }],
    [server, { part: 'client' }],
    [client, { part: 'base' }],
    [server, { parts: 1 }],
    [server, { timeout: -1 }],
  ]
  for (const [what, options] of wrongs) {
    const { code } = await rejection(crash(what as Crashable, options))
    assert.is(code, 'BAD_OPTION', String(what))
  }
  assert.is((await rejection(crash(server, { part: 'hooks' }))).code, 'NOPROC')
  await crash(ref)
  assert.is((await rejection(crash(ref))).code, 'NOPROC')
})

test.run()
