// second tier: time
// time limit: 120 s
import * as assert from 'uvu/assert'
import {
  type ActorRef,
  crash,
  defineActor,
  definePeer,
  type ExitReason,
  kill,
  peerSpec,
  type ProcessRef,
  type RefOf,
  Registry,
  type RuntimeError,
  startActor,
  startSupervisor,
} from 'caduceus/runtime'
import { suite, type TestContext } from '../../support/suite.js'
import type { partner } from './_partner.js'

const test = suite('peers as nodes', { timeout: 30_000 })
type Kind = 'thread' | 'process'
type Partner = RefOf<typeof partner>

for (const kind of ['thread', 'process'] as const) {
  test(`OTP-119 ${kind}: a peer starts with its actor, or rejects with the reason`, async (t) => {
    const thrown = await rejection(start(t, kind, 'fragile', { args: { init: 'throw' } }))
    assert.equal([thrown.code, (thrown.cause as Error).message], ['START_FAILED', 'no start'])
    const stopped = await rejection(start(t, kind, 'fragile', { args: { init: 'stop' } }))
    assert.is(stopped.code, 'START_FAILED')
    assert.equal((stopped.data as { reason: unknown }).reason, { type: 'shutdown', detail: 'not today' })
    const declined = await rejection(start(t, kind, 'fragile', { args: { init: 'ignore' } }))
    assert.is(declined.code, 'IGNORED')
    const never = definePeer({ kind, module: at('fragile'), args: { init: 'never' } })
    const slow = await rejection(startActor(never, undefined, { startTimeout: 1_500, logger: false }))
    assert.is(slow.code, 'START_TIMEOUT')
  })

  test(`OTP-121 ${kind}: a lost peer ends with noconnection and its exit`, async (t) => {
    const peer = await start(t, kind, 'trapper')
    const ended = reasonOf(peer)
    peer.cast('block', 60_000)
    peer.kill()
    assert.equal(await ended, { type: 'killed' })
    const other = await start(t, kind, 'fragile', { blockedTimeout: 300 })
    const why = reasonOf(other)
    other.cast('block', 60_000)
    const reason = await why
    assert.is(reason.type, 'noconnection')
    const { error } = reason as { error: RuntimeError }
    assert.equal(
      [error.code, error.retryable, (error.data as { why: string }).why],
      ['NOCONNECTION', true, 'blocked'],
    )
  })

  test(`${kind}: a reference sent during init is the reference of the started actor`, async (t) => {
    const greeted: ActorRef<never, never>[] = []
    const host = defineActor({
      name: 'host',
      init: () => ({}),
      cast: { heard: (_state, ref: ActorRef<never, never>) => void greeted.push(ref) },
    })
    const listener = await startActor(host)
    t.after(() => listener.stop())
    const peer = await start(t, kind, 'trapper', { args: { init: 'greet', listener } })
    await until(() => greeted.length === 1)
    const [greeting] = greeted as [ActorRef<never, never>]
    const ended = reasonOf(greeting)
    assert.equal(await (greeting as unknown as Partner).call('echo', 1), 1)
    peer.kill()
    assert.is((await ended).type, 'killed')
  })

  test(`OTP-122 ${kind}: a remote actor has a local name and takes messages`, async (t) => {
    const peer = await start(t, kind, 'trapper', {}, { name: 'partner' })
    const host = await startActor(defineActor({ name: 'host', init: () => ({}) }))
    t.after(() => host.stop())
    peer.cast('note', 1)
    peer.send('two')
    assert.equal(await peer.call('heard'), [1, ['message', 'two']])
    const self = (await peer.call('self')) as ActorRef
    assert.is(self, peer)
  })

  test(`OTP-123 ${kind}: messages, calls and signals of one sender arrive in order`, async (t) => {
    const peer = await start(t, kind, 'trapper')
    const some = 3_000 // more than may be on their way at once
    const helper = await startActor(
      defineActor({
        name: 'helper',
        init: () => ({}),
        call: {
          go(_state, _nothing: undefined, ctx) {
            ctx.link(peer)
            for (let i = 0; i < some; i++) peer.cast('note', i)
            ctx.stop(crash(new Error('after all')))
          },
        },
      }),
      undefined,
      { logger: false },
    )
    await helper.call('go').catch(() => {})
    peer.cast('note', 'last')
    const heard = (await peer.call('heard')) as unknown[]
    const expected = [...Array.from({ length: some }, (_, i) => i), ['exit', 'crash', 'after all'], 'last']
    assert.equal(heard, expected)
  })

  test(`OTP-123 ${kind}: a stop keeps its place between earlier and later messages`, async (t) => {
    const { listener, heard } = await listen(t)
    const peer = await start(t, kind, 'trapper', { args: { listener } })
    const before = peer.call('wait', 100)
    const stopped = peer.stop()
    const after = await rejection(peer.call('echo', 1))
    assert.is(await before, 'waited')
    assert.equal(await stopped, { type: 'normal' })
    assert.match(after.code, /^(EXITED|NOPROC)$/)
    assert.equal(heard, [['terminate', 'normal'], 'terminated'])
  })

  test(`OTP-124 ${kind}: links carry exits in both directions, trapped or not`, async (t) => {
    const { listener, heard } = await listen(t)
    // made here
    const fragile = await start(t, kind, 'fragile')
    await listener.call('link', fragile)
    const first = reasonOf(fragile)
    fragile.cast('crash')
    assert.is((await first).type, 'crash')
    assert.equal(heard.splice(0), [['exit', 'crash', 'out of order']])
    const again = await start(t, kind, 'fragile')
    const second = reasonOf(again)
    const mortal = await startMortal(t)
    await mortal.call('link', again)
    mortal.cast('end', crash(new Error('mine')))
    assert.is(((await second) as { error: Error }).error.message, 'mine')
    // made there
    const trapper = await start(t, kind, 'trapper')
    const other = await startMortal(t)
    await trapper.call('link', other)
    other.cast('end', crash(new Error('yours')))
    await until(async () => ((await trapper.call('heard')) as unknown[]).length > 0)
    assert.equal(await trapper.call('heard'), [['exit', 'crash', 'yours']])
    const linked = await start(t, kind, 'fragile')
    const victim = await startMortal(t)
    const end = reasonOf(victim)
    await linked.call('link', victim)
    linked.cast('crash')
    assert.is(((await end) as { error: Error }).error.message, 'out of order')
  })

  test(`OTP-124 ${kind}: unlink removes a link; a normal end is quiet`, async (t) => {
    const peer = await start(t, kind, 'fragile')
    const mortal = await startMortal(t)
    await mortal.call('link', peer)
    await mortal.call('unlink', peer)
    await peer.call('link', mortal)
    await peer.call('unlink', mortal)
    mortal.cast('end', crash(new Error('alone')))
    await reasonOf(mortal)
    const normal = await startMortal(t)
    await normal.call('link', peer)
    normal.cast('end', { type: 'normal' })
    await reasonOf(normal)
    assert.is(await peer.call('echo', 'still here'), 'still here')
  })

  test(`OTP-125 ${kind}: a lost peer gives noconnection to all its links and monitors`, async (t) => {
    const { listener, heard } = await listen(t)
    const peer = await start(t, kind, 'fragile', { blockedTimeout: 300 })
    const child = (await peer.call('child')) as ProcessRef
    await listener.call('link', peer)
    await listener.call('monitor', peer)
    await listener.call('link', child)
    await listener.call('monitor', child)
    peer.cast('block', 60_000)
    await until(() => heard.length === 4)
    const types = heard.map((each) => (each as string[]).slice(0, 2).join(' ')).sort()
    assert.equal(types, ['down noconnection', 'down noconnection', 'exit noconnection', 'exit noconnection'])
  })

  test(`OTP-126 ${kind}: a link or monitor to a dead process gives noproc`, async (t) => {
    const { listener, heard } = await listen(t)
    const peer = await start(t, kind, 'fragile')
    const child = (await peer.call('child')) as ActorRef
    await child.stop()
    await peer.call('monitor', child)
    assert.equal(await peer.call('heard'), [['down', 'noproc', undefined]])
    await peer.stop()
    await listener.call('link', peer)
    await listener.call('monitor', peer)
    await until(() => heard.length === 2)
    assert.equal(heard, [
      ['exit', 'noproc', undefined],
      ['down', 'noproc', undefined],
    ])
  })

  test(`OTP-127 ${kind}: the reason tells a lost peer from an ended actor`, async (t) => {
    const peer = await start(t, kind, 'trapper')
    const ended = reasonOf(peer)
    peer.cast('end', { type: 'shutdown', detail: { at: [1] } })
    assert.equal(await ended, { type: 'shutdown', detail: { at: [1] } })
  })

  test(`OTP-128 ${kind}: kill cannot be trapped remotely; links see killed`, async (t) => {
    const { listener, heard } = await listen(t)
    const peer = await start(t, kind, 'trapper')
    const mortal = await startMortal(t)
    const end = reasonOf(mortal)
    await peer.call('exit', { ref: mortal, request: kill })
    assert.equal(await end, { type: 'killed' })
    await listener.call('link', peer)
    const stranger = await startMortal(t)
    await stranger.call('exit', peer)
    await until(async () => ((await peer.call('heard')) as unknown[]).length > 0)
    assert.equal(await peer.call('heard'), [['exit', 'shutdown', undefined]])
    peer.exit(kill)
    await until(() => heard.length > 0)
    assert.equal(heard, [['exit', 'killed', undefined]])
  })

  test(`OTP-129 ${kind}: a cast to a dead actor is refused, and a call fails at once`, async (t) => {
    const peer = await start(t, kind, 'fragile')
    await peer.stop()
    assert.not(peer.cast('note', 1))
    assert.not(peer.send(1))
    const error = await rejection(peer.call('echo', 1, { timeout: 60_000 }))
    assert.equal([error.code, (error.data as { sent: boolean }).sent], ['NOPROC', false])
  })

  test(`OTP-130 ${kind}: remote crash, loss and timeout are distinct`, async (t) => {
    const peer = await start(t, kind, 'fragile')
    const waiting = rejection(peer.call('wait', 60_000, { timeout: 60_000 }))
    const late = await rejection(peer.call('wait', 60_000, { timeout: 30 }))
    assert.is(late.code, 'TIMEOUT')
    peer.kill()
    assert.is((await waiting).code, 'EXITED')
    const other = await start(t, kind, 'fragile')
    other.cast('crash')
    const reason = await reasonOf(other)
    const { error } = reason as { error: Error & { code: string; data: unknown } }
    assert.equal([error.name, error.code, error.data], ['TypeError', 'E_ORDER', { at: 7 }])
    assert.match(error.stack ?? '', '_partner')
  })

  test(`OTP-131 OTP-132 ${kind}: late replies are dropped; a lost call may have run`, async (t) => {
    const peer = await start(t, kind, 'fragile', { blockedTimeout: 300 })
    const late = await rejection(peer.call('wait', 200, { timeout: 50 }))
    assert.is(late.code, 'TIMEOUT')
    assert.is(await peer.call('echo', 1), 1)
    peer.cast('block', 60_000)
    const lost = await rejection(peer.call('echo', 2, { timeout: 60_000 }))
    assert.equal([lost.code, (lost.data as { sent: boolean }).sent], ['NOCONNECTION', true])
  })

  test(`OTP-136 ${kind}: a reference means the same process in every place`, async (t) => {
    const peer = await start(t, kind, 'fragile')
    const other = await start(t, kind === 'thread' ? 'process' : 'thread', 'fragile')
    assert.is(await other.call('relay', { to: peer, what: 'through two' } as never), 'through two')
    assert.is(await other.call('echo', peer), peer)
    const child = await peer.call('child')
    assert.is(await other.call('echo', child), child)
    const ended = reasonOf(child as ActorRef)
    await other.call('exit', { ref: child as ProcessRef, request: kill })
    assert.is((await ended).type, 'killed')
  })
}

