import { AsyncLocalStorage } from 'node:async_hooks'
import { inspect } from 'node:util'
import * as assert from 'uvu/assert'
import { type CallEvent, ClientError, type StateEvent, subscribeClient } from 'caduceus/client'
import { McpError } from 'caduceus/protocol'
import { CaduceusError, createFakeClock } from 'caduceus/runtime'
import { heard } from '../support/heard.js'
import { lines } from '../support/lines.js'
import { suite } from '../support/suite.js'
import { raw, rejection, watch, watchNear } from './_raw.js'

const test = suite('what can be seen of a client')

test('S066, S067: each state change is one log line with its facts', async (t) => {
  const { all, logger } = lines()
  const { client, phase } = watch(t, { name: 'seen', logger, logLevels: { 'client.state': 'debug' } })
  const pid = Number((await client.callTool('pid')).text)
  process.kill(pid, 'SIGKILL')
  await phase('disconnected')
  await phase('ready')
  await client.close()
  const told = all.filter(({ facts }) => facts.category === 'client.state')
  const way = ['connecting', 'initializing', 'ready']
  const phases = told.map(({ facts }) => facts.phase)
  assert.equal(phases.slice(phases.indexOf('connecting')), [...way, 'disconnected', ...way, 'closed'])
  const lost = told.find(({ facts }) => facts.phase === 'disconnected' && facts.code !== undefined)
  const { delay, tree, ...facts } = lost?.facts ?? {}
  assert.equal([lost?.level, lost?.message], ['info', 'client.state error'])
  assert.equal(facts, {
    category: 'client.state',
    type: 'error',
    client: 'seen',
    phase: 'disconnected',
    attempt: 1,
    code: 'PROCESS_EXITED',
  })
  assert.equal([typeof delay, typeof tree], ['number', 'number'])
  assert.ok(told.filter(({ facts: { phase: at } }) => at === 'ready').every(({ level }) => level === 'debug'))
})

test('S066: a permanent failure and a silent server each log their own sequence', async (t) => {
  const events = heard<StateEvent>()
  t.after(subscribeClient('state', events.add))
  const of = (name: string) => events.all.filter(({ client }) => client === name).map(({ phase }) => phase)
  const old = watchNear(t, { name: 'old' }, { init: '1999-01-01' })
  await rejection(old.client.ready())
  assert.equal(of('old').slice(-3), ['connecting', 'initializing', 'failed'])
  const failed = events.all.find(({ client, phase }) => client === 'old' && phase === 'failed')
  assert.equal([failed?.type, failed?.code], ['error', 'NO_COMMON_REVISION'])
  const clock = createFakeClock()
  const backoff = { base: 60_000, cap: 60_000 }
  const mute = watchNear(t, { name: 'mute', handshakeTimeout: 300, backoff, clock }, { init: 'hang' })
  await mute.phase('initializing')
  await clock.advance(300)
  await mute.states.next(({ phase, attempt }) => phase === 'disconnected' && attempt === 1)
  assert.equal(of('mute').slice(-3), ['connecting', 'initializing', 'disconnected'])
  await mute.client.close()
  assert.is(of('mute').at(-1), 'closed')
})

test('S088: calls emit start and end in the context of their caller, as span parents', async (t) => {
  const context = new AsyncLocalStorage<string>()
  const spans = new Map<number, { name: string; parent: string | undefined; end?: string; code?: unknown }>()
  const ended = heard<number>()
  const undo = subscribeClient('request', ({ client, type, call, method, duration, code }: CallEvent) => {
    if (client !== 'traced') return
    if (type === 'start') return void spans.set(call, { name: method, parent: context.getStore() })
    assert.ok((duration ?? -1) >= 0)
    Object.assign(spans.get(call) ?? {}, { end: type, ...(code !== undefined && { code }) })
    ended.add(call)
  })
  t.after(undo)
  const { client } = watchNear(t, { name: 'traced' })
  await Promise.all([
    context.run('a', () => client.callTool('count')),
    context.run('b', () => rejection(client.callTool('refuse'))),
    context.run('c', () => rejection(client.callTool('hang', {}, { timeout: 100 }))),
    client.request('custom/echo'),
  ])
  assert.equal(
    [...spans.values()],
    [
      { name: 'tools/call', parent: 'a', end: 'stop' },
      { name: 'tools/call', parent: 'b', end: 'error', code: -32602 },
      { name: 'tools/call', parent: 'c', end: 'error', code: 'TIMEOUT' },
      { name: 'custom/echo', parent: undefined, end: 'stop' },
    ],
  )
  undo()
  await client.ping()
  assert.is(spans.size, 4, 'nobody listens, nothing is told')
})

