import * as assert from 'uvu/assert'
import {
  type ActorRef,
  childSpec,
  createFakeClock,
  defineActor,
  getState,
  getStatus,
  normal,
  replaceState,
  resume,
  type RuntimeError,
  startActor,
  startSupervisor,
  statistics,
  subscribe,
  suspend,
  type TaskSupervisor,
  taskSupervisorSpec,
  type TimerFired,
  trace,
} from 'caduceus/runtime'
import { suite } from '../../support/suite.js'

const test = suite('looks inside')

const account = defineActor({
  name: 'account',
  trapExit: true,
  init: (ended: (word: string) => void) => ({ balance: 0, pin: '1234', ended }),
  formatStatus: ({ balance, pin }) => ({ balance, pin: pin.replace(/./g, '*') }),
  call: {
    read: (state) => state.balance,
    wait: (_, until: Promise<void>) => until,
  },
  cast: {
    pay: (state, amount: number) => {
      state.balance += amount
    },
    crash: () => {
      throw new Error('bankrupt')
    },
  },
  terminate: ({ ended }, reason) => ended(reason.type),
})

async function startAccount(
  t: { after(undo: () => unknown): void },
  ended: (word: string) => void = () => {},
) {
  const clock = createFakeClock()
  const ref = await startActor(account, ended, { logger: false, clock })
  t.after(() => ref.kill())
  return { ref, clock }
}

function failure(promise: Promise<unknown>): Promise<RuntimeError | undefined> {
  return promise.then(
    () => undefined,
    (error) => error,
  )
}

test('OTP-112 state can be read between two messages', async (t) => {
  const { ref } = await startAccount(t)
  ref.cast('pay', 5)
  assert.is(await getState(ref, (state) => (state as { balance: number }).balance), 5)
  assert.is((await getState<{ balance: number }>(ref)).balance, 5)
})

test('OTP-112 getState waits for the running handler, up to a timeout', async (t) => {
  const { ref, clock } = await startAccount(t)
  let release: () => void = () => {}
  const held = ref.call('wait', new Promise<void>((resolve) => (release = resolve)))
  await clock.advance(0)
  const late = failure(getState(ref, undefined, 100))
  await clock.advance(100)
  assert.is((await late)?.code, 'TIMEOUT')
  release()
  await held
  assert.is(await ref.call('read'), 0)
})

test('OTP-112 state can be replaced, and stays when the replacement throws', async (t) => {
  const { ref } = await startAccount(t)
  const state = await getState<{ balance: number }>(ref)
  await replaceState<typeof state>(ref, (old) => ({ ...old, balance: 7 }))
  const failing = () => {
    throw new Error('no')
  }
  assert.is((await failure(replaceState(ref, failing)))?.message, 'no')
  assert.is(await ref.call('read'), 7)
})

test('OTP-112 a suspended actor queues messages until it is resumed', async (t) => {
  const { ref, clock } = await startAccount(t)
  suspend(ref)
  ref.cast('pay', 1)
  const answer = ref.call('read')
  await clock.advance(10)
  assert.is(getStatus(ref).phase, 'suspended')
  assert.is(getStatus(ref).mailbox, 2)
  assert.is(await getState(ref, (state) => (state as { balance: number }).balance), 0)
  resume(ref)
  assert.is(await answer, 1)
})

test('OTP-112 a suspended actor can be stopped, and shut down by its supervisor', async (t) => {
  const words: string[] = []
  const { ref } = await startAccount(t, (word) => words.push(word))
  suspend(ref)
  assert.equal(await ref.stop(), normal)
  const spec = childSpec(account, (word: string) => words.push(word))
  const tree = await startSupervisor({ strategy: 'one_for_one', logger: false, children: [spec] })
  const [child] = await tree.children()
  if (child?.ref === undefined) throw new Error('the child runs')
  suspend(child.ref)
  await tree.stop()
  assert.equal(words, ['normal', 'shutdown'])
})

/** What is asked of a busy actor: a busy one meets it later, and in this order. */
async function startLedger(t: { after(undo: () => unknown): void }) {
  const notes: string[] = []
  let open = (): void => {}
  const opened = new Promise<void>((resolve) => {
    open = resolve
  })
  const ledger = defineActor({
    name: 'ledger',
    init: () => ({ notes }),
    cast: {
      busy: () => opened,
      write: (_, word: string) => void notes.push(word),
      continue(_, word: string, ctx) {
        ctx.continue(() => void notes.push(word))
        return opened
      },
    },
    terminate: (_, { type }) => void notes.push(type),
  })
  const ref = await startActor(ledger, undefined, { logger: false })
  t.after(() => ref.kill())
  const requests = {
    stop: () => ref.stop(normal, 1_000).then(() => {}, ignoring),
    suspend: () => suspend(ref),
    resume: () => resume(ref),
    read: () => getState(ref, () => notes.push('read'), 1_000).then(() => {}, ignoring),
    replace: () =>
      replaceState(ref, () => ({ notes, length: notes.push('replace') }), 1_000).then(() => {}, ignoring),
    trace: () => trace(ref, () => {})(),
  }
  return { ref, notes, open, requests }
}

