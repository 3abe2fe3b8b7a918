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

/** How a stray error reached the process: a rejection nobody handled, or a throw nobody caught. */
export type StrayKind = 'rejection' | 'throw'

/** Whoever answers for stray errors of code that ran in its scope. */
export interface Owner {
  /** Takes the blame for an error that strayed from code of this owner. */
  fail(error: unknown, kind: StrayKind): void
}

/**
 * What the dead of a tree still do. Lives as long as any context of theirs, and so has no way back to the
 * tree.
 */
export interface Afterlife {
  /** The number of the tree. */
  readonly tree: number
  /** Effects of dead incarnations that were refused. */
  refused: number
  /** An error strayed from code of an owner that has ended. */
  late(error: unknown, kind: StrayKind, owner: string): void
}

/** A tree as containment sees it: the one who is told of errors that belong to nobody. */
export interface ContainedTree extends EndingTree {
  /**
   * Whether the program goes on for the sake of this tree when such an error comes, or when its main module
   * fails.
   */
  keepsProgram(isMain: boolean): boolean
  /**
   * An error strayed from code that runs in no scope of ours; with `exits` it ends the program. Answers
   * whether anybody hears of it.
   */
  unowned(error: unknown, kind: StrayKind, exits: boolean): boolean
}

/**
 * What async context carries: small, and without a way back to the owner or its tree once that has ended,
 * because sockets, timers and whatever others begin for good when they are first used keep their context
 * alive for as long as they live.
 */
export class OwnerToken {
  readonly name: string
  owner: Owner | null
  readonly afterlife: Afterlife | null
  /** True once effects of this owner are refused: it died, and did not just finish its work. */
  fenced = false

  constructor(name: string, owner: Owner, tree: { readonly afterlife: Afterlife } | null) {
    this.name = name
    this.owner = owner
    this.afterlife = tree?.afterlife ?? null
  }

  /** An error strayed from its code: the owner answers for it, as long as there is one. */
  blame(error: unknown, kind: StrayKind): void {
    if (this.owner !== null) this.owner.fail(error, kind)
    else this.afterlife?.late(error, kind, this.name)
  }

  end(fenced: boolean): void {
    this.owner = null
    this.fenced = fenced
  }
}

/**
 * Runs `fn` in the scope of an owner; what it starts (timers, promises, sockets) stays attributed to that
 * owner.
 */
export function runIn<A, B, R>(token: OwnerToken, fn: (a: A, b: B) => R, a: A, b: B): R {
  return processWide.scope.run(token, fn, a, b)
}

/**
 * Runs `fn` in no scope: events, lazy imports and shared connections must not belong to whoever needed them
 * first.
 */
export function outside<R>(fn: () => R): R {
  return processWide.scope.getStore() === undefined ? fn() : processWide.scope.run(undefined, fn)
}

/** The owner in whose scope the running code is, if any. */
export function currentOwner(): OwnerToken | undefined {
  return processWide.scope.getStore()
}

/** Runs `fn` in an owner's scope and lets the owner answer for a throw; returns undefined then. */
export function guard<R>(token: OwnerToken, fn: () => R): R | undefined {
  try {
    return processWide.scope.run(token, fn)
  } catch (error) {
    token.blame(error, 'throw')
    return undefined
  }
}

/**
 * As `guard`, for a callback that may have been given by code without an owner: its throw is then nobody's.
 */
export function answerFor(token: OwnerToken | undefined, fn: () => void): void {
  if (token !== undefined) return void guard(token, fn)
  try {
    outside(fn)
  } catch (error) {
    processWide.unowned(error, 'throw')
  }
}

/**
 * Runs `fn`, which tells subscribers of something: an error of theirs becomes a warning of Node and is
 * nobody's crash.
 */
export function tell(fn: () => void): void {
  processWide.scope.run(subscribers, fn)
}

const subscribers = new OwnerToken(
  'a subscriber',
  // not an event: the subscriber that cannot hear it would throw again, for ever
  { fail: warnings('CADUCEUS_SUBSCRIBER', 'a subscriber of runtime events failed') },
  null,
)