test('S063: messages, characters, junk and unknown answers are counted together', async (t) => {
  const { client } = watch(t)
  await client.callTool('junk')
  await client.callTool('wrongId')
  const { link, counts } = client.inspect()
  assert.equal([counts.junk, counts.unknown, link.sent], [3, 2, 4])
  assert.ok(link.received >= 7, `${link.received} messages`)
  assert.ok(link.receivedCharacters > link.received && link.sentCharacters > link.sent)
  assert.is(link.queuedBytes, 0)
})

test('S074: a server error keeps code, message and data, in one family of errors', async (t) => {
  const { client } = watchNear(t)
  const error = await rejection(client.callTool('refuse'))
  assert.instance(error, McpError)
  assert.equal(
    [error.code, error.message, error.data],
    [-32602, 'no such thing', { hint: 'none', retryable: true }],
  )
  const late = await rejection(client.callTool('hang', {}, { timeout: 50 }))
  assert.instance(late, ClientError)
  assert.instance(late, CaduceusError)
})

test('S075: a handle that is printed shows no secret, and inspect() is plain data', async (t) => {
  const env = { SECRET: 'hush-hush' }
  const { client } = watch(t, { transport: raw([], { env }) })
  await client.ready()
  const shown =
    inspect(client, { depth: 4 }) +
    inspect(client.inspect(), { depth: 10 }) +
    JSON.stringify(client.inspect())
  assert.not.match(shown, 'hush-hush')
})

test('S075: the printed handle and its inspection match the snapshot', async (t) => {
  const { client } = watch(t, { name: 'files' })
  assert.match(inspect(client), /^<client files (disconnected|connecting), 0 in flight, 0 waiting>$/)
  await client.ready()
  const { signal } = new AbortController()
  const hanging = rejection(client.callTool('hang', {}, { signal }))
  await client.ping()
  assert.is(inspect({ client }), '{ client: <client files ready, 1 in flight, 0 waiting> }')
  const { link, tree, ...rest } = client.inspect()
  assert.equal(rest, {
    name: 'files',
    transport: 'stdio node',
    state: { phase: 'ready', reason: undefined, attempt: 0, delay: undefined },
    server: {
      info: { name: 'raw', version: '1' },
      capabilities: { tools: { listChanged: true }, resources: { subscribe: true }, logging: {} },
      instructions: undefined,
      revision: '2025-11-25',
    },
    waiting: 0,
    inFlight: 1,
    counts: { sessions: 1, late: 0, unknown: 0, junk: 0, repeated: 0, troubles: 0, unexpected: 0 },
  })
  assert.equal([link.sent, link.received, link.troubles, link.queuedBytes], [4, 2, 0, 0])
  assert.equal(
    tree?.children.map(({ name, about }) => [name, about?.replace(/\d+$/, 'N')]),
    [
      ['client', 'ready, 1 in flight, 0 waiting'],
      ['transport', 'stdio node, pid N'],
    ],
  )
  await client.close()
  assert.is((await hanging).code, 'CLOSED')
  assert.is(inspect(client), '<client files closed, 0 in flight, 0 waiting>')
})

test('S066: a closed client stays closed, and later use is an error', async (t) => {
  const { client, states } = watchNear(t)
  await client.ready()
  await client.close()
  const told = states.all.length
  for (const step of [() => client.reconnect(), () => client.ready(), () => client.ping()])
    assert.is((await rejection(step())).code, 'CLOSED')
  assert.equal([client.state.phase, states.all.length], ['closed', told])
})

test('S082: a call that hangs delays none of 200 others, no ping and no inspection', async (t) => {
  const { client } = watchNear(t)
  const hanging = rejection(
    client.callTool('hang', {}, { timeout: 30_000, signal: AbortSignal.timeout(5_000) }),
  )
  const answers = await Promise.all(
    [...Array(200)].map(() => client.callTool('count', {}, { timeout: 60_000 })),
  )
  assert.is(new Set(answers.map(({ text }) => text)).size, 200)
  await client.ping()
  assert.equal([client.state.phase, client.inspect().inFlight], ['ready', 1])
  await client.close()
  assert.is((await hanging).code, 'CLOSED')
})

test.run()
