import crypto from 'node:crypto'
import { syncBuiltinESMExports } from 'node:module'
import type { Native } from './native.js'
import { currentProgram, type Program } from './program.js'
import type { Step } from './simulator.js'

/**
 * Gives the code of others (undici, ws, jose, node:http) the time and chance of the simulation. What it asks
 * for is done by `host`, which never dies: such code shares timers among all who use it. The undo gives
 * everything back.
 */
export function takeGlobals(host: Program, native: Native): () => void {
  const undo: (() => void)[] = []
  const replace = (object: object, name: string, value: unknown): void => {
    const before = Object.getOwnPropertyDescriptor(object, name)
    Object.defineProperty(object, name, { value, configurable: true, writable: true, enumerable: true })
    undo.push(() => {
      if (before === undefined) Reflect.deleteProperty(object, name)
      else Object.defineProperty(object, name, before)
    })
  }
  const programOf = (): Program => currentProgram() ?? host
  replaceTimers(replace, host, programOf)
  replaceDates(
    replace,
    () => programOf().date(),
    () => host.world.now(),
  )
  replaceChance(replace, programOf)
  replaceSubtle(replace, native)
  syncBuiltinESMExports()
  return () => {
    for (const each of undo.reverse()) each()
    syncBuiltinESMExports()
  }
}

type Replace = (object: object, name: string, value: unknown) => void

function replaceTimers(replace: Replace, host: Program, programOf: () => Program): void {
  const start = (fn: (...args: unknown[]) => void, ms = 1, ...args: unknown[]): ForeignTimer =>
    new ForeignTimer(host, () => fn(...args), Number(ms) || 1)
  replace(globalThis, 'setTimeout', start)
  replace(globalThis, 'clearTimeout', (timer: unknown) => timer instanceof ForeignTimer && timer.clear())
  replace(
    globalThis,
    'setInterval',
    (fn: (...args: unknown[]) => void, ms: number, ...args: unknown[]) =>
      new ForeignTimer(host, () => fn(...args), Number(ms) || 1, true),
  )
  replace(globalThis, 'clearInterval', (timer: unknown) => timer instanceof ForeignTimer && timer.clear())
  replace(globalThis, 'setImmediate', (fn: (...args: unknown[]) => void, ...args: unknown[]) => {
    const program = programOf()
    // what many share (undici's tick) may have begun in a program that has died since
    const step = (program.phase === 'dead' ? host : program).soon('turn', () => fn(...args))
    return { ref: () => {}, unref: () => {}, hasRef: () => true, step }
  })
  replace(globalThis, 'clearImmediate', (immediate: { readonly step?: Step } | undefined) =>
    host.cancel(immediate?.step),
  )
}

/** What others get for a timer. It has no `refresh`: those who would use it start a new one. */
class ForeignTimer {
  readonly #host: Program
  #step: Step | undefined

  constructor(host: Program, fn: () => void, ms: number, again = false) {
    this.#host = host
    const begin = (): void => {
      this.#step = host.after(ms, 'foreign timer', () => {
        if (again) begin()
        fn()
      })
    }
    begin()
  }

  clear(): void {
    this.#host.cancel(this.#step)
  }

  ref(): this {
    return this
  }

  unref(): this {
    return this
  }
}

function replaceDates(replace: Replace, date: () => number, now: () => number): void {
  const Real = Date
  class SimulatedDate extends Real {
    constructor(...args: unknown[]) {
      super(...((args.length === 0 ? [date()] : args) as [number]))
    }

    static override now(): number {
      return date()
    }
  }
  replace(globalThis, 'Date', SimulatedDate)
  replace(performance, 'now', now)
}

function replaceChance(replace: Replace, programOf: () => Program): void {
  const bytes = (size: number): Buffer => programOf().world.randomBytes(size)
  const fill = <T extends NodeJS.ArrayBufferView>(view: T): T => {
    new Uint8Array(view.buffer, view.byteOffset, view.byteLength).set(bytes(view.byteLength))
    return view
  }
  const uuid = (): string => {
    const hex = bytes(16).toString('hex')
    const parts = [
      hex.slice(0, 8),
      hex.slice(8, 12),
      `4${hex.slice(13, 16)}`,
      `a${hex.slice(17, 20)}`,
      hex.slice(20),
    ]
    return parts.join('-')
  }
  replace(Math, 'random', () => programOf().world.random())
  replace(crypto, 'randomBytes', bytes)
  replace(crypto, 'randomFillSync', fill)
  replace(crypto, 'randomUUID', uuid)
  replace(crypto.webcrypto, 'getRandomValues', fill)
  replace(crypto.webcrypto, 'randomUUID', uuid)
}

/** Work that Node does on other threads comes back in the order in which it was asked for. */
function replaceSubtle(replace: Replace, native: Native): void {
  const { subtle } = crypto.webcrypto
  const prototype = Object.getPrototypeOf(subtle) as Record<string, unknown>
  for (const name of Object.getOwnPropertyNames(prototype)) {
    const method = prototype[name]
    if (typeof method !== 'function' || name === 'constructor') continue
    const real = method as (...args: unknown[]) => Promise<unknown>
    replace(subtle, name, (...args: unknown[]) => native.wait(() => real.apply(subtle, args)))
  }
}