/** Makes warnings of Node of errors; of a flood of them only some, and how many there were. */
function warnings(code: string, what: string): (error: unknown) => void {
  const mayWarn = throttle(systemClock.now)
  return (error) => {
    const heldBack = mayWarn()
    if (heldBack === undefined) return
    const others = heldBack > 0 ? ` (and ${heldBack} before it)` : ''
    process.emitWarning(`${what}${others}: ${stackOf(error)}`, { code })
  }
}

/**
 * Carries an owner across a shared emitter: the returned function runs `fn` in the owner's scope whoever
 * calls it, and a throw fails the owner instead of the emitter.
 */
export function bindTo<Args extends unknown[], R>(
  token: OwnerToken,
  fn: (...args: Args) => R,
): (...args: Args) => R | undefined {
  return (...args) => guard(token, () => fn(...args))
}

/** Anything with `emit`, such as a request, a response or a socket. */
export interface EmitterLike {
  emit(event: string | symbol, ...args: unknown[]): boolean
}

/**
 * Makes every listener of an emitter run in the owner's scope: for a request or response that serves one
 * owner only.
 */
export function adopt(token: OwnerToken, emitter: EmitterLike): void {
  const emit = emitter.emit
  emitter.emit = (event, ...args) => guard(token, () => emit.call(emitter, event, ...args)) ?? true
}

/**
 * Puts a tree under containment until the returned function is called. One registration of process-wide
 * listeners serves all trees, and all copies of this library, in the process; it is taken back with the last
 * tree.
 */
export function contain(tree: ContainedTree): () => void {
  const { trees } = processWide
  if (trees.size === 0) processWide.install()
  trees.add(tree)
  return () => {
    if (trees.delete(tree) && trees.size === 0) processWide.uninstall()
  }
}

/** A number for a new tree, unique in this process of Node. */
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

/** How an error of nobody came. */
interface Circumstances {
  /** The program's entry module failed. */
  readonly isMain: boolean
  /** The host has a listener of its own: without us, Node would leave the matter to it. */
  readonly isHosts: boolean
}

const usual: Circumstances = Object.freeze({ isMain: false, isHosts: false })

const key = Symbol.for('caduceus.containment.2')

/** The one registration of this process, shared by every copy of this library that is loaded in it. */
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
    // without us Node would have told it and ended: it must not pass in silence
    else if (!isHeard && !isHosts && !isShown) warn(error)
  }
  const stray = (error: unknown, kind: StrayKind, circumstances: () => Circumstances): void => {
    const token = scope.getStore()
    if (token === undefined) return unowned(error, kind, circumstances())
    scope.run(undefined, () => token.blame(error, kind))
  }
  let announced: { readonly error: unknown } | undefined
  // With --unhandled-rejections=strict Node announces a rejection here as well, right before it comes as one.
  // That of the main module comes here alone.
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

/**
 * Whether a listener of the host has a rejection; one for throws alone is given it, as Node does where nobody
 * listens for rejections.
 */
function hostTakes(error: unknown, onThrow: unknown, onRejection: unknown): boolean {
  if (hostListeners('unhandledRejection', onRejection).length > 0) return true
  const others = hostListeners('uncaughtException', onThrow)
  if (others.length === 0 || !endsByRejection()) return false
  for (const listener of others) listener.call(process, error as Error, 'unhandledRejection')
  return true
}

/** Whether this Node was told to go on after a rejection that nobody handles. */
function endsByRejection(): boolean {
  const told = [...(process.env.NODE_OPTIONS ?? '').split(/\s+/), ...process.execArgv].join(' ')
  const [mode] = [...told.matchAll(/--unhandled-rejections[= ](\S+)/g)].map(([, value]) => value).slice(-1)
  return mode === undefined || mode === 'throw' || mode === 'strict'
}

/** Whether the listeners of `exit` run, after which nothing more does. */
function isExiting(): boolean {
  return (process as { _exiting?: boolean })._exiting === true
}
