// second tier: time
import * as assert from 'uvu/assert'
import {
  type ActorRef,
  defineActor,
  definePeer,
  type ExitReason,
  peerSpec,
  type RefOf,
  RuntimeError,
  startActor,
  startSupervisor,
  subscribe,
} from 'caduceus/runtime'
import { processOf } from '../../../runtime/process/process.js'
import { suite, type TestContext } from '../../support/suite.js'
import { type default as counter, errors, Overdrawn } from './_counter.js'

const test = suite('peers', { timeout: 20_000 })
const module = new URL('./_counter.js', import.meta.url)
type Kind = 'thread' | 'process'

for (const kind of ['thread', 'process'] as const) {
  test(`${kind}: a remote actor takes calls, casts and stop`, async (t) => {
    const peer = await start(t, kind, { args: { from: 5 } })
    assert.is(await peer.call('add', 2), 7)
    assert.is(await peer.call('add', 1), 8)
    assert.is((await peer.call('pid')) === process.pid, kind === 'thread')
    assert.equal(await peer.stop(), { type: 'normal' })
  })

  test(`OTP-135 ${kind}: all kinds of values are copied`, async (t) => {
    const peer = await start(t, kind)
    const ring: Record<string, unknown> = { list: [1n, new Date(0), new Map([[1, new Set([2])]])] }
    ring.self = ring
    const back = (await peer.call('echo', ring)) as typeof ring
    assert.is(back.self, back)
    assert.equal(back.list, ring.list)
    for (const value of [
      { $caduceus: 1, a: peer },
      JSON.parse('{"__proto__":1}'),
      [undefined, null, Number.NaN],
    ])
      assert.equal(await peer.call('echo', value), value)
  })

  test(`OTP-130 ${kind}: errors keep their class, code, data, cause and stack`, async (t) => {
    const peer = await start(t, kind)
    const error = new RuntimeError('MAX_CHILDREN', 'full', {
      retryable: true,
      data: { at: [1] },
      cause: new TypeError('why'),
    })
    const caught = await rejection(peer.call('refuse', error))
    assert.instance(caught, RuntimeError)
    assert.equal(
      [caught.code, caught.message, caught.retryable, caught.data],
      ['MAX_CHILDREN', 'full', true, { at: [1] }],
    )
    assert.is((caught.cause as Error).name, 'TypeError')
    assert.is(caught.stack, error.stack)
    const several = await rejection(peer.call('refuse', new AggregateError([error], 'several')))
    assert.is(((several as unknown as AggregateError).errors[0] as RuntimeError).code, 'MAX_CHILDREN')
  })

  test(`${kind}: errors of a shared class keep their class`, async (t) => {
    const peer = await start(t, kind, { errors })
    class More extends Overdrawn {}
    for (const error of [new Overdrawn(7), new More(7)]) {
      const caught = (await rejection(peer.call('refuse', error))) as Error
      assert.instance(caught, Overdrawn)
      assert.is((caught as Overdrawn).by, 7)
      assert.is(caught.name, error.name)
    }
    const plain = await start(t, kind)
    const caught = (await rejection(plain.call('refuse', new Overdrawn(7)))) as Error
    assert.not.ok(caught instanceof Overdrawn)
    assert.is(caught.message, 'overdrawn by 7')
  })

  test(`OTP-135 ${kind}: an uncloneable value rejects with its path`, async (t) => {
    const peer = await start(t, kind)
    const there = await rejection(peer.call('echo', { a: [{ fn() {} }] }))
    assert.is(there.code, 'NOT_CLONEABLE')
    assert.match(
      there.message,
      'counter.echo: input.a[0].fn: expected a value that structured clone can copy',
    )
    const also = await rejection(peer.call('echo', new WeakMap()))
    assert.is(also.code, 'NOT_CLONEABLE')
    assert.is(await peer.call('add', 1), 1)
  })

  test(`OTP-136 ${kind}: references work remotely and come back as what they were`, async (t) => {
    const peer = await start(t, kind)
    const told: unknown[] = []
    const here = defineActor({
      name: 'here',
      init: () => ({}),
      call: { name: () => 'it is me' },
      cast: { told: (_state, what: unknown) => void told.push(what) },
    })
    const ref = await startActor(here)
    t.after(() => ref.alive && ref.stop())
    assert.is(await peer.call('ask', ref as never), 'it is me')
    assert.is(await peer.call('echo', ref), ref)
    peer.cast('tell', { whom: ref as never, what: 'news' })
    await peer.call('add', 1)
    assert.is(await peer.call('ask', ref as never), 'it is me')
    assert.equal(told, ['news'])
    const child = (await peer.call('child')) as RefOf<typeof counter>
    assert.is(await child.call('add', 4), 4)
    assert.is(await peer.call('alive', child), true)
    const ended = new Promise((resolve) => child.onExit(resolve))
    child.kill()
    await ended
  })

  test(`${kind}: a call times out at its deadline`, async (t) => {
    const peer = await start(t, kind)
    const error = await rejection(peer.call('never', undefined, { timeout: 50 }))
    assert.is(error.code, 'TIMEOUT')
  })

  test(`${kind}: an unknown call is BAD_MESSAGE`, async (t) => {
    const peer = await start(t, kind)
    const error = await rejection((peer as ActorRef<{ nope(state: unknown): void }>).call('nope'))
    assert.is(error.code, 'BAD_MESSAGE')
  })

  test(`${kind}: a remote crash is the crash of the peer`, async (t) => {
    const peer = await start(t, kind)
    const ended = reasonOf(peer)
    const error = await rejection(peer.call('throw', 'boom'))
    assert.is(error.code, 'EXITED')
    const reason = await ended
    assert.is(reason.type, 'crash')
    assert.is((reason as { error: Error }).error.message, 'boom')
  })

  test(`OTP-139 ${kind}: process.exit ends the peer alone`, async (t) => {
    const peer = await start(t, kind)
    const ended = reasonOf(peer)
    const error = await rejection(peer.call('exit', 7))
    assert.is(error.code, 'NOCONNECTION')
    assert.match(error.message, /ended with exit code 7/)
    assert.is((await ended).type, 'noconnection')
  })

  test(`OTP-133 ${kind}: a peer with a blocked loop is killed`, async (t) => {
    const peer = await start(t, kind, { blockedTimeout: 400 })
    const error = await rejection(peer.call('spin'))
    assert.is(error.code, 'NOCONNECTION')
    assert.match(error.message, /event loop was blocked for more than 400 ms/)
  })

  test(`${kind}: a peer that sends while its loop is blocked is killed, only later`, async (t) => {
    const heard: number[] = []
    const host = defineActor({ name: 'host', init: () => ({}), cast: { heard: () => void heard.push(1) } })
    const listener = await startActor(host)
    t.after(() => listener.stop())
    const peer = await start(t, kind, { blockedTimeout: 300 })
    const error = await rejection(peer.call('spinAloud', listener as never, { timeout: 20_000 }))
    assert.match(error.message, /event loop was blocked for more than 300 ms/)
    assert.ok(heard.length > 0)
  })

  test(`OTP-138 ${kind}: a supervisor restarts a peer`, async (t) => {
    const supervisor = await startSupervisor({
      strategy: 'one_for_one',
      children: [peerSpec({ kind, module }, { id: 'it' })],
      logger: false,
    })
    t.after(() => supervisor.stop())
    const [first] = await supervisor.children()
    const ref = first?.ref as RefOf<typeof counter>
    const back = new Promise<void>((resolve) => {
      const undo = subscribe('progress', ({ restarted }) => {
        if (restarted) resolve()
      })
      t.after(undo)
    })
    await rejection(ref.call('exit', 1))
    await back
    const [second] = await supervisor.children()
    const again = second?.ref as RefOf<typeof counter> | undefined
    assert.is(await again?.call('add', 3), 3)
  })
}

