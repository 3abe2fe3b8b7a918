import * as assert from 'uvu/assert'
import type { ClientTransport } from 'caduceus/transports'
import { heard } from '../../support/heard.js'
import { suite } from '../../support/suite.js'
import { rawNear, rejection } from '../_raw.js'
import { own, ownProgram, socketPath, usePeer } from './_share.js'

const test = suite('shared clients', { timeout: 20_000 })

test('S026: a shared client is found by name and shows the facts of its server', async (t) => {
  const { client, path } = await own(t)
  const peer = usePeer(t, path)
  assert.is((await peer.client.callTool('echo', { text: 'over a socket' })).text, 'over a socket')
  assert.equal(peer.client.server, client.server)
  assert.is((await peer.client.callTool('who')).text, (await client.callTool('who')).text)
  const names: string[] = []
  for await (const { name } of peer.client.tools()) names.push(name)
  assert.equal(names, ['echo', 'hang', 'die'])
  assert.equal(await peer.client.request('custom/echo', { a: 1, _meta: { trace: 'x' } }), {
    params: { a: 1, _meta: { trace: 'x' } },
  })
  await peer.client.ping()
})

test('an error of the server arrives as it is', async (t) => {
  const { path } = await own(t)
  const error = await rejection(usePeer(t, path).client.callTool('refuse'))
  assert.is(error.constructor.name, 'McpError')
  assert.is(error.code, -32602)
  assert.is(error.message, 'no such thing')
  assert.equal(error.data, { hint: 'none', retryable: true })
  assert.is(error.retryable, true)
})

test('a hundred calls of two programs get their own answers and their own progress', async (t) => {
  const { path } = await own(t)
  const peers = [usePeer(t, path), usePeer(t, path)]
  const outcomes = await Promise.all(
    Array.from({ length: 100 }, async (_, n) => {
      const steps = [n + 1, n + 1_000]
      const seen: number[] = []
      const peer = peers[n % 2]
      const onProgress = ({ progress }: { progress: number }) => seen.push(progress)
      const told = await peer?.client.callTool('progress', { steps }, { onProgress })
      const echoed = await peer?.client.callTool('echo', { text: `call ${n}` })
      return [told?.text, seen, echoed?.text, steps, n] as const
    }),
  )
  for (const [told, seen, echoed, steps, n] of outcomes) {
    assert.is(told, 'done')
    assert.equal(seen, steps)
    assert.is(echoed, `call ${n}`)
  }
})

test('a call that is given up is given up at the server', async (t) => {
  const { path, said } = await own(t)
  const peer = usePeer(t, path)
  const controller = new AbortController()
  const call = rejection(peer.client.callTool('hang', {}, { signal: controller.signal }))
  await said.next((line) => line === 'got tools/call hang')
  controller.abort()
  assert.is((await call).code, 'CANCELLED')
  await said.next((line) => line === 'got notifications/cancelled')
  assert.is((await rejection(peer.client.callTool('hang', {}, { timeout: 50 }))).code, 'TIMEOUT')
  await said.next((line) => line === 'got notifications/cancelled')
})

test('a resource stays subscribed while anyone wants it, and only they hear of it', async (t) => {
  const { client, path, said } = await own(t)
  const [a, b] = [usePeer(t, path).client, usePeer(t, path).client]
  const [toA, toB, toOwner] = [heard<string>(), heard<string>(), heard<string>()]
  a.onNotification('notifications/resources/updated', ({ uri }) => toA.add(uri))
  b.onNotification('notifications/resources/updated', ({ uri }) => toB.add(uri))
  client.onNotification('notifications/resources/updated', ({ uri }) => toOwner.add(uri))
  const tell = (uri: string) =>
    client.callTool('tell', { method: 'notifications/resources/updated', params: { uri } })
  await a.subscribe('x://one')
  await b.subscribe('x://one')
  await client.subscribe('x://own')
  await a.unsubscribe('x://one')
  await b.subscribe('x://own')
  await b.unsubscribe('x://own')
  await tell('x://one/part')
  await tell('x://own')
  await tell('x://one')
  assert.is(await toB.next(), 'x://one/part')
  assert.is(await toB.next(), 'x://one')
  await toOwner.next((uri) => uri === 'x://one')
  assert.equal(toOwner.all, ['x://one/part', 'x://own', 'x://one'])
  assert.equal(toA.all, [])
  await b.close()
  await said.next((line) => line === 'told resources/unsubscribe x://one')
  assert.is(said.all.filter((line) => line.startsWith('told resources/unsubscribe')).length, 1)
})

