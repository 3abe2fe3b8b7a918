import { type FakeClock, systemWorld, type World } from 'caduceus/runtime'

/** The world of this machine at a moment that the test says. */
export function worldAt(now: number, date = 0): World {
  return { ...systemWorld, now: () => now, date: () => date }
}

/** The world of this machine at another time: that of a clock which keeps its own. */
export function worldOn(clock: FakeClock): World {
  return { ...systemWorld, cpu: () => clock.now(), ...clock }
}

type Drawn = 'date' | 'random' | 'randomBytes' | 'id' | 'setImmediate' | 'queueMicrotask'

/** What `drawnWorld` answers: who finds it elsewhere knows where it came from. */
export const drawn = Object.freeze({
  date: Date.UTC(2001, 1, 3),
  random: 0.25,
  byte: 0x5a,
  id: (n: number): string => `drawn-id-${String(n).padStart(12, '0')}`,
})

/** A world of known answers; it counts what was asked of it, and its clock is 1,000,000 s ahead. */
export function drawnWorld(): World & { readonly asked: Record<Drawn, number> } {
  const asked = { date: 0, random: 0, randomBytes: 0, id: 0, setImmediate: 0, queueMicrotask: 0 }
  return {
    ...systemWorld,
    asked,
    now: () => systemWorld.now() + 1_000_000_000,
    date() {
      asked.date += 1
      return drawn.date
    },
    random() {
      asked.random += 1
      return drawn.random
    },
    randomBytes(size) {
      asked.randomBytes += 1
      return Buffer.alloc(size, drawn.byte)
    },
    id() {
      asked.id += 1
      return drawn.id(asked.id)
    },
    setImmediate(fn) {
      asked.setImmediate += 1
      return systemWorld.setImmediate(fn)
    },
    queueMicrotask(fn) {
      asked.queueMicrotask += 1
      systemWorld.queueMicrotask(fn)
    },
  }
}
