import * as assert from 'uvu/assert'
import {
  type Client,
  ClientError,
  clientSpec,
  findClient,
  startClient,
  type StartClientOptions,
  withClient,
} from 'caduceus/client'
import { defineActor, Registry, startActor } from 'caduceus/runtime'
import type { ClientTransport } from 'caduceus/transports'
import { suite } from '../../support/suite.js'
import { raw, rejection, watch } from '../_raw.js'

const test = suite('client options')

const transport: ClientTransport = {
  name: 'none',
  connect: (events) => ({ send() {}, close: () => events.closed({}) }),
}

for (const [field, options] of [
  ['options', undefined],
  ['options', []],
  ['transport', {}],
  ['transport', { transport: 'http://host/' }],
  ['transport', { transport: { connect() {} } }],
  ['name', { name: '' }],
  ['name', { name: 7 }],
  ['clientInfo.name', { clientInfo: {} }],
  ['clientInfo.version', { clientInfo: { name: 'x' } }],
  ['timeout', { timeout: 0 }],
  ['timeout', { timeout: '5' }],
  ['handshakeTimeout', { handshakeTimeout: Number.NaN }],
  ['maxCalls', { maxCalls: 1.5 }],
  ['maxInFlight', { maxInFlight: 0 }],
  ['maxInFlight', { maxInFlight: 2.5 }],
  ['maxInFlight', { maxInFlight: Number.POSITIVE_INFINITY }],
  ['backoff', { backoff: 500 }],
  ['backoff.base', { backoff: { base: -1 } }],
  ['backoff.random', { backoff: { random: 1 } }],
  ['max', { backoff: { max: 1 } }],
  ['intensity', { intensity: -1 }],
  ['periodMs', { periodMs: 0 }],
  ['clock', { clock: {} }],
  ['clock', { clock: { now: () => 0 } }],
  ['clock', { clock: null }],
  ['unowned', { unowned: 'x' }],
  ['logger', { logger: 5 }],
  ['logger', { logger: null }],
  ['logger', { logger: { info() {} } }],
  ['registry', { registry: 'x' }],
  ['retries', { retries: 3 }],
] as const) {
  test(`a wrong option is refused in the caller: ${field} of ${JSON.stringify(options)}`, () => {
    const given =
      Array.isArray(options) || options === undefined
        ? options
        : { ...(field === 'transport' ? {} : { transport }), ...options }
    const error = thrownBy(() => startClient(given as unknown as StartClientOptions))
    assert.is(error.code, 'BAD_OPTION')
    assert.equal(error.data, { field, sent: false })
    assert.match(error.message, `${field}: expected `)
  })
}

test('options of an embedded client are checked in its spec; tree options are refused', () => {
  assert.is(thrownBy(() => clientSpec({ transport, timeout: -1 })).code, 'BAD_OPTION')
  assert.is(thrownBy(() => clientSpec({ transport, logger: false } as never)).code, 'BAD_OPTION')
})

test('a client name taken in the registry is refused', async (t) => {
  const registry = new Registry()
  const client = startClient({ transport, registry, logger: false })
  t.after(() => client.close())
  assert.is(thrownBy(() => startClient({ transport, registry, logger: false })).code, 'BAD_OPTION')
})

test('findClient rejects for bad input, unknown names and ended clients', async (t) => {
  const registry = new Registry()
  const stranger = await startActor(defineActor({ name: 'stranger', init: () => ({}) }), undefined, {
    registry,
    name: 'client stranger',
    logger: false,
  })
  t.after(() => stranger.stop())
  const client = startClient({ name: 'past', transport, registry, logger: false })
  await (await findClient(registry, 'past')).close()
  await client.close()
  for (const [code, find] of [
    ['BAD_OPTION', () => findClient({} as Registry, 'nobody')],
    ['BAD_OPTION', () => findClient(registry, '')],
    ['BAD_OPTION', () => findClient(registry, 'nobody', null as never)],
    ['BAD_OPTION', () => findClient(registry, 'nobody', 5_000 as never)],
    ['NOT_FOUND', () => findClient(registry, 'nobody')],
    ['NOT_FOUND', () => findClient(registry, 'stranger')],
    ['GAVE_UP', () => findClient(registry, 'past')],
  ] as const) {
    const error = await rejection(find())
    assert.instance(error, ClientError)
    assert.is(error.code, code)
    assert.is((error.data as { sent: boolean }).sent, false)
    assert.is(error.retryable, false)
  }
})

