import { mock } from 'node:test'
import * as assert from 'uvu/assert'
import { startClient, startClientPool, startClients } from 'caduceus/client'
import { createFakeClock, formatTree, inspect, startSupervisor } from 'caduceus/runtime'
import { defineServer, defineTool } from 'caduceus/server'
import { connect, scriptedServer } from 'caduceus/testing'
import { suite } from '../../support/suite.js'
import { rejection } from '../_raw.js'

/** What `fn` throws, as an error with a code. */
function thrownBy(fn: () => unknown): Error & { readonly code: string } {
  try {
    fn()
  } catch (error) {
    return error as Error & { readonly code: string }
  }
  throw new Error('nothing was thrown')
}

const test = suite('client: the form of handles')
const definition = defineServer({ name: 'empty', version: '1' })

test('methods of clients, leases, pools and servers work unbound', async (t) => {
  const tools = { greet: defineTool({ input: {}, run: () => 'hello' }) }
  const { client, server, transport, close } = await connect(
    defineServer({ name: 'own', version: '1', tools }),
  )
  t.after(close)
  const { callTool, listTools, request, ready, inspect: look, onState } = client
  await ready()
  onState(() => {})()
  assert.is((await callTool('greet')).text, 'hello')
  assert.equal(
    (await listTools()).tools.map(({ name }) => name),
    ['greet'],
  )
  assert.equal(await request('ping'), {})
  assert.is(look().name, client.name)
  assert.is(client.callTool, client.callTool)
  const pool = await startClientPool({ transport, size: 1, logger: false })
  t.after(() => pool.close())
  const { callTool: callAny, checkout, members } = pool
  assert.is((await callAny('greet')).text, 'hello')
  for (const maxLease of [1_000, Number.POSITIVE_INFINITY]) {
    const { client: leased, release } = await checkout({ maxLease })
    const { callTool: call } = leased
    assert.is((await call('greet')).text, 'hello')
    assert.is(members()[0]?.status, 'checked_out')
    release()
    assert.is(members()[0]?.status, 'ready')
  }
  const { sessions, stop } = server
  assert.is((await sessions()).length, 2)
  await stop()
})

test('a method of a handle can be mocked, as by node:test, and is no own field', async (t) => {
  const { client, close } = await connect(definition)
  t.after(close)
  mock.method(client, 'callTool', async () => 'replaced')
  assert.is((await client.callTool('any')) as unknown, 'replaced')
  mock.restoreAll()
  assert.not(Object.keys(client).includes('callTool'))
})

test('a page of a list takes its cursor and the options of its call in one object', async (t) => {
  const clock = createFakeClock()
  const script = Object.fromEntries(
    ['tools/list', 'prompts/list', 'resources/list', 'resources/templates/list'].map((method) => [
      method,
      () => undefined,
    ]),
  )
  const server = scriptedServer(script)
  const client = startClient({ transport: server.transport, clock, logger: false })
  t.after(() => client.close())
  for (const [method, list] of [
    ['tools/list', () => client.listTools({ cursor: 'c', timeout: 100 })],
    ['prompts/list', () => client.listPrompts({ cursor: 'c', timeout: 100 })],
    ['resources/list', () => client.listResources({ cursor: 'c', timeout: 100 })],
    ['resources/templates/list', () => client.listTemplates({ cursor: 'c', timeout: 100 })],
  ] as const) {
    const late = rejection(list())
    assert.equal((await server.next(method)).params, { cursor: 'c' })
    await clock.advance(100)
    assert.is((await late).code, 'TIMEOUT')
  }
  const old = await rejection(client.listTools({ cursor: 'c' }, { timeout: 100 } as never))
  assert.match(old.message, "options: expected one object for all, such as { cursor: '...', timeout: 5000 }")
  const aborter = new AbortController()
  const given = rejection(client.listTools({ signal: aborter.signal }))
  await server.next('tools/list')
  aborter.abort()
  assert.is((await given).code, 'CANCELLED')
})

