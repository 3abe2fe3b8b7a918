import type { World } from 'caduceus/runtime'

type Source = Exclude<keyof World, 'grain' | 'order'>

/** A world that counts what is asked of it. */
export type CountedWorld = World & { readonly asked: Readonly<Record<Source, number>> }

interface Outcome<T> {
  readonly result: T
  /** Sources of Node that were used all the same, with the line that did. */
  readonly used: readonly string[]
}

/**
 * Does `work` while the process has no other source of time or chance than the world it is given: those of
 * Node throw, and are noted.
 */
export async function withOnlyWorld<T>(
  work: (world: CountedWorld) => Promise<T>,
  more: Partial<World> = {},
): Promise<Outcome<T>> {
  const world = countedWorld(more)
  const used: string[] = []
  const restore = places.map(({ holder, name }) => take(holder, name, used))
  try {
    return { result: await work(world), used }
  } finally {
    for (const give of restore) give()
  }
}

interface Place {
  readonly holder: object
  readonly name: string
}

const places: readonly Place[] = [
  ...['setTimeout', 'setInterval', 'setImmediate', 'clearTimeout', 'clearInterval', 'clearImmediate'].map(
    global,
  ),
  ...['queueMicrotask', 'Date', 'WeakRef', 'FinalizationRegistry'].map(global),
  { holder: Math, name: 'random' },
  { holder: performance, name: 'now' },
  { holder: process, name: 'hrtime' },
  { holder: process, name: 'uptime' },
  { holder: AbortSignal, name: 'timeout' },
  { holder: crypto, name: 'randomUUID' },
  { holder: crypto, name: 'getRandomValues' },
]

function global(name: string): Place {
  return { holder: globalThis, name }
}

/** `new Date(value)` reads no clock. */
function take(holder: object, name: string, used: string[]): () => void {
  const before = Object.getOwnPropertyDescriptor(holder, name)
  const original = Reflect.get(holder, name) as (...args: unknown[]) => unknown
  const refuse = (what: string): never => {
    const error = new Error(`${what} is no world`)
    used.push(error.stack ?? what)
    throw error
  }
  const value = new Proxy(original, {
    apply: () => refuse(name),
    construct: (target, args: unknown[]) =>
      args.length === 0 || name !== 'Date' ? refuse(`new ${name}`) : Reflect.construct(target, args),
    get: (target, key) =>
      name === 'Date' && key === 'now' ? () => refuse('Date.now') : Reflect.get(target, key),
  })
  Object.defineProperty(holder, name, { value, configurable: true, writable: true })
  return () => {
    if (before === undefined) Reflect.deleteProperty(holder, name)
    else Object.defineProperty(holder, name, before)
  }
}

/** Taken now: a world that asks for them later would find those that throw. */
const real = {
  now: performance.now.bind(performance),
  date: Date.now,
  cpu: () => 0,
  setTimeout: globalThis.setTimeout,
  clearTimeout: globalThis.clearTimeout,
  setImmediate: globalThis.setImmediate,
  clearImmediate: globalThis.clearImmediate,
  queueMicrotask: globalThis.queueMicrotask,
}

function countedWorld(more: Partial<World>): CountedWorld {
  let drawn = 0
  const next = (): number => {
    drawn += 1
    return drawn
  }
  const functions: Omit<World, 'grain' | 'order'> = {
    now: () => real.now(),
    date: () => real.date(),
    cpu: () => real.cpu(),
    setTimeout: (fn, ms) => real.setTimeout(fn, ms),
    clearTimeout: (timer) => real.clearTimeout(timer as NodeJS.Timeout),
    setImmediate: (fn) => real.setImmediate(fn),
    clearImmediate: (immediate) => real.clearImmediate(immediate as NodeJS.Immediate),
    queueMicrotask: (fn) => real.queueMicrotask(fn),
    random: () => 0.5,
    randomBytes: (size) => Buffer.alloc(size, next()),
    id: () => `of-the-test-${String(next()).padStart(9, '0')}`,
  }
  const asked = Object.fromEntries(Object.keys(functions).map((name) => [name, 0])) as Record<Source, number>
  const counted = Object.entries(functions).map(([name, fn]) => [
    name,
    (...args: unknown[]) => {
      asked[name as Source] += 1
      return (fn as (...args: unknown[]) => unknown)(...args)
    },
  ])
  return { ...(Object.fromEntries(counted) as Omit<World, 'grain' | 'order'>), ...more, asked }
}
