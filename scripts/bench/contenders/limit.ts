import { type Contender, heapPerItem, latch, ratePerSecond, worstTimerDelay } from '../measure.js'

interface Box {
  queue: { by: number; reply?: (value: number) => void }[]
  count: number
}

/** What the scheduling primitives of Node cost by themselves: one queue, one microtask that drains it, nothing else. */
export const contender: Contender = {
  cast_sync() {
    const box = newBox()
    let done = latch()
    const drain = drainer(box, () => done.open())
    return ratePerSecond(1e6, async (count) => {
      done = latch()
      for (let i = 0; i < count; i++) drain.send({ by: 1 })
      await done.promise
    })
  },
  cast_async() {
    const handle = async (sum: number, by: number): Promise<number> => sum + by
    return ratePerSecond(1e6, async (count) => {
      const queue: { by: number }[] = []
      for (let i = 0; i < count; i++) queue.push({ by: 1 })
      let sum = 0
      for (const message of queue) sum = await handle(sum, message.by)
    })
  },
  call_seq() {
    const drain = drainer(newBox(), () => {})
    return ratePerSecond(1e6, async (count) => {
      for (let i = 0; i < count; i++) await new Promise<number>((reply) => drain.send({ by: 1, reply }))
    })
  },
  call_100() {
    const drain = drainer(newBox(), () => {})
    return ratePerSecond(1e6, async (count) => {
      for (let i = 0; i < count; i += 100) {
        const calls: Promise<number>[] = []
        for (let k = 0; k < 100; k++) calls.push(new Promise((reply) => drain.send({ by: 1, reply })))
        await Promise.all(calls)
      }
    })
  },
  ring() {
    const size = 100_000
    let run: { to: number; left: number }[] = []
    let scheduled = false
    let done = latch()
    const turn = (): void => {
      scheduled = false
      const batch = run
      run = []
      for (const { to, left } of batch) {
        if (left === 0) done.open()
        else send((to + 1) % size, left - 1)
      }
    }
    const send = (to: number, left: number): void => {
      run.push({ to, left })
      if (scheduled) return
      scheduled = true
      queueMicrotask(turn)
    }
    return ratePerSecond(1e6, (count) => {
      done = latch()
      send(0, count)
      return done.promise
    })
  },
  start_stop() {
    return ratePerSecond(1e5, (count) => {
      const live = new Map<number, Box>()
      for (let i = 0; i < count; i++) live.set(i, newBox())
      for (let i = 0; i < count; i++) live.delete(i)
    })
  },
  idle_heap_bytes() {
    return heapPerItem(1e5, (count) => {
      const live = new Map<number, object>()
      for (let i = 0; i < count; i++)
        live.set(i, { id: i, queue: [], state: { count: 0 }, links: null, monitors: null })
      return live
    })
  },
  timer_late_ms() {
    const handle = async (sum: number, by: number): Promise<number> => sum + by
    return worstTimerDelay(() => async () => {
      let sum = 0
      for (let i = 0; i < 300_000; i++) sum = await handle(sum, 1)
    })
  },
}

function newBox(): Box {
  return { queue: [], count: 0 }
}

function drainer(box: Box, drained: () => void): { send(message: Box['queue'][number]): void } {
  let scheduled = false
  const drain = (): void => {
    scheduled = false
    const batch = box.queue
    box.queue = []
    for (const { by, reply } of batch) {
      box.count += by
      reply?.(box.count)
    }
    drained()
  }
  return {
    send(message) {
      box.queue.push(message)
      if (scheduled) return
      scheduled = true
      queueMicrotask(drain)
    },
  }
}