test('OTP-133 a pause of this program does not count for its peers', async (t) => {
  const peer = await start(t, 'thread', 'fragile', { blockedTimeout: 300 })
  for (let i = 0; i < 3; i++) {
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 700)
    assert.is(await peer.call('echo', i), i)
  }
})

test('OTP-140 a peer has a local name, free once it has ended', async (t) => {
  const registry = new Registry()
  const supervisor = await startSupervisor({
    registry,
    strategy: 'one_for_one',
    logger: false,
    children: [peerSpec({ kind: 'thread', module: at('fragile') }, { id: 'it', name: 'partner' })],
  })
  t.after(() => supervisor.stop())
  const named = registry.named<typeof partner>('partner')
  assert.is(await named.call('echo', 'by name'), 'by name')
  named.current?.kill()
  // it waits for the next one
  assert.is(await named.call('echo', 'again', { timeout: 20_000 }), 'again')
})

test.run()

function at(name: string): URL {
  return new URL(`./_${name}.js`, import.meta.url)
}

async function start(
  t: TestContext,
  kind: Kind,
  name: 'trapper' | 'fragile',
  options: object = {},
  how: object = {},
): Promise<Partner> {
  const behaviour = definePeer<typeof partner>({ kind, module: at(name), ...options })
  const peer = await startActor(behaviour, undefined, { startTimeout: 20_000, logger: false, ...how })
  t.after(() => {
    if (peer.alive) peer.kill()
  })
  return peer
}

