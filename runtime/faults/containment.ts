import { AsyncLocalStorage } from 'node:async_hooks'
import { systemClock } from '../time/clock.js'
import { stackOf } from '../base/errors.js'
import {
  type EndingTree,
  endProgram,
  hostListeners,
  outsideDomain,
  print,
  showInRepl,
} from './program-end.js'
import { throttle } from '../base/throttle.js'

export type StrayKind = 'rejection' | 'throw'

/** Answers for stray errors of code that ran in its scope. */
export interface Owner {
  fail(error: unknown, kind: StrayKind): void
}

/** Counts effects of dead incarnations. Async contexts keep it alive, so it must not refer to the tree. */
export interface Afterlife {
  readonly tree: number
  refused: number
  late(error: unknown, kind: StrayKind, owner: string): void
}

/** A tree under containment. */
export interface ContainedTree extends EndingTree {
  /** Whether the tree keeps the program alive after such an error, or after its main module failed. */
  keepsProgram(isMain: boolean): boolean
  /** Reports an error without an owner; `exits`: it ends the program. Returns whether anybody listens. */
  unowned(error: unknown, kind: StrayKind, exits: boolean): boolean
}

/** The value in the async context. Sockets and timers keep it alive, so `end` cuts it from its owner. */
export class OwnerToken {
  readonly name: string
  owner: Owner | null
  readonly afterlife: Afterlife | null
  /** True once effects of this owner are refused; a task that finished is not fenced. */
  fenced = false

  constructor(name: string, owner: Owner, tree: { readonly afterlife: Afterlife } | null) {
    this.name = name
    this.owner = owner
    this.afterlife = tree?.afterlife ?? null
  }

  blame(error: unknown, kind: StrayKind): void {
    if (this.owner !== null) this.owner.fail(error, kind)
    else this.afterlife?.late(error, kind, this.name)
  }

  end(fenced: boolean): void {
    this.owner = null
    this.fenced = fenced
  }
}

/** Runs `fn` in an owner's scope; the timers, promises and sockets it starts belong to that owner. */
export function runIn<A, B, R>(token: OwnerToken, fn: (a: A, b: B) => R, a: A, b: B): R {
  return processWide.scope.run(token, fn, a, b)
}

/** Runs `fn` in no scope. Events, lazy imports and shared connections must not belong to their first user. */
export function outside<R>(fn: () => R): R {
  return processWide.scope.getStore() === undefined ? fn() : processWide.scope.run(undefined, fn)
}

export function currentOwner(): OwnerToken | undefined {
  return processWide.scope.getStore()
}

/** Runs `fn` in the owner's scope. A throw fails the owner, and the result is undefined. */
export function guard<R>(token: OwnerToken, fn: () => R): R | undefined {
  try {
    return processWide.scope.run(token, fn)
  } catch (error) {
    token.blame(error, 'throw')
    return undefined
  }
}

/** As `guard`; without a token the throw has no owner. */
export function answerFor(token: OwnerToken | undefined, fn: () => void): void {
  if (token !== undefined) return void guard(token, fn)
  try {
    outside(fn)
  } catch (error) {
    processWide.unowned(error, 'throw')
  }
}

/** Runs `fn`, which calls subscribers; their stray errors become warnings of Node. */
export function tell(fn: () => void): void {
  processWide.scope.run(subscribers, fn)
}

/** The same function, called as a subscriber is: what it throws becomes a warning of Node. */
export function subscriber<Event>(fn: (event: Event) => void): (event: Event) => void {
  return (event) => void guard(subscribers, () => fn(event))
}

const subscribers = new OwnerToken(
  'a subscriber',
  // not an event: the same subscriber would throw again, for ever
  { fail: warnings('CADUCEUS_SUBSCRIBER', 'a subscriber of runtime events failed') },
  null,
)

/** Warns through Node, throttled; a warning says how many were held back. */
function warnings(code: string, what: string): (error: unknown) => void {
  const mayWarn = throttle(systemClock.now)
  return (error) => {
    const heldBack = mayWarn()
    if (heldBack === undefined) return
    const others = heldBack > 0 ? ` (and ${heldBack} before it)` : ''
    process.emitWarning(`${what}${others}: ${stackOf(error)}`, { code })
  }
}

/** Binds `fn` to an owner's scope, whoever calls it. A throw fails the owner instead of the emitter. */
export function bindTo<Args extends unknown[], R>(
  token: OwnerToken,
  fn: (...args: Args) => R,
): (...args: Args) => R | undefined {
  return (...args) => guard(token, () => fn(...args))
}

interface EmitterLike {
  emit(event: string | symbol, ...args: unknown[]): boolean
}

/** Runs all listeners of an emitter in the owner's scope; for a request or response that serves one owner. */
export function adopt(token: OwnerToken, emitter: EmitterLike): void {
  const emit = emitter.emit
  emitter.emit = (event, ...args) => guard(token, () => emit.call(emitter, event, ...args)) ?? true
}