/** Some are refused since the actor has ended: that is told by what it noted. */
const ignoring = (): void => {}

type Request = 'stop' | 'suspend' | 'resume' | 'read' | 'replace' | 'trace'

/** What is noted when the first and then the second is asked, with `write` before, between and after them. */
const noted = (first: Request, second: Request): string[] => {
  const said = (request: Request): string[] => (request === 'read' || request === 'replace' ? [request] : [])
  if (first === 'stop') return ['before', 'normal']
  if (first === 'suspend' && second === 'stop') return ['normal']
  if (first === 'suspend' && second === 'suspend') return []
  if (first === 'suspend' && second === 'resume') return ['before', 'between', 'after']
  if (first === 'suspend') return said(second)
  // a suspension is at once: what was asked before it is met, and messages wait
  if (second === 'suspend') return said(first)
  const both = ['before', ...said(first), 'between']
  return second === 'stop' ? [...both, 'normal'] : [...both, ...said(second), 'after']
}

for (const first of ['stop', 'suspend', 'resume', 'read', 'replace', 'trace'] as const)
  for (const second of ['stop', 'suspend', 'resume', 'read', 'replace', 'trace'] as const)
    for (const busy of [true, false])
      test(`OTP-112 ${first}, then ${second} of ${busy ? 'a busy' : 'an idle'} actor happen in order`, async (t) => {
        const { ref, notes, open, requests } = await startLedger(t)
        if (busy) ref.cast('busy')
        ref.cast('write', 'before')
        const asked = [requests[first]()]
        ref.cast('write', 'between')
        asked.push(requests[second]())
        ref.cast('write', 'after')
        await new Promise(setImmediate)
        open()
        // one that is suspended has met all that was asked; its messages wait
        await Promise.all(asked)
        // a turn may end by its time
        for (let turns = 0; turns < 20; turns += 1) await new Promise(setImmediate)
        assert.equal(notes, noted(first, second))
      })

test('OTP-112 continuations run before the actor is suspended, stopped or read', async (t) => {
  const { ref, notes, open, requests } = await startLedger(t)
  ref.cast('continue', 'continued')
  await new Promise(setImmediate)
  const asked = [requests.suspend(), requests.read(), requests.stop()]
  open()
  await Promise.all(asked)
  assert.equal(notes, ['continued', 'read', 'normal'])
})

test('OTP-112 init continues before a read, and a starting actor suspends once up', async (t) => {
  const notes: string[] = []
  const starting: { ref?: ActorRef } = {}
  const behaviour = defineActor({
    name: 'a',
    async init(_: undefined, ctx) {
      starting.ref = ctx.self
      ctx.continue(() => void notes.push('continued'))
      await null
      return {}
    },
    info: { message: (_, word) => void notes.push(String(word)) },
  })
  const started = startActor(behaviour, undefined, { logger: false })
  const ref = starting.ref
  assert.ok(ref)
  t.after(() => ref.kill())
  suspend(ref)
  ref.send('message')
  await started
  await getState(ref, () => notes.push('read'))
  assert.equal(notes, ['continued', 'read'])
  assert.is(getStatus(ref).phase, 'suspended')
  resume(ref)
  await getState(ref)
  assert.equal(notes, ['continued', 'read', 'message'])
})

test('OTP-112 a suspended actor exits after the message that it still handles', async (t) => {
  const { ref, notes, open, requests } = await startLedger(t)
  ref.cast('busy')
  await new Promise(setImmediate)
  suspend(ref)
  const stopped = requests.stop()
  await new Promise(setImmediate)
  assert.equal(notes, [])
  assert.ok(ref.alive)
  open()
  await stopped
  assert.equal(notes, ['normal'])
})

test('OTP-112 every message of an actor can be traced', async (t) => {
  const { ref } = await startAccount(t)
  const seen: string[] = []
  const stop = trace(ref, ({ what, kind, name, input }) => seen.push(`${what} ${kind} ${name} ${input}`))
  ref.cast('pay', 2)
  await ref.call('read')
  stop()
  await ref.call('read')
  assert.equal(seen, ['in cast pay 2', 'out cast pay 2', 'in call read undefined', 'out call read undefined'])
})

