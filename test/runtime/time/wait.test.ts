import { getEventListeners } from 'node:events'
import * as assert from 'uvu/assert'
import { type Clock, createFakeClock, systemClock } from 'caduceus/runtime'
import { pause, type Settle, waitWithin, withDeadline } from '../../../runtime/time/wait.js'
import { suite } from '../../support/suite.js'

const test = suite('waits')

/** A wait whose parts are noted as they happen. */
function wait({ ms = 100, signal }: { ms?: number; signal?: AbortSignal } = {}) {
  const clock = createFakeClock()
  const notes: string[] = []
  let settle: Settle<string> = () => {}
  let fail: (error: unknown) => void = () => {}
  const over = waitWithin<string>({ clock, ms, late: () => 'late', signal }, (resolve, reject) => {
    settle = resolve
    fail = reject
    return () => notes.push('undone')
  }).then(
    (value) => notes.push(value),
    (error) => notes.push(`failed: ${error}`),
  )
  return { clock, notes, over, settle, fail }
}

test('a wait settles once, after its undo, and leaves no timer', async () => {
  const { clock, notes, over, settle, fail } = wait()
  assert.is(clock.pending, 1)
  settle('first')
  settle('second')
  fail('third')
  await over
  assert.equal(notes, ['undone', 'first'])
  assert.is(clock.pending, 0)
})

test('a wait settles with `late` at its deadline; a promise has no deadline', async () => {
  const first = wait()
  await first.clock.advance(99)
  assert.equal(first.notes, [])
  await first.clock.advance(1)
  assert.equal(first.notes, ['undone', 'late'])

  const second = wait()
  second.settle(new Promise((resolve) => second.clock.setTimeout(() => resolve('much later'), 1_000)))
  await second.clock.advance(1_000)
  assert.equal(second.notes, ['undone', 'much later'])
})

test('`late` runs before the undo, and settling inside it has no effect', async () => {
  const clock = createFakeClock()
  const waiting = new Set(['one'])
  let settle: Settle<string> = () => {}
  const late = (): string => {
    settle('by its own kill')
    return `late, with ${waiting.size} waiting`
  }
  const over = waitWithin<string>({ clock, ms: 100, late }, (resolve) => {
    settle = resolve
    return () => waiting.clear()
  })
  await clock.advance(100)
  assert.equal([await over, waiting.size], ['late, with 1 waiting', 0])
})

test('a wait of Infinity sets no timer', async () => {
  const { clock, notes, over, fail } = wait({ ms: Number.POSITIVE_INFINITY })
  assert.is(clock.pending, 0)
  fail('given up')
  await over
  assert.equal(notes, ['undone', 'failed: given up'])
})

test('a signal aborts a wait before or after it began, and its listener is removed', async () => {
  const controller = new AbortController()
  const { signal } = controller
  const many = Array.from({ length: 20 }, () => wait({ signal })) // more than Node would warn of
  many[0]?.settle('in time')
  assert.is(getEventListeners(signal, 'abort').length, 19)
  controller.abort('aborted')
  await Promise.all(many.map(({ over }) => over))
  assert.equal(many[0]?.notes, ['undone', 'in time'])
  assert.equal(many[1]?.notes, ['undone', 'failed: aborted'])
  assert.is(getEventListeners(signal, 'abort').length, 0)
  assert.is(many.map(({ clock }) => clock.pending).join(''), '0'.repeat(20))

  const late = wait({ signal })
  await late.over
  assert.equal(late.notes, ['failed: aborted']) // it was never begun
})

test('a wait that settles or throws at once needs no timer and is undone', async () => {
  const clock = createFakeClock()
  const notes: string[] = []
  const limits = { clock, ms: 100, late: () => 'late' }
  const settled = waitWithin<string>(limits, (resolve) => {
    resolve('at once')
    return () => notes.push('undone')
  })
  assert.is(clock.pending, 0)
  assert.is(await settled, 'at once')
  assert.equal(notes, ['undone'])
  const broken = waitWithin<string>(limits, () => {
    throw new Error('no beginning')
  })
  assert.is(await broken.catch(({ message }: Error) => message), 'no beginning')
  assert.is(clock.pending, 0)
})

test('a pause ends after its time, or with the first of its signals', async () => {
  const clock = createFakeClock()
  const signals = [new AbortController(), new AbortController()].map((each) => ({
    abort: () => each.abort(),
    signal: each.signal,
  }))
  const [first, second] = signals as [(typeof signals)[0], (typeof signals)[0]]
  const ended: string[] = []
  void pause(100, clock).then(() => ended.push('time'))
  void pause(1_000, clock, undefined, first.signal, second.signal).then(() => ended.push('signal'))
  await clock.advance(100)
  assert.equal(ended, ['time'])
  second.abort()
  await clock.advance(0)
  assert.equal(ended, ['time', 'signal'])
  await pause(1_000, clock, first.signal, second.signal) // one has aborted already
  assert.is(clock.pending, 0)
  assert.is(getEventListeners(first.signal, 'abort').length, 0)
})

test('work gets a TimeoutError at its deadline; its timer is cleared and unrefed', async () => {
  const clock = createFakeClock()
  const told = withDeadline(
    1_000,
    clock,
    (late) => new Promise((resolve) => (late.onabort = () => resolve(late))),
  )
  assert.is(await withDeadline(1_000, clock, async (late) => late.aborted), false)
  assert.is(clock.pending, 1)
  await clock.advance(1_000)
  assert.is(((await told) as AbortSignal).reason.name, 'TimeoutError')
  assert.is(clock.pending, 0)
  const timers: unknown[] = []
  const noted: Clock = {
    ...systemClock,
    setTimeout(fn, ms) {
      const timer = systemClock.setTimeout(fn, ms)
      timers.push(timer)
      return timer
    },
  }
  const holds = await withDeadline(60_000, noted, async () => (timers[0] as NodeJS.Timeout).hasRef())
  assert.is(holds, false)
})

test.run()
