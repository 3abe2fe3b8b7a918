import {
  type ActorRef,
  childSpec,
  defineActor,
  Registry,
  startActor,
  startSupervisor,
  subscribe,
} from '../../../runtime/index.js'
import { type Contender, heapPerItem, latch, median, ratePerSecond, worstTimerDelay } from '../measure.js'

const unbounded = 10_000_000

const counter = defineActor({
  name: 'counter',
  mailboxLimit: unbounded,
  init: () => ({ count: 0 }),
  call: {
    next: (state) => state.count++,
    nextLater: async (state) => state.count++,
  },
  cast: {
    add: (state, by: number) => {
      state.count += by
    },
    addLater: async (state, by: number) => {
      state.count += by
    },
  },
})

type Hop = { left: number; done: () => void }

const hopper = defineActor({
  name: 'hopper',
  mailboxLimit: unbounded,
  init: () => ({ next: undefined as undefined | ActorRef<never, { hop: (state: never, hop: Hop) => void }> }),
  cast: {
    to: (state, next: ActorRef<never, { hop: (state: never, hop: Hop) => void }>) => {
      state.next = next
    },
    hop: (state, hop: Hop) => {
      if (hop.left === 0) hop.done()
      else state.next?.cast('hop', { left: hop.left - 1, done: hop.done })
    },
  },
})

const family = defineActor({
  name: 'family',
  mailboxLimit: unbounded,
  trapExit: true,
  init: () => ({}),
  info: { exit: () => {} },
  call: {
    async raise(_, count: number, ctx) {
      const refs: ActorRef[] = []
      for (let i = 0; i < count; i++) refs.push((await ctx.start(counter)) as unknown as ActorRef)
      return refs
    },
    async raiseRing(_, count: number, ctx) {
      const first = await ctx.start(hopper)
      let last = first
      for (let i = 1; i < count; i++) {
        const next = await ctx.start(hopper)
        last.cast('to', next as never)
        last = next
      }
      last.cast('to', first as never)
      return first
    },
    async startAndStop(_, count: number, ctx) {
      const refs: ActorRef[] = []
      for (let i = 0; i < count; i++) refs.push((await ctx.start(counter)) as unknown as ActorRef)
      for (const ref of refs) ctx.exit(ref, { type: 'shutdown' })
    },
  },
})

const root = { logger: false } as const
const forever = { timeout: Number.POSITIVE_INFINITY }

/** This library, everything switched on: context, incarnation check, attribution, events with a subscriber. */
export const contender: Contender = {
  async cast_sync() {
    const ref = await startActor(counter, undefined, root)
    return ratePerSecond(1e6, async (count) => {
      for (let i = 0; i < count; i++) ref.cast('add', 1)
      await ref.call('next', undefined, forever)
    })
  },
  async cast_async() {
    const ref = await startActor(counter, undefined, root)
    return ratePerSecond(1e6, async (count) => {
      for (let i = 0; i < count; i++) ref.cast('addLater', 1)
      await ref.call('next', undefined, forever)
    })
  },
  async call_seq() {
    const ref = await startActor(counter, undefined, root)
    return ratePerSecond(3e5, async (count) => {
      for (let i = 0; i < count; i++) await ref.call('next')
    })
  },
  async call_100() {
    const ref = await startActor(counter, undefined, root)
    return ratePerSecond(3e5, async (count) => {
      for (let i = 0; i < count; i += 100) {
        const calls: Promise<number>[] = []
        for (let k = 0; k < 100; k++) calls.push(ref.call('next'))
        await Promise.all(calls)
      }
    })
  },
  async ring() {
    const parent = await startActor(family, undefined, root)
    const first = await parent.call('raiseRing', 100_000, forever)
    return ratePerSecond(1e6, async (count) => {
      const { promise, open } = latch()
      first.cast('hop', { left: count, done: open })
      await promise
    })
  },
  async start_stop() {
    const parent = await startActor(family, undefined, root)
    return ratePerSecond(1e5, (count) => parent.call('startAndStop', count, forever))
  },
  async idle_heap_bytes() {
    const parent = await startActor(family, undefined, root)
    return heapPerItem(1e5, (count) => parent.call('raise', count, forever))
  },
  async crash_ready_us() {
    let ready: (at: number) => void = () => {}
    const unsubscribe = subscribe('crash', () => {})
    const fragile = defineActor({
      name: 'fragile',
      init: () => {
        ready(performance.now())
        return {}
      },
      cast: {
        boom: () => {
          throw new Error('boom')
        },
      },
    })
    const registry = new Registry()
    const { ref } = await startSupervisor({
      strategy: 'one_for_one',
      intensity: 1_000_000,
      registry,
      logger: false,
      children: [childSpec(fragile, undefined, { name: 'fragile' })],
    })
    const times: number[] = []
    for (let i = 0; i < 1_100; i++) {
      let started = 0
      const at = await new Promise<number>((resolve) => {
        ready = resolve
        const child = registry.named<typeof fragile>('fragile').current
        started = performance.now()
        child?.cast('boom')
      })
      times.push((at - started) * 1_000)
      await new Promise((resolve) => setImmediate(resolve))
    }
    unsubscribe()
    ref.kill()
    return median(times.slice(100))
  },
  async timer_late_ms() {
    const ref = await startActor(counter, undefined, root)
    for (let i = 0; i < 30_000; i++) ref.cast('addLater', 1)
    await ref.call('next', undefined, forever)
    return worstTimerDelay(() => {
      for (let i = 0; i < 300_000; i++) ref.cast('addLater', 1)
      return () => ref.call('next', undefined, forever)
    })
  },
}