test('messages are counted on both sides, and stops and peers leave nothing behind', async (t) => {
  const here = await startActor(defineActor({ name: 'here', init: () => ({}), call: { name: () => 'here' } }))
  t.after(() => here.stop())
  const watches = (): number => processOf(here).monitors?.size ?? 0
  const before = watches()
  const peer = await start(t, 'thread')
  for (let i = 0; i < 1_100; i++) await ((await peer.call('child')) as RefOf<typeof counter>).stop()
  assert.is(await peer.call('ask', here as never), 'here')
  assert.is(watches(), before + 1)
  await peer.stop()
  assert.is(watches(), before)
})

test('OTP-134 calls beyond the send limit wait in order, then are refused', async (t) => {
  const peer = await start(t, 'thread')
  const calls = Array.from({ length: 12_000 }, () => peer.call('add', 1, { timeout: 60_000 }))
  const outcomes = await Promise.allSettled(calls)
  const sums = outcomes.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []))
  const refused = outcomes.flatMap((one) => (one.status === 'rejected' ? [one.reason.code] : []))
  assert.equal(
    sums,
    Array.from({ length: sums.length }, (_, index) => index + 1),
  )
  assert.is(sums.length + refused.length, 12_000)
  assert.ok(sums.length >= 10_000 && refused.every((code) => code === 'MAILBOX_FULL'))
})

test('a missing module fails the definition of a peer, and a wrong one its start', async () => {
  const missing = new URL('./none.js', import.meta.url)
  assert.throws(
    () => definePeer({ kind: 'thread', module: missing }),
    (error: RuntimeError) => error.code === 'BAD_OPTION',
  )
  const error = await rejection(
    startActor(definePeer({ kind: 'thread', module: new URL(import.meta.url) }), undefined, {
      logger: false,
    }),
  )
  assert.is(error.code, 'START_FAILED')
})

test.run()

async function start(t: TestContext, kind: Kind, options: object = {}): Promise<RefOf<typeof counter>> {
  const behaviour = definePeer<typeof counter>({ kind, module, name: 'counter', ...options })
  const peer = await startActor(behaviour, undefined, { startTimeout: 20_000, logger: false })
  t.after(() => peer.alive && peer.stop())
  return peer
}

async function rejection(promise: Promise<unknown>): Promise<RuntimeError> {
  const error = await promise.then(
    (value) => assert.unreachable(`it resolved: ${String(value)}`),
    (error) => error as RuntimeError,
  )
  return error as RuntimeError
}

function reasonOf(ref: ActorRef): Promise<ExitReason> {
  return new Promise((resolve) => ref.onExit(resolve))
}