test('a tracer that throws costs the actor nothing', async (t) => {
  t.expectStray(1)
  const { ref } = await startAccount(t)
  const stop = trace(ref, ({ what }) => {
    if (what === 'in') throw new Error('tracer')
  })
  assert.is(await ref.call('read'), 0)
  stop()
  await new Promise((resolve) => setImmediate(() => setImmediate(resolve)))
  assert.ok(ref.alive)
})

test('OTP-112 messages can be counted', async (t) => {
  const { ref, clock } = await startAccount(t)
  const counters = statistics(ref)
  ref.cast('pay', 1)
  await ref.call('read')
  await clock.advance(50)
  assert.equal(counters(), { forMs: 50, messagesIn: 2, messagesOut: 2 })
  counters.stop()
  await ref.call('read')
  assert.is(counters().messagesIn, 2)
})

test('OTP-112 sys calls work on supervisors and refuse tasks and dead ones', async (t) => {
  const tree = await startSupervisor({ strategy: 'one_for_one', logger: false })
  t.after(() => tree.stop())
  const { extra } = await tree.startChild(taskSupervisorSpec())
  const children = await getState(tree.ref, (state) => (state as { children: unknown[] }).children.length)
  assert.is(children, 1)
  const task = (extra as TaskSupervisor).start(() => new Promise<never>(() => {}))
  assert.throws(() => suspend(task.ref), /expected an actor or a supervisor, got a task/)
  const { ref } = await startAccount(t)
  ref.kill()
  assert.is((await failure(getState(ref)))?.code, 'NOPROC')
})

test('getState of an actor that ends first rejects with EXITED', async (t) => {
  const { ref, clock } = await startAccount(t)
  void ref.call('wait', new Promise<void>(() => {}), { timeout: Number.POSITIVE_INFINITY })
  await clock.advance(0)
  const look = failure(getState(ref))
  ref.kill()
  assert.is((await look)?.code, 'EXITED')
})

test('OTP-118 reports show state only through formatStatus', async (t) => {
  const { ref } = await startAccount(t)
  const statuses: unknown[] = []
  t.after(subscribe('crash', ({ status }) => statuses.push(status)))
  assert.equal(getStatus(ref).status, { balance: 0, pin: '****' })
  ref.cast('crash')
  await new Promise((resolve) => ref.onExit(resolve))
  const plain = defineActor({
    name: 'plain',
    init: () => ({ secret: 'canary' }),
    cast: {
      crash: () => {
        throw new Error('crash')
      },
    },
  })
  const other = await startActor(plain, undefined, { logger: false })
  other.cast('crash')
  await new Promise((resolve) => other.onExit(resolve))
  assert.equal(statuses, [{ balance: 0, pin: '****' }, undefined])
})

test('OTP-118 a formatStatus that throws breaks no report', async (t) => {
  const broken = defineActor({
    name: 'broken',
    init: () => ({}),
    formatStatus: () => {
      throw new Error('not shown')
    },
  })
  const ref = await startActor(broken, undefined, { logger: false })
  t.after(() => ref.kill())
  assert.is(getStatus(ref).status, 'formatStatus failed: not shown')
})

const waiter = defineActor({
  name: 'waiter',
  init(heard: (word: unknown) => void, ctx) {
    ctx.idleAfter(100)
    return { heard }
  },
  cast: {
    ping: () => {},
    wait: (_, ms: number, ctx) => ctx.idleAfter(ms),
  },
  info: { timeout: ({ heard }) => heard('timeout') },
})

test('OTP-94 an idle timeout fires unless a message comes first', async (t) => {
  const clock = createFakeClock()
  const heard: unknown[] = []
  const ref = await startActor(waiter, (word: unknown) => heard.push(word), { logger: false, clock })
  t.after(() => ref.kill())
  await clock.advance(99)
  ref.cast('ping')
  await clock.advance(500)
  assert.equal(heard, [])
  ref.cast('wait', 10)
  await clock.advance(10)
  assert.equal(heard, ['timeout'])
  ref.cast('wait', 10)
  ref.kill()
  await clock.advance(50)
  assert.is(clock.pending, 0)
})

test('OTP-111 a startTimer message carries its timer, to tell a stale one apart', async (t) => {
  const clock = createFakeClock()
  const heard: unknown[] = []
  const restless = defineActor({
    name: 'restless',
    init: (_: undefined, ctx) => ({ current: ctx.startTimer(10, 'first') }),
    cast: {
      again: (state, _: undefined, ctx) => {
        state.current = ctx.startTimer(10, 'second')
      },
    },
    info: {
      timer: (state, fired) => {
        const { timer, payload } = fired as TimerFired
        heard.push([payload, timer === state.current])
      },
    },
  })
  const ref = await startActor(restless, undefined, { logger: false, clock })
  t.after(() => ref.kill())
  ref.cast('again')
  await clock.advance(10)
  assert.equal(heard, [
    ['first', false],
    ['second', true],
  ])
})

test.run()
