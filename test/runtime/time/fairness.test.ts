import * as assert from 'uvu/assert'
import { type ActorRef, defineActor } from 'caduceus/runtime'
import { cpuTime } from '../../support/allowance.mjs'
import { suite } from '../../support/suite.js'
import { deferred, start, turn } from '../_actors.js'

const test = suite('fairness')

/** Counts turns of the event loop and what a 1 ms timer sees, until the answered function is called; `worst` is the most work between two ticks. */
function watchLoop() {
  const seen = { turns: 0, ticks: 0, worst: 0 }
  let stopped = false
  let last = cpuTime()
  const count = (): void => {
    seen.turns += 1
    if (!stopped) setImmediate(count)
  }
  const tick = (): void => {
    const now = cpuTime()
    seen.worst = Math.max(seen.worst, now - last)
    last = now
    seen.ticks += 1
    if (!stopped) setTimeout(tick, 1)
  }
  setImmediate(count)
  setTimeout(tick, 1)
  return () => {
    stopped = true
    seen.worst = Math.max(seen.worst, cpuTime() - last)
    return seen
  }
}

function burn(ms: number): void {
  const end = performance.now() + ms
  while (performance.now() < end) {
    // A handler that computes.
  }
}

/** An actor that tells when it has handled so many messages, each in the given way. */
function sink(count: number, work: () => unknown) {
  const done = deferred()
  const behaviour = defineActor({
    name: 'sink',
    mailboxLimit: Number.POSITIVE_INFINITY,
    init: () => ({ left: count }),
    cast: {
      take(state) {
        state.left -= 1
        if (state.left === 0) done.resolve()
        return work()
      },
    },
  })
  return { behaviour, done: done.promise }
}

test('a 1 ms timer is served while 300,000 messages drain', async (t) => {
  const { behaviour, done } = sink(300_000, () => undefined)
  const ref = await start(t, behaviour)
  const seen = watchLoop()
  for (let i = 0; i < 300_000; i++) ref.cast('take')
  await done
  const { turns, ticks, worst } = seen()
  assert.ok(turns >= 140, `${turns} turns of the event loop`)
  assert.ok(ticks >= 3, `${ticks} ticks`)
  assert.ok(worst < 500, `${worst} ms of work between two ticks`)
})

test('a 1 ms timer is served while 100,000 messages with asynchronous handlers drain', async (t) => {
  const { behaviour, done } = sink(100_000, () => Promise.resolve())
  const ref = await start(t, behaviour)
  const seen = watchLoop()
  for (let i = 0; i < 100_000; i++) ref.cast('take')
  await done
  const { turns, ticks } = seen()
  assert.ok(turns >= 45, `${turns} turns of the event loop`)
  assert.ok(ticks >= 3, `${ticks} ticks`)
})

test('heavy handlers leave the event loop its share: time counts, not only messages', async (t) => {
  const { behaviour, done } = sink(100, () => burn(1))
  const ref = await start(t, behaviour)
  const seen = watchLoop()
  for (let i = 0; i < 100; i++) ref.cast('take')
  await done
  // 100 ms of work, 4 messages in a turn of 2 ms; without looking it would be 1
  const { turns } = seen()
  assert.ok(turns >= 20, `${turns} turns of the event loop`)
})

test('of messages that each take long, one is handled in a turn of the event loop', async (t) => {
  for (const work of [() => burn(10), async () => burn(10)]) {
    const { behaviour, done } = sink(10, work)
    const ref = await start(t, behaviour)
    const seen = watchLoop()
    for (let i = 0; i < 10; i++) ref.cast('take')
    await done
    const { turns } = seen()
    assert.ok(turns >= 8, `${turns} turns of the event loop`)
  }
})

test('heavy async handlers and many busy actors leave turns to the event loop', async (t) => {
  const { behaviour, done } = sink(100, async () => burn(1))
  const ref = await start(t, behaviour)
  const seen = watchLoop()
  for (let i = 0; i < 100; i++) ref.cast('take')
  await done
  assert.ok(seen().turns >= 4, `${seen().turns} turns of the event loop`)
  const all = deferred()
  const state = { left: 100 }
  const small = defineActor({
    name: 'small',
    init: () => ({}),
    cast: {
      take() {
        burn(1)
        state.left -= 1
        if (state.left === 0) all.resolve()
      },
    },
  })
  const host = defineActor({
    name: 'host',
    init: async (_: undefined, ctx) => ({
      refs: await Promise.all(Array.from({ length: 100 }, () => ctx.start(small))),
    }),
    call: { refs: ({ refs }) => refs },
  })
  const refs = await (await start(t, host, undefined)).call('refs')
  const many = watchLoop()
  for (const ref of refs) ref.cast('take')
  await all.promise
  assert.ok(many().turns >= 4, `${many().turns} turns of the event loop`)
})

test('actors take turns: a long mailbox does not delay a single message', async (t) => {
  const order: string[] = []
  const { behaviour, done } = sink(50_000, () => undefined)
  const quick = defineActor({ name: 'quick', init: () => ({}), call: { ask: () => order.push('quick') } })
  const host = defineActor({
    name: 'host',
    init: async (_: undefined, ctx) => ({ busy: await ctx.start(behaviour), quick: await ctx.start(quick) }),
    call: { parts: (state) => state },
  })
  const parts = await (await start(t, host, undefined)).call('parts')
  for (let i = 0; i < 50_000; i++) parts.busy.cast('take')
  const asked = parts.quick.call('ask')
  void done.then(() => order.push('busy'))
  await Promise.all([asked, done])
  await turn()
  assert.equal(order, ['quick', 'busy'])
})

test('a ping-pong of two actors does not starve the event loop', async (t) => {
  const done = deferred()
  const player = defineActor({
    name: 'player',
    init: () => ({}),
    info: {
      message(_, ball) {
        const { left, to, from } = ball as { left: number; to: ActorRef; from: ActorRef }
        if (left === 0) done.resolve()
        else to.send({ left: left - 1, to: from, from: to })
      },
    },
  })
  const [a, b] = [await start(t, player), await start(t, player)]
  const seen = watchLoop()
  a.send({ left: 50_000, to: b, from: a })
  await done.promise
  assert.ok(seen().turns >= 10, `${seen().turns} turns of the event loop`)
})

test.run()
