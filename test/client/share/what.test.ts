import * as assert from 'uvu/assert'
import { startClientPool, startClients } from 'caduceus/client'
import { metaKeys } from 'caduceus/protocol'
import { type ClientTransport, http, shared, sharedClients } from 'caduceus/transports'
import { isObject } from '../../support/is-object.js'
import { heard } from '../../support/heard.js'
import { suite } from '../../support/suite.js'
import { json, listen, result } from '../../transports/_http.js'
import { complete, listening, refuse, stateless, tool } from '../_modern.js'
import { raw, rejection, watchNear } from '../_raw.js'
import { hasty, rawEntry } from '../_servers.js'
import { own, socketPath, startShare, usePeer } from './_share.js'

const test = suite('what is shared', { timeout: 20_000 })

test.slow('clients that are added later are shared, and removed ones are not any more', async (t) => {
  const clients = await startClients({ files: rawEntry() }, { client: hasty, logger: false })
  t.after(() => clients.close())
  const path = socketPath(t)
  const share = await startShare(t, clients, { path, names: ['files', 'web'] })
  assert.equal(share.names, ['files'])
  const { client, states } = usePeer(t, path, { shares: 'files' })
  await client.ready()
  const waiting = usePeer(t, path, { transport: sharedWaiting('web', path) })
  await waiting.states.next(({ phase, reason }) => phase === 'disconnected' && reason !== undefined)
  await clients.add('web', rawEntry())
  await clients.add('secret', rawEntry())
  assert.is((await waiting.client.callTool('echo', { text: 'added' })).text, 'added')
  assert.equal(
    (await sharedClients({ path })).map(({ name }) => name),
    ['files', 'web'],
  )
  await clients.remove('files')
  const { reason } = await states.next(({ phase }) => phase === 'failed')
  assert.match(reason?.message ?? '', 'no client called files')
  assert.is((await rejection(usePeer(t, path, { shares: 'secret' }).client.ready())).code, 'CONNECT_FAILED')
})

test('a list of the share names its clients and their states', async (t) => {
  const { path, client } = await own(t)
  await client.ready()
  assert.equal(await sharedClients({ path }), [
    { name: 'files', phase: 'ready', server: { name: 'raw', version: '1', revision: '2025-11-25' } },
  ])
  const nobody = await rejection(sharedClients({ path: `${path}-not` }))
  assert.is(nobody.code, 'CONNECT_FAILED')
})

test('a program beyond its limit of open calls gets the next one refused, unsent', async (t) => {
  const { path, said } = await own(t, { limits: { calls: 1 } })
  const peer = usePeer(t, path)
  const other = usePeer(t, path)
  // those that are over do not count
  for (const text of ['one', 'two']) assert.is((await peer.client.callTool('echo', { text })).text, text)
  const hanging = rejection(peer.client.callTool('hang'))
  await said.next((line) => line === 'got tools/call hang')
  const error = await rejection(peer.client.callTool('echo', { text: 'one more' }))
  assert.is(error.code, 'REQUEST_FAILED')
  assert.is((error.data as { sent: unknown }).sent, false)
  assert.is(error.retryable, true)
  assert.is((await other.client.callTool('echo', { text: 'not concerned' })).text, 'not concerned')
  await peer.client.close()
  await hanging
})

test('shared clients have given up once the tree of the owner is gone', async (t) => {
  const { share } = await own(t)
  share.ref.kill()
  const error = await rejection(share.closed)
  assert.equal([error.code, error.data, error.retryable], ['GAVE_UP', { sent: false }, false])
})

test('a program beyond the limit waits until one leaves', async (t) => {
  const { path, share } = await own(t, { limits: { connections: 1 } })
  const first = usePeer(t, path, { clientInfo: { name: 'first', version: '1' } })
  await first.client.ready()
  assert.equal(share.peers(), [{ client: 'files', program: 'first', calls: 0, subscriptions: 0 }])
  const second = usePeer(t, path)
  const { reason } = await second.states.next((state) => state.reason !== undefined)
  assert.match(reason?.message ?? '', '1 programs use these clients already')
  await first.client.close()
  await second.client.ready()
})