test('subscriptions are restored for a returning program and a restarted server', async (t) => {
  const { path, said, client, kill, phase } = await own(t)
  const peer = usePeer(t, path)
  const told = heard<string>()
  peer.client.onNotification('notifications/resources/updated', ({ uri }) => told.add(uri))
  const lists = heard<unknown>()
  peer.client.onNotification('notifications/tools/list_changed', lists.add)
  await peer.client.subscribe('x://one')
  await phase('ready')
  await said.next((line) => line === 'told resources/subscribe x://one')
  kill('transport')
  await phase('ready')
  await said.next((line) => line === 'told resources/subscribe x://one')
  await lists.next() // changes may have been missed
  await client.callTool('tell', {
    method: 'notifications/resources/updated',
    params: { uri: 'x://one' },
  })
  assert.is(await told.next(), 'x://one')
  assert.is(peer.states.all.filter(({ phase: now }) => now === 'ready').length, 1)
})

test('each program gets logs of its level; the server is set to the lowest of them', async (t) => {
  const { client, path, said } = await own(t)
  const [a, b] = [usePeer(t, path).client, usePeer(t, path).client]
  const [toA, toB] = [heard<unknown>(), heard<unknown>()]
  a.onNotification('notifications/message', ({ data }) => toA.add(data))
  b.onNotification('notifications/message', ({ data }) => toB.add(data))
  await a.setLevel('debug')
  await b.setLevel('error')
  await said.next((line) => line === 'told logging/setLevel debug')
  await said.next((line) => line === 'told logging/setLevel debug')
  for (const level of ['debug', 'warning', 'error'])
    await client.callTool('tell', { method: 'notifications/message', params: { level, data: level } })
  assert.is(await toB.next(), 'error')
  await toA.next((data) => data === 'error')
  assert.equal(toA.all, ['debug', 'warning', 'error'])
  assert.equal(toB.all, ['error'])
  await a.close()
  await said.next((line) => line === 'told logging/setLevel error')
})

test('an unknown shared name rejects at once and lists the known ones', async (t) => {
  const { path } = await own(t)
  const { client } = usePeer(t, path, { shares: 'filse' })
  const error = await rejection(client.ready())
  assert.is(error.code, 'CONNECT_FAILED')
  assert.match(error.message, 'no client called filse is shared here: there are files')
  assert.is((error.cause as { code?: unknown } | undefined)?.code, 'NOT_SHARED')
  assert.is(client.state.phase, 'failed')
})

test('a program waits for a missing owner', async (t) => {
  const path = socketPath(t)
  const peer = usePeer(t, path)
  const { reason } = await peer.states.next(({ phase }) => phase === 'disconnected')
  assert.match(reason?.message ?? '', path)
  const call = peer.client.callTool('echo', { text: 'waited' })
  await own(t, { path })
  assert.is((await call).text, 'waited')
})

test('a call whose server dies rejects with what is known, and the next one works', async (t) => {
  const { path } = await ownProgram(t)
  const peer = usePeer(t, path)
  const error = await rejection(peer.client.callTool('die', { code: 9, last: 'oh no' }))
  assert.is(error.code, 'CONNECTION_LOST')
  const { sent, exitCode, stderr, ownerCode } = error.data as Record<string, unknown>
  assert.equal([sent, exitCode, ownerCode], [true, 9, 'CONNECTION_LOST'])
  assert.ok((stderr as string[]).includes('oh no'))
  assert.is(error.retryable, true)
  assert.is((await peer.client.callTool('echo', { text: 'again' })).text, 'again')
  // its own connection was never concerned
  assert.is(peer.states.all.filter(({ phase }) => phase === 'ready').length, 1)
  const { text } = await peer.client.callTool('answerAndDie', {}, { retry: 'safe' })
  assert.is(text, 'last words')
})

test('a repeatable call is retried when the shared connection breaks', async (t) => {
  const { path } = await own(t)
  const peer = usePeer(t, path)
  const error = await rejection(peer.client.callTool('die', {}, { retry: 'safe' }))
  assert.is(error.code, 'CONNECTION_LOST')
  assert.is(peer.client.inspect().counts.repeated, 1)
})

test('a changed server gets a new handshake', async (t) => {
  let connections = 0
  const transport: ClientTransport = {
    name: 'two servers',
    connect(events, scope) {
      connections += 1
      return rawNear(connections === 1 ? {} : { init: '2025-06-18' }).connect(events, scope)
    },
  }
  const { path } = await own(t, {}, { transport })
  const peer = usePeer(t, path)
  await peer.client.ready()
  assert.is(peer.client.server?.revision, '2025-11-25')
  await rejection(peer.client.callTool('die'))
  await peer.states.next(({ phase }) => phase === 'disconnected')
  await peer.client.ready()
  assert.is(peer.client.server?.revision, '2025-06-18')
})

test.run()