/** Contains a tree until the returned function is called. All trees share one registration of listeners. */
export function contain(tree: ContainedTree): () => void {
  const { trees } = processWide
  if (trees.size === 0) processWide.install()
  trees.add(tree)
  return () => {
    if (trees.delete(tree) && trees.size === 0) processWide.uninstall()
  }
}

/** All trees that live in this process of Node, oldest first; also those of another copy of this library. */
export function livingTrees(): Iterable<ContainedTree> {
  return processWide.trees
}

export function nextTreeId(): number {
  processWide.lastTree += 1
  return processWide.lastTree
}

interface ProcessWide {
  lastTree: number
  readonly scope: AsyncLocalStorage<OwnerToken | undefined>
  readonly trees: Set<ContainedTree>
  unowned(error: unknown, kind: StrayKind, circumstances?: Circumstances): void
  install(): void
  uninstall(): void
}

interface Circumstances {
  /** The main module failed. */
  readonly isMain: boolean
  /** The host has a listener of its own, to which Node would leave the error. */
  readonly isHosts: boolean
}

const usual: Circumstances = Object.freeze({ isMain: false, isHosts: false })

const key = Symbol.for('caduceus.containment.2')

/** Shared by every copy of this library in this process. */
const processWide: ProcessWide = existing() ?? create()

function existing(): ProcessWide | undefined {
  return (globalThis as { [key]?: ProcessWide })[key]
}

function create(): ProcessWide {
  const scope = new AsyncLocalStorage<OwnerToken | undefined>()
  const trees = new Set<ContainedTree>()
  const warn = warnings('CADUCEUS_STRAY', 'an error that belongs to nobody')
  let isEnding = false
  const uninstall = (): void => {
    process.off('uncaughtException', onThrow)
    process.off('unhandledRejection', onRejection)
  }
  const unowned = (error: unknown, kind: StrayKind, { isMain, isHosts }: Circumstances = usual): void => {
    const all = [...trees]
    const isShown = !isHosts && !isEnding && showInRepl(error, kind)
    const mayExit = !isHosts && !isEnding && !isShown && (isMain || kind === 'throw' || endsByRejection())
    const exits = mayExit && !all.some((tree) => tree.keepsProgram(isMain))
    isEnding ||= exits
    const isHeard = all.map((tree) => tree.unowned(error, kind, exits)).includes(true)
    if (exits && isExiting()) {
      print(error)
      process.exitCode = 1
    } else if (exits) endProgram(error, all, uninstall)
    // without us Node would have printed it and ended: it must not pass in silence
    else if (!isHeard && !isHosts && !isShown) warn(error)
  }
  const stray = (error: unknown, kind: StrayKind, circumstances: () => Circumstances): void => {
    const token = scope.getStore()
    if (token === undefined) return unowned(error, kind, circumstances())
    scope.run(undefined, () => token.blame(error, kind))
  }
  let announced: { readonly error: unknown } | undefined
  // With --unhandled-rejections=strict Node announces a rejection here first; that of the main module comes
  // here alone.
  const onThrow = (error: unknown, origin: string): void => {
    const isHosts = hostListeners('uncaughtException', onThrow).length > 0
    if (origin !== 'unhandledRejection') {
      // a CommonJS main module that throws is never loaded
      const isMain = process.mainModule?.loaded === false
      return stray(error, 'throw', () => ({ isMain, isHosts }))
    }
    const one = { error }
    announced = one
    setImmediate(() => {
      if (announced !== one) return
      announced = undefined
      unowned(error, 'rejection', { isMain: true, isHosts })
    })
  }
  const onRejection = (error: unknown): void => {
    announced = undefined
    stray(error, 'rejection', () => ({ isMain: false, isHosts: hostTakes(error, onThrow, onRejection) }))
  }
  const made: ProcessWide = {
    lastTree: 0,
    scope,
    trees,
    unowned,
    install() {
      // before listeners of the host, which may be there for one error only
      outsideDomain(() => process.prependListener('uncaughtException', onThrow))
      process.prependListener('unhandledRejection', onRejection)
    },
    uninstall,
  }
  Object.defineProperty(globalThis, key, { value: made })
  return made
}

/** Whether a listener of the host takes a rejection; as in Node, one for throws does if it is alone. */
function hostTakes(error: unknown, onThrow: unknown, onRejection: unknown): boolean {
  if (hostListeners('unhandledRejection', onRejection).length > 0) return true
  const others = hostListeners('uncaughtException', onThrow)
  if (others.length === 0 || !endsByRejection()) return false
  for (const listener of others) listener.call(process, error as Error, 'unhandledRejection')
  return true
}

/** Whether an unhandled rejection ends this program (`--unhandled-rejections`). */
function endsByRejection(): boolean {
  const told = [...(process.env.NODE_OPTIONS ?? '').split(/\s+/), ...process.execArgv].join(' ')
  const [mode] = [...told.matchAll(/--unhandled-rejections[= ](\S+)/g)].map(([, value]) => value).slice(-1)
  return mode === undefined || mode === 'throw' || mode === 'strict'
}

/** Nothing asynchronous runs after the `exit` listeners. */
function isExiting(): boolean {
  return (process as { _exiting?: boolean })._exiting === true
}
