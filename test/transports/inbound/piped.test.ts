import * as assert from 'uvu/assert'
import { buildNotification, buildResult } from 'caduceus/protocol'
import { TransportError } from 'caduceus/transports'
import type { Services } from '../../support/ports.js'
import { heard } from '../../support/heard.js'
import { suite, type TestContext } from '../../support/suite.js'
import { startListener } from '../_listener.js'
import { envelope, exchanging, inRevision, modern, request, without } from '../_modern.js'
import { type Line, pipes } from '../stdio/_pipes.js'

const initialize = {
  jsonrpc: '2.0',
  id: 'init',
  method: 'initialize',
  params: { protocolVersion: '2025-11-25' },
}
const initialized = buildNotification('notifications/initialized')
const old = (id: number | string, method = 'tools/list') => ({ jsonrpc: '2.0', id, method })
const cancelled = (requestId: number | string) => buildNotification('notifications/cancelled', { requestId })
const progress = buildNotification('notifications/progress', { progressToken: 1, progress: 1 })
const outcome = ({ id, error, result }: Line) => [id, error?.code ?? result]

for (const [transport, connect] of Object.entries(pipes)) {
  const open = (t: TestContext, port: Partial<Services>, options: { finished?: () => void } = {}) =>
    connect(t, (on) => startListener(t, port, {}, { transport: on, ...options }))
  const test = suite(`exchanges over ${transport}`)

  test('requests with an envelope are served at once and answered when done', async (t) => {
    const { port, calls } = exchanging()
    const pipe = await open(t, port)
    pipe.write(request(1, 'tools/call', { name: 'a' }), request('1', 'tools/call', { name: 'b' }))
    const [first, second] = [await calls.next(), await calls.next()]
    const { mirrored, peer, envelope: seen } = first.call
    assert.equal([mirrored, peer.transport, seen.revision], [false, transport, modern])
    assert.ok(second.call.sink.send(progress))
    second.answer({ b: 1 })
    first.answer({ a: 1 })
    assert.equal(await pipe.next(), progress)
    assert.equal(
      [outcome(await pipe.next()), outcome(await pipe.next())],
      [
        ['1', { b: 1 }],
        [1, { a: 1 }],
      ],
    )
  })

  test('a probe does not fix the era: initialize behind it opens a session', async (t) => {
    const { port, calls } = exchanging()
    const pipe = await open(t, port)
    pipe.write(request('probe', 'server/discover'), initialize, initialized, old(2))
    const probe = await calls.next()
    assert.is((await pipe.next()).id, 'init')
    assert.equal(outcome(await pipe.next()), [2, {}])
    probe.answer({ late: true })
    assert.equal(outcome(await pipe.next()), ['probe', { late: true }])
    pipe.write(request(3, 'tools/list'))
    assert.equal(outcome(await pipe.next()), [3, {}])
    assert.is(calls.all.length, 1)
  })

  test('the first modern request fixes the era: no handshake or bare requests follow', async (t) => {
    const { port, calls } = exchanging()
    const pipe = await open(t, port)
    pipe.write(request(0, 'server/discover'), request(1, 'tools/list'))
    for (const one of [await calls.next(), await calls.next()]) one.answer()
    assert.equal([(await pipe.next()).id, (await pipe.next()).id], [0, 1])
    pipe.write(initialize, old(2), initialized, { jsonrpc: '2.0', id: 1, result: {} })
    const [refused, bare] = [await pipe.next(), await pipe.next()]
    assert.equal(outcome(refused), ['init', -32022])
    assert.equal(refused.error?.data, { supported: [modern], requested: '2025-11-25' })
    assert.equal(outcome(bare), [2, -32602])
    pipe.write([request(5, 'tools/list')], request(6, 'tools/list'))
    assert.equal(outcome(await pipe.next()), [undefined, -32600])
    assert.is((await calls.next()).call.request.id, 6)
  })

  test('a first bare request fixes the handshake era, where envelopes are ignored', async (t) => {
    const { port, calls } = exchanging()
    const pipe = await open(t, port)
    pipe.write(old(1, 'ping'), request(2, 'tools/list'), initialize, request(3, 'server/discover'))
    assert.equal(
      [outcome(await pipe.next()), outcome(await pipe.next())],
      [
        [1, {}],
        [2, -32600],
      ],
    )
    assert.is((await pipe.next()).id, 'init')
    assert.equal(outcome(await pipe.next()), [3, {}])
    assert.is(calls.all.length, 0)
  })

  test('a refused request leaves the era of the pipe open', async (t) => {
    const { port } = exchanging()
    const pipe = await open(t, port)
    pipe.write(
      request(1, 'tools/list', {}, inRevision('2099-01-01')),
      request(2, 'tools/list', {}, without.capabilities),
      [request(3, 'tools/list'), old(4)],
      buildNotification('notifications/cancelled', { requestId: 9, _meta: envelope() }),
      initialize,
    )
    const [version, broken, batch, greeted] = [
      await pipe.next(),
      await pipe.next(),
      await pipe.next(),
      await pipe.next(),
    ]
    assert.equal(
      [outcome(version), version?.error?.data],
      [[1, -32022], { supported: [modern], requested: '2099-01-01' }],
    )
    assert.equal(
      [outcome(broken), outcome(batch)],
      [
        [2, -32602],
        [undefined, -32600],
      ],
    )
    assert.is(greeted.id, 'init')
  })

  test('a cancelled request stops at once without an answer, and its id is free', async (t) => {
    const { port, calls } = exchanging()
    const pipe = await open(t, port)
    pipe.write(request(1, 'tools/call', { name: 'a' }), request(1, 'tools/list'), request(2, 'tools/list'))
    const [one, other] = [await calls.next(), await calls.next()]
    assert.equal(outcome(await pipe.next()), [1, -32600])
    pipe.write(cancelled(9), cancelled('1'), cancelled(1), cancelled(1))
    await one.aborted
    assert.is(one.call.sink.send(progress), false)
    pipe.write(request(1, 'tools/list'))
    const again = await calls.next()
    one.answer({ late: true })
    await new Promise(setImmediate)
    assert.not.ok(other.call.signal.aborted)
    other.answer()
    again.answer({ again: true })
    assert.equal(
      [outcome(await pipe.next()), outcome(await pipe.next())],
      [
        [2, {}],
        [1, { again: true }],
      ],
    )
  })

  test('subscriptions share the connection; an ended one has its result last', async (t) => {
    const { port, calls } = exchanging()
    const pipe = await open(t, port)
    const listen = (id: number | string) => request(id, 'subscriptions/listen', { notifications: {} })
    pipe.write(listen(1), listen('1'), listen(2), listen(3))
    const [first, second, third, refused] = [
      await calls.next(),
      await calls.next(),
      await calls.next(),
      await calls.next(),
    ]
    pipe.write(cancelled(2))
    await third.aborted
    refused.fail(-32602, true)
    assert.equal(outcome(await pipe.next()), [3, -32602])
    second.answer({ over: true })
    assert.equal(outcome(await pipe.next()), ['1', { over: true }])
    assert.equal(ended(await pipe.next()), ['notifications/cancelled', '1'])
    assert.ok(first.call.sink.send(progress))
    assert.equal(await pipe.next(), progress)
  })

  test('a listener restart answers open requests with an error and ends subscriptions', async (t) => {
    const { port, calls } = exchanging()
    const pipe = await open(t, port)
    pipe.write(request(1, 'tools/list'), request(2, 'subscriptions/listen', { notifications: {} }))
    const [one, listen] = [await calls.next(), await calls.next()]
    await pipe.listener.restart()
    const lines = [await pipe.next(), await pipe.next(), await pipe.next()]
    assert.equal(
      lines.slice(0, 2).map(({ id, error }) => [id, error?.code, error?.data]),
      [
        [1, -32603, { retryable: true }],
        [2, -32603, { retryable: true }],
      ],
    )
    assert.equal(ended(lines[2]), ['notifications/cancelled', 2])
    await Promise.all([one.aborted, listen.aborted])
    one.answer()
    pipe.write(initialize, request(1, 'tools/list'))
    assert.equal(outcome(await pipe.next()), ['init', -32022])
    ;(await calls.next()).answer({ fresh: true })
    assert.equal(outcome(await pipe.next()), [1, { fresh: true }])
  })

  test('a stopping server ends subscriptions and drains open requests', async (t) => {
    const { port, calls, ends } = exchanging()
    const pipe = await open(t, port)
    pipe.write(request(1, 'tools/list'), request(2, 'subscriptions/listen', { notifications: {} }))
    const [one, listen] = [await calls.next(), await calls.next()]
    const stopped = pipe.listener.stop()
    await ends.next()
    listen.answer({ over: true })
    one.answer({ in: 'time' })
    assert.equal(outcome(await pipe.next()), [2, { over: true }])
    assert.equal(ended(await pipe.next()), ['notifications/cancelled', 2])
    assert.equal(outcome(await pipe.next()), [1, { in: 'time' }])
    await stopped
  })

  test('too many exchanges are a retryable error; an unforeseen error fails one request', async (t) => {
    const problems = [new TransportError('EXCHANGE_LIMIT', 'too many'), new Error('secret')]
    const port: Partial<Services> = {
      exchange({ request: { id } }) {
        const problem = problems.shift()
        if (problem !== undefined) return Promise.reject(problem)
        return Promise.resolve({ response: buildResult(id, {}), refused: false })
      },
    }
    const pipe = await open(t, port)
    pipe.write(request(1, 'tools/list'))
    const limited = await pipe.next()
    assert.equal([outcome(limited), limited.error?.data], [[1, -32603], { retryable: true }])
    pipe.write(request(2, 'tools/list'), request(3, 'tools/list'))
    const failed = await pipe.next()
    assert.equal([outcome(failed), failed.error?.message], [[2, -32603], 'Internal error'])
    assert.equal(outcome(await pipe.next()), [3, {}])
  })

  test('a leaving client cancels its requests; the end of stdin lets them finish', async (t) => {
    const { port, calls, ends } = exchanging()
    const finished = heard<void>()
    const pipe = await open(t, port, { finished: () => finished.add() })
    pipe.write(request(1, 'tools/list'))
    const one = await calls.next()
    pipe.leave()
    if (transport === 'stdio') {
      // the end of the input says that no more requests come, not that nobody reads
      await ends.next()
      one.answer({ in: 'time' })
      assert.equal(outcome(await pipe.next()), [1, { in: 'time' }])
      return finished.next()
    }
    await one.aborted
    assert.is(one.call.sink.send(progress), false)
    one.answer()
  })

  test.run()
}

function ended({ method, params }: Line = {}): unknown {
  return [method, params?.requestId]
}