test('questions of the server are answered by the owner', async (t) => {
  const onElicit = () => ({ action: 'accept' as const, content: { name: 'the owner' } })
  const { path } = await own(t, {}, { onElicit })
  const params = { message: 'who?', requestedSchema: { type: 'object', properties: {} } }
  const { text } = await usePeer(t, path).client.callTool('ask', { method: 'elicitation/create', params })
  assert.equal((JSON.parse(text) as { result: unknown }).result, {
    action: 'accept',
    content: { name: 'the owner' },
  })
})

test('a client that cannot connect rejects those who wait for it', async (t) => {
  const { path } = await own(t, {}, { transport: raw([], { command: '/does/not/exist' }) })
  const peer = usePeer(t, path)
  const { reason } = await peer.states.next((state) => state.reason !== undefined)
  assert.match(reason?.message ?? '', '/does/not/exist')
  assert.is.not(peer.client.state.phase, 'failed')
})

test('a client that is closed is not shared any more', async (t) => {
  const { path, client } = await own(t)
  const peer = usePeer(t, path)
  await peer.client.ready()
  await client.close()
  const { reason } = await peer.states.next(({ phase }) => phase === 'failed')
  assert.match(reason?.message ?? '', 'no client called files is shared here')
  assert.is((await rejection(peer.client.callTool('echo'))).retryable, false)
})

test('a shared 2026-07-28 server is used through sessions', async (t) => {
  const streams = heard<ReturnType<typeof listening>>()
  let refusals = 1
  const { url, seen } = await listen(
    t,
    stateless((one) => {
      const { method } = one.message
      if (method === 'tools/list') return json(one, result(one, { ...complete, tools: [] }))
      if (method === 'tools/call' && refusals-- > 0) return refuse(one, -32020)
      if (method !== 'subscriptions/listen') return tool(one, 'done')
      const stream = listening(one)
      stream.acknowledge()
      streams.add(stream)
    }),
  )
  const { path } = await own(t, {}, { transport: http(url), era: 'modern' })
  const { client } = usePeer(t, path)
  const told = heard<string>()
  client.onNotification('notifications/resources/updated', ({ uri }) => told.add(uri))
  assert.equal(await client.request('custom/any', {}), { content: [{ type: 'text', text: 'done' }] })
  assert.is(client.server?.revision, '2025-11-25')
  await client.setLevel('debug')
  assert.is((await client.callTool('any')).text, 'done') // it is listed, and called again
  await client.ping()
  await client.subscribe('x://one')
  const stream = await streams.next(({ filter }) => isObject(filter) && 'resourceSubscriptions' in filter)
  stream.tell('notifications/resources/updated', { uri: 'x://one' })
  assert.is(await told.next(), 'x://one')
  const levels = seen.all.map(
    ({ message }) => (message.params?._meta as Record<string, unknown>)?.[metaKeys.logLevel],
  )
  assert.ok(levels.includes('debug'))
  assert.is((await rejection(client.request('server/discover' as string as 'ping'))).code, -32601)
  await client.unsubscribe('x://one')
})

test('a pool may have all of its members at one shared client', async (t) => {
  const { path } = await own(t)
  const pool = await startClientPool({
    transport: shared('files', { path }),
    size: 3,
    health: false,
    logger: false,
  })
  t.after(() => pool.close())
  const texts = await Promise.all([1, 2, 3].map(() => pool.callTool('who').then(({ text }) => text)))
  assert.is(new Set(texts).size, 1)
})

test('several clients share one path, and each name is unique', async (t) => {
  const path = socketPath(t)
  const [a, b] = [watchNear(t, { name: 'a' }).client, watchNear(t, { name: 'b' }).client]
  await startShare(t, [a, b], { path })
  const servers = await Promise.all(
    ['a', 'b'].map(async (shares) => (await usePeer(t, path, { shares }).client.callTool('who')).text),
  )
  assert.is.not(servers[0], servers[1])
  const twice = await rejection(startShare(t, [a, a], { path: `${path}2` }))
  assert.is(twice.code, 'BAD_OPTION')
})

test.run()

function sharedWaiting(name: string, path: string): ClientTransport {
  return shared(name, { path, waitForName: true })
}
