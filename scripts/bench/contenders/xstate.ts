import { createActor, fromCallback, fromPromise, fromTransition, setup } from 'xstate'
import { type Contender, heapPerItem, latch, median, ratePerSecond } from '../measure.js'

type Add = { type: 'add'; by: number } | { type: 'ask'; reply: (count: number) => void }

const counter = fromTransition((count: number, event: Add) => {
  if (event.type === 'add') return count + event.by
  event.reply(count)
  return count + 1
}, 0)

/**
 * xstate 5 actors. Delivery is a synchronous function call into an idle target: no mailbox figure for async handlers, no reply
 * (a callback in the event stands in), and a ring overflows the stack beyond a few hundred actors.
 */
export const contender: Contender = {
  cast_sync() {
    const actor = createActor(counter).start()
    return ratePerSecond(1e6, (count) => {
      for (let i = 0; i < count; i++) actor.send({ type: 'add', by: 1 })
    })
  },
  call_seq() {
    const actor = createActor(counter).start()
    return ratePerSecond(3e5, async (count) => {
      for (let i = 0; i < count; i++) await new Promise<number>((reply) => actor.send({ type: 'ask', reply }))
    })
  },
  call_100() {
    const actor = createActor(counter).start()
    return ratePerSecond(3e5, async (count) => {
      for (let i = 0; i < count; i += 100) {
        const calls: Promise<number>[] = []
        for (let k = 0; k < 100; k++) calls.push(new Promise((reply) => actor.send({ type: 'ask', reply })))
        await Promise.all(calls)
      }
    })
  },
  ring() {
    type Hop = { type: 'hop'; left: number }
    const size = 300
    let done = latch()
    const actors: { send(event: Hop): void }[] = []
    for (let i = 0; i < size; i++) {
      const hop = fromCallback<Hop>(({ receive }) => {
        receive(({ left }) => {
          if (left === 0) done.open()
          else if (left % 250 === 0)
            queueMicrotask(() => actors[(i + 1) % size]?.send({ type: 'hop', left: left - 1 }))
          else actors[(i + 1) % size]?.send({ type: 'hop', left: left - 1 })
        })
      })
      actors.push(createActor(hop).start())
    }
    return ratePerSecond(2e5, (count) => {
      done = latch()
      actors[0]?.send({ type: 'hop', left: count })
      return done.promise
    })
  },
  start_stop() {
    return ratePerSecond(5e4, (count) => {
      const actors = Array.from({ length: count }, () => createActor(counter).start())
      for (const actor of actors) actor.stop()
    })
  },
  idle_heap_bytes() {
    return heapPerItem(2e4, (count) => Array.from({ length: count }, () => createActor(counter).start()))
  },
  async crash_ready_us() {
    let ready: (at: number) => void = () => {}
    let crash: () => void = () => {}
    const fragile = fromPromise(
      () =>
        new Promise((_, reject) => {
          crash = () => reject(new Error('boom'))
          ready(performance.now())
        }),
    )
    const machine = setup({ actors: { fragile } }).createMachine({
      initial: 'up',
      states: { up: { invoke: { src: 'fragile', onError: { target: 'up', reenter: true } } } },
    })
    const actor = createActor(machine).start()
    const times: number[] = []
    for (let i = 0; i < 1_100; i++) {
      let started = 0
      const at = await new Promise<number>((resolve) => {
        ready = resolve
        started = performance.now()
        crash()
      })
      times.push((at - started) * 1_000)
      await new Promise((resolve) => setImmediate(resolve))
    }
    actor.stop()
    return median(times.slice(100))
  },
}
