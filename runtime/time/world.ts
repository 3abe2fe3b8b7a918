import { randomBytes } from 'node:crypto'
import { nanoid } from 'nanoid'
import { optionError } from '../base/errors.js'
import { type Clock, systemClock } from './clock.js'

/**
 * Every source of nondeterminism: time, turns of the event loop, chance. A tree has no other; inject a seeded
 * one to replay. Functions of a plain object need no `this`.
 */
export interface World extends Clock {
  /** Milliseconds since 1970, whole; it jumps where the clock of the machine is set. */
  date(): number
  /** Milliseconds of processor time that this program has used. Default for a clock of one's own: as `now`. */
  cpu(): number
  /** Runs `fn` in one of the next turns of the event loop, after what was asked for before it. */
  setImmediate(fn: () => void): unknown
  /** Cancels what waits for its turn; harmless when it has already run. */
  clearImmediate(immediate: unknown): void
  /** Runs `fn` before the event loop turns. */
  queueMicrotask(fn: () => void): void
  /** From 0 to 1, without 1. Anybody may guess it. */
  random(): number
  /** As many bytes, which nobody can guess. */
  randomBytes(size: number): Buffer
  /** 21 letters, digits, `-` and `_`, which nobody can guess. */
  id(): string
  /** Which actor is next. Default: they take turns as messages come. */
  readonly order?: Order
}

/** Draws the order of the actors of a tree; whatever it draws, a tree keeps its promises. */
export interface Order {
  /** Which of so many actors is next, from 0. */
  next(waiting: number): number
  /** How many messages it handles in one go, at least 1. */
  messages(): number
}

/** The world of this machine. */
export const systemWorld: World = Object.freeze({
  ...systemClock,
  date: () => Date.now(),
  cpu: tellsCpu() ? cpu : systemClock.now,
  setImmediate: (fn: () => void) => setImmediate(fn),
  clearImmediate: (immediate: unknown) => clearImmediate(immediate as NodeJS.Immediate),
  queueMicrotask: (fn: () => void) => queueMicrotask(fn),
  random: () => Math.random(),
  randomBytes: (size: number) => randomBytes(size),
  id,
})

/** Workers of Cloudflare throw. */
function tellsCpu(): boolean {
  try {
    return cpu() >= 0
  } catch {
    return false
  }
}

function cpu(): number {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1_000
}

/** Flat: put together letter by letter, V8 keeps it as 17 parts, for as long as it is somebody's key. */
function id(): string {
  return Buffer.from(nanoid(), 'latin1').toString('latin1')
}

/** Reads the option `clock`: the whole of it, or a clock, or nothing. Throws BAD_OPTION. */
export function readWorld(clock: Clock | undefined): World {
  if (clock === undefined) return systemWorld
  const { now, setTimeout, clearTimeout } = (clock ?? {}) as Partial<Clock>
  if ([now, setTimeout, clearTimeout].every((method) => typeof method === 'function')) return worldOf(clock)
  throw optionError('clock', 'clock: expected an object with now, setTimeout and clearTimeout')
}

/** A whole world for one that may be a clock only, or of a class: the rest is of this machine. */
export function worldOf(clock: Clock): World {
  if (isPlain(clock)) return clock
  const { grain = 0, order } = clock as Partial<World>
  const own = functionsOf(clock)
  return { ...systemWorld, ...(own.now && { cpu: own.now }), ...own, grain, ...(order && { order }) }
}

function isPlain(clock: Clock): clock is World {
  return names.every((name) => Object.hasOwn(clock, name))
}

/** By themselves, without `this`: they are copied. */
function functionsOf(clock: Partial<World>): Partial<World> {
  const given = names.filter((name) => typeof clock[name] === 'function')
  return Object.fromEntries(given.map((name) => [name, (clock[name] as () => unknown).bind(clock)]))
}

const names = Object.keys(systemWorld).filter((name) => name !== 'grain') as Exclude<
  keyof World,
  'grain' | 'order'
>[]
