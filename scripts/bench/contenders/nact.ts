import nact from 'nact'
import { type Contender, heapPerItem, latch, median, ratePerSecond, worstTimerDelay } from '../measure.js'

interface Message {
  by?: number
  done?: () => void
  sender?: unknown
  next?: unknown
  left?: number
}

const { dispatch, query, spawn, start, stop } = nact as unknown as {
  start(): unknown
  spawn(
    parent: unknown,
    handler: (state: never, message: Message, ctx: { reset: unknown }) => unknown,
    name: string,
    options?: object,
  ): unknown
  dispatch(ref: unknown, message: unknown): void
  query(ref: unknown, message: (sender: unknown) => unknown, timeout: number): Promise<unknown>
  stop(ref: unknown): void
}

/** nact 7: Akka style actors. */
export const contender: Contender = {
  cast_sync: () =>
    castRate((sum, message) => (message.done ? finish(message.done) : sum + (message.by ?? 0))),
  cast_async: () =>
    castRate(async (sum, message) => (message.done ? finish(message.done) : sum + (message.by ?? 0))),
  async call_seq() {
    const server = replier()
    return ratePerSecond(5e4, async (count) => {
      for (let i = 0; i < count; i++) await query(server, (sender) => ({ sender }), 5_000)
    })
  },
  async call_100() {
    const server = replier()
    return ratePerSecond(5e4, async (count) => {
      for (let i = 0; i < count; i += 100) {
        const calls: Promise<unknown>[] = []
        for (let k = 0; k < 100; k++) calls.push(query(server, (sender) => ({ sender }), 5_000))
        await Promise.all(calls)
      }
    })
  },
  async ring() {
    const system = start()
    let done = latch()
    const hop = (state: unknown, message: Message): unknown => {
      if (message.next !== undefined) return message.next
      if (message.left === 0) done.open()
      else dispatch(state, { left: (message.left ?? 0) - 1 })
      return state
    }
    const refs = Array.from({ length: 100_000 }, (_, i) => spawn(system, hop as never, `a${i}`))
    refs.forEach((ref, i) => {
      dispatch(ref, { next: refs[(i + 1) % refs.length] })
    })
    await query(replier(), (sender) => ({ sender }), 60_000)
    return ratePerSecond(2e5, (count) => {
      done = latch()
      dispatch(refs[0], { left: count })
      return done.promise
    })
  },
  async start_stop() {
    const system = start()
    let made = 0
    return ratePerSecond(1e5, async (count) => {
      const refs: unknown[] = []
      for (let i = 0; i < count; i++) refs.push(spawn(system, (state) => state, `a${made++}`))
      for (const ref of refs) stop(ref)
      await new Promise((resolve) => setImmediate(resolve))
    })
  },
  async idle_heap_bytes() {
    const system = start()
    return heapPerItem(1e5, (count) =>
      Array.from({ length: count }, (_, i) => spawn(system, (state) => state, `a${i}`)),
    )
  },
  async crash_ready_us() {
    const system = start()
    let ready: (at: number) => void = () => {}
    const fragile = spawn(
      system,
      () => {
        throw new Error('boom')
      },
      'fragile',
      {
        initialStateFunc: () => {
          ready(performance.now())
          return {}
        },
        onCrash: (_message: unknown, _error: unknown, ctx: { reset: unknown }) => ctx.reset,
      },
    )
    const times: number[] = []
    for (let i = 0; i < 1_100; i++) {
      let started = 0
      const at = await new Promise<number>((resolve) => {
        ready = resolve
        started = performance.now()
        dispatch(fragile, {})
      })
      times.push((at - started) * 1_000)
      await new Promise((resolve) => setImmediate(resolve))
    }
    return median(times.slice(100))
  },
  async timer_late_ms() {
    const system = start()
    const sum = spawn(
      system,
      (async (state = 0, message: Message) => (message.done ? finish(message.done) : state + 1)) as never,
      'sum',
    )
    return worstTimerDelay(() => {
      const { promise, open } = latch()
      for (let i = 0; i < 300_000; i++) dispatch(sum, { by: 1 })
      dispatch(sum, { done: open })
      return () => promise
    })
  },
}

function castRate(handler: (sum: number, message: Message) => unknown): Promise<number> {
  const sum = spawn(start(), ((state = 0, message: Message) => handler(state, message)) as never, 'sum')
  return ratePerSecond(5e5, (count) => {
    const { promise, open } = latch()
    for (let i = 0; i < count; i++) dispatch(sum, { by: 1 })
    dispatch(sum, { done: open })
    return promise
  })
}

function replier(): unknown {
  const reply = (state = 0, { sender }: Message): number => {
    dispatch(sender, state)
    return state + 1
  }
  return spawn(start(), reply as never, 'server')
}

function finish(done: () => void): number {
  done()
  return 0
}