test('a failed start of the tree rejects calls, ready and closed', async (t) => {
  const registry = new Registry()
  const squatter = await startActor(defineActor({ name: 'squatter', init: () => ({}) }), undefined, {
    registry,
    name: 'transport of client client',
    logger: false,
  })
  t.after(() => squatter.stop())
  const client = startClient({ transport, registry, logger: false })
  t.after(() => client.close())
  const early = await rejection(client.ping())
  assert.equal(
    [early.code, early.retryable, (early.data as { sent: boolean }).sent],
    ['GAVE_UP', false, false],
  )
  for (const told of [() => client.closed, () => client.ready(), () => client.ping()]) {
    const error = await rejection(told())
    assert.equal([error.code, error.retryable], ['GAVE_UP', false])
    assert.match(error.message, 'is the name of a living process already')
  }
})

test('a name may be used again when its client is closed', async () => {
  const registry = new Registry()
  for (let i = 0; i < 2; i++) {
    const client = startClient({ transport: raw(), registry, logger: false })
    await client.ready()
    await client.close()
  }
})

test('a wrong argument rejects with BAD_OPTION and its field; nothing is sent', async (t) => {
  const { client, said } = watch(t)
  await client.ready()
  const calls: [string, () => Promise<unknown>][] = [
    ['name', () => client.callTool('')],
    ...[null, [], 7, 'text', () => {}].map((args): [string, () => Promise<unknown>] => [
      'args',
      () => client.callTool('echo', args as never),
    ]),
    ['options', () => client.callTool('echo', {}, null as never)],
    ['timeuot', () => client.callTool('echo', {}, { timeuot: 5 } as never)],
    ['timeuot', () => client.ping({ timeuot: 5 } as never)],
    ['timeuot', () => client.request('custom/x', {}, { timeuot: 5 } as never)],
    ['timeuot', () => client.tools({ timeuot: 5 } as never).next()],
    ['options', () => client.tools(null as never).next()],
    ['options', () => client.tools(5 as never).next()],
    ['options', () => client.listTools(null as never)],
    ['options', () => client.listTools({}, { timeout: 5 } as never)],
    ['options', () => client.listPrompts({ cursor: 'a' }, { timeout: 5 } as never)],
    ['options', () => client.listResources(undefined, {} as never)],
    ['options', () => client.listTemplates('cursor' as never)],
    ['cursor', () => client.listTools({ cursor: 7 as never })],
    ['page', () => client.listTools({ page: 1 } as never)],
    ['timeout', () => client.listTools({ timeout: '5' as never })],
    ['options', () => client.ready(5_000 as never)],
    ['options', () => client.reconnect(5_000 as never)],
    ['signal', () => client.ready({ signal: {} as never })],
    ['options', () => client.callTool('echo', {}, 5_000 as never)],
    ['timeout', () => client.ping({ timeout: 0 })],
    ['signal', () => client.ping({ signal: {} as AbortSignal })],
    ['onProgress', () => client.ping({ onProgress: 1 as never })],
    ['retries', () => client.ping({ retries: 1 } as never)],
    ['method', () => client.request('' as 'custom')],
    ['method', () => client.request('initialize' as never)],
    ['params', () => client.request('custom/x', 'text' as never)],
    ['params', () => client.request('custom/x', [])],
    ['params', () => client.request('custom/x', { big: 1n })],
    ['maxPages', () => client.tools({ maxPages: 0 }).next()],
    ['timeout', () => client.ready({ timeout: -1 })],
    ['fn', () => withClient({ transport }, 'fn' as never)],
  ]
  for (const [field, call] of calls) {
    const error = await rejection(call())
    assert.is(error.code, 'BAD_OPTION', field)
    assert.equal(error.data, { field, sent: false })
  }
  assert.is(thrownBy(() => client.onState('fn' as never)).code, 'BAD_OPTION')
  assert.is(thrownBy(() => client.onNotification('a/b', 'fn' as never)).code, 'BAD_OPTION')
  assert.is(thrownBy(() => client.onNotification(undefined as never, () => {})).code, 'BAD_OPTION')
  await client.ping()
  await said.next((line) => line === 'got ping')
  assert.equal(said.all, ['got initialize', 'got notifications/initialized', 'got ping'])
})

function thrownBy(fn: () => Client | unknown): ClientError {
  try {
    fn()
  } catch (error) {
    if (error instanceof ClientError) return error
  }
  throw new Error('expected a ClientError')
}

test.run()