/** An actor of this side that traps exits, and what it hears. */
async function listen(t: TestContext) {
  const heard: unknown[] = []
  const listener = defineActor({
    name: 'listener',
    trapExit: true,
    init: () => ({}),
    call: {
      link: (_state, ref: ProcessRef, ctx) => ctx.link(ref),
      monitor: (_state, ref: ProcessRef, ctx) => void ctx.monitor(ref),
    },
    cast: { heard: (_state, what: unknown) => void heard.push(what) },
    info: {
      exit: (_state, { reason }) => void heard.push(['exit', reason.type, wordsOf(reason)]),
      down: (_state, { reason }) => void heard.push(['down', reason.type, wordsOf(reason)]),
    },
  })
  const ref = await startActor(listener, undefined, { logger: false })
  t.after(() => ref.stop())
  return { listener: ref, heard }
}

/** An actor of this side that does not trap. */
async function startMortal(t: TestContext) {
  const mortal = defineActor({
    name: 'mortal',
    init: () => ({}),
    call: {
      link: (_state, ref: ProcessRef, ctx) => ctx.link(ref),
      unlink: (_state, ref: ProcessRef, ctx) => ctx.unlink(ref),
      exit: (_state, ref: ProcessRef, ctx) => ctx.exit(ref, { type: 'shutdown' }),
    },
    cast: { end: (_state, reason: ExitReason, ctx) => ctx.stop(reason) },
  })
  const ref = await startActor(mortal, undefined, { logger: false })
  t.after(() => ref.alive && ref.stop())
  return ref
}

function wordsOf(reason: ExitReason): unknown {
  return reason.type === 'crash' ? (reason.error as Error).message : undefined
}

function reasonOf(ref: ActorRef): Promise<ExitReason> {
  return new Promise((resolve) => ref.onExit(resolve))
}

async function rejection(promise: Promise<unknown>): Promise<RuntimeError> {
  const error = await promise.then(
    (value) => assert.unreachable(`it resolved: ${String(value)}`),
    (error) => error as RuntimeError,
  )
  return error as RuntimeError
}

/** What a message brings about; the time limit of the test ends it otherwise. */
async function until(done: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await done())) await new Promise((resolve) => setTimeout(resolve, 5))
}