test('waits for clients take a timeout and a signal, and refuse the old form', async (t) => {
  const clock = createFakeClock()
  const transport = scriptedServer({}, { refuse: Number.POSITIVE_INFINITY }).transport
  const client = startClient({ transport, clock, logger: false })
  const clients = await startClients({ one: { transport } }, { clock, logger: false })
  const pool = await startClientPool({ transport, size: 2, min: 0, clock, logger: false })
  t.after(() => Promise.all([client.close(), clients.close(), pool.close()]))
  const waits: Record<string, (options: object) => Promise<void>> = {
    'client.ready': (options) => client.ready(options),
    'client.reconnect': (options) => client.reconnect(options),
    'clients.ready': (options) => clients.ready({ names: ['one'], ...options }),
    'pool.ready': (options) => pool.ready({ count: 1, ...options }),
  }
  for (const [name, wait] of Object.entries(waits)) {
    const late = rejection(wait({ timeout: 100 }))
    const aborter = new AbortController()
    const given = rejection(wait({ signal: aborter.signal }))
    const pending = rejection(wait({ timeout: 1_000_000 }))
    await clock.advance(100)
    assert.is((await late).code, 'NOT_READY', name)
    aborter.abort(new Error('enough'))
    const error = await given
    assert.equal([error.code, error.retryable], ['CANCELLED', false], name)
    assert.match(error.message, 'enough')
    const before = await rejection(wait({ signal: AbortSignal.abort() }))
    assert.is(before.code, 'CANCELLED', name)
    void pending
  }
  for (const [wait, form] of [
    [() => client.ready(5_000 as never), '{ timeout: 5000 }'],
    [() => client.reconnect(5_000 as never), '{ timeout: 5000 }'],
    [() => clients.ready(['one'] as never), "{ names: ['files'], timeout: 5000 }"],
    [() => pool.ready(1 as never), '{ count: 2, timeout: 5000 }'],
  ] as const) {
    const error = await rejection(wait())
    assert.is(error.code, 'BAD_OPTION')
    assert.ok(error.message.startsWith(`options: expected an object such as ${form}, got `), error.message)
  }
  const unknown = await rejection(clients.ready({ names: ['on'] }))
  assert.match(unknown.message, 'names: expected names among one (did you mean "one"?), got "on"')
})

test('a handle of any kind can be inspected', async (t) => {
  await using pair = await connect(definition)
  const clients = await startClients({ one: { transport: pair.transport } }, { logger: false })
  const pool = await startClientPool({ transport: pair.transport, size: 1, logger: false })
  const tree = await startSupervisor({ name: 'mine', strategy: 'one_for_one', children: [] })
  t.after(() => Promise.all([clients.close(), pool.close(), tree.stop()]))
  for (const handle of [pair.server, pair.client, clients, pool, tree])
    assert.equal(inspect(handle).process, (handle.ref as { id: number }).id)
  assert.match(formatTree(inspect(pair.server)), /transport/)
  assert.match(formatTree(inspect(clients)), 'client one')
  const fresh = startClient({ transport: pair.transport, logger: false })
  t.after(() => fresh.close())
  assert.is(inspect(fresh).name, 'client client')
  assert.is(thrownBy(() => inspect({ ref: undefined })).code, 'NOPROC')
  for (const wrong of [undefined, null, 7, {}, 'client'])
    assert.is(thrownBy(() => inspect(wrong as never)).code, 'BAD_OPTION')
  assert.match(thrownBy(() => formatTree(pair.server as never)).message, 'expected what inspect() answers')
})

test('a capability that the server lacks is refused before sending', async (t) => {
  const server = scriptedServer({ 'tools/list': () => ({ tools: [] }) })
  const client = startClient({ transport: server.transport, logger: false })
  t.after(() => client.close())
  assert.is(thrownBy(() => client.require('tools/list')).code, 'NOT_READY')
  await client.ready()
  client.require('tools/list')
  client.require('tools')
  for (const what of ['resources/subscribe', 'prompts', 'resources.subscribe', 'no/such']) {
    assert.is(client.supports(what), false)
    const error = thrownBy(() => client.require(what))
    assert.is(error.code, 'NOT_SUPPORTED')
    assert.match(error.message, `does not support ${what} (it offers tools, in revision `)
  }
})

test.run()
