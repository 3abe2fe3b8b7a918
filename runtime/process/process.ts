import { inspect } from 'node:util'
import { checkFunction } from '../base/check.js'
import { isError, optionError, RuntimeError, show } from '../base/errors.js'
import {
  checkRequest,
  crash,
  type ExitReason,
  type ExitRequest,
  kill,
  killed,
  noproc,
  shutdown,
} from '../base/exit.js'
import { TurnoverSet } from '../base/turnover.js'
import { answerFor, currentOwner, guard, OwnerToken, type StrayKind } from '../faults/containment.js'
import { emit, type NoticeEvent, type ProcessFacts } from '../faults/events.js'
import { waitWithin } from '../time/wait.js'
import { type Release, releaseAll } from './owned.js'
import type { Tree } from './tree.js'

/** What only some processes have; made when first needed, so that an idle one stays small. */
export class Belongings {
  names: HeldName[] = []
  owned: Release[] = []
  timers = new Set<{ clear(): void }>()
  watching = new Set<Monitor>()
  controller: AbortController | null = null
  /** The record of the child that a supervisor is starting right now. */
  startingSlot: Slot | null = null
}

/** A name that a process holds: it tells the registry when it is up, and when it has ended. */
export interface HeldName {
  readonly name: string
  readonly rise: () => void
  readonly lost: (reason: ExitReason) => void
}

/**
 * What actors, supervisors and tasks have in common: identity, links, monitors, exit signals, and a death
 * that is logical, immediate and final.
 */
export abstract class Process {
  readonly id: number
  readonly tree: Tree
  readonly parent: Process | null
  readonly token: OwnerToken
  abstract readonly ref: ProcessRef
  abstract readonly kind: 'actor' | 'supervisor' | 'task'
  /** Null while it lives. */
  reason: ExitReason | null = null
  /** The supervisor's record of it as a child, if a supervisor started it. */
  slot: Slot | null = null
  /** The link to the parent is a flag: a set of one would cost more than the rest of an idle actor. */
  linkedToParent = false
  links: TurnoverSet<Process> | null = null
  monitors: Set<Monitor> | null = null
  belongings: Belongings | null = null
  /** While what a dead process and its children owned is being released; its successor waits for this. */
  released: Promise<void> | null = null
  readonly startedAt: number

  constructor(tree: Tree, parent: Process | null, name: string) {
    this.id = tree.nextProcessId()
    this.tree = tree
    this.parent = parent
    this.token = new OwnerToken(name, this, tree)
    // Whole milliseconds: a fraction would cost an object of its own.
    this.startedAt = Math.trunc(tree.clock.now())
    if (parent !== null) link(this, parent)
    else tree.plant((reason) => this.#stopped(reason))
  }

  get name(): string {
    return this.token.name
  }

  /** Whether exit signals arrive as messages (OTP: trap_exit). */
  protected abstract readonly trapsExits: boolean

  /** Takes an exit signal while trapping exits. */
  protected abstract trapped(from: Process | null, reason: ExitReason): void

  /** Fails whoever waits for this process; called first thing in its death. */
  protected abstract onEnd(reason: ExitReason): void

  /** Ends the process in an orderly way from outside, as a parent would; `terminate` is run. */
  abstract stopWith(reason: ExitReason): void

  #stopped(reason: ExitReason): Promise<ExitReason> {
    this.stopWith(reason)
    return whenEnded(this)
  }

  /** The records of its children, if it is a supervisor. */
  slots?(): Iterable<Slot>

  protected abstract readonly strayPolicy: 'crash' | 'report'

  /** An error strayed from code this process ran (decided by scope): it answers for it, or only tells. */
  fail(error: unknown, kind: StrayKind): void {
    const outcome = this.strayPolicy === 'crash' ? 'failed' : 'reported'
    emit('stray', () => ({ tree: this.tree.id, error, kind, owner: this.name, outcome }))
    if (outcome === 'failed') this.crashed(error, 'stray')
  }

  /** Ends by an error of its own code. */
  crashed(error: unknown, during: string): void {
    const reason = crash(error)
    this.reportCrash(reason, during)
    this.end(reason)
  }

  reportCrash(reason: ExitReason, during: string): void {
    // Field by field: a spread of `facts()` costs 5 µs.
    emit('crash', () => ({
      tree: this.tree.id,
      id: this.id,
      name: this.name,
      reason,
      during,
      mailbox: this.backlog,
      status: this.status,
      ancestors: ancestors(this),
    }))
  }

  /** Messages that wait. */
  get backlog(): number {
    return 0
  }

  /** For people: what it does now and how much waits. */
  doing(): { readonly mailbox: number; readonly during: string } {
    return { mailbox: this.backlog, during: 'nothing' }
  }

  /** What reports may show of its state. */
  get status(): unknown {
    return undefined
  }

  facts(): ProcessFacts {
    return { tree: this.tree.id, id: this.id, name: this.name }
  }

  /** Tells of something that a person should know and that ended nobody. */
  notice(notice: NoticeEvent['notice'], detail: unknown): void {
    emit('notice', () => ({ ...this.facts(), notice, detail }))
  }

  get own(): Belongings {
    this.belongings ??= new Belongings()
    return this.belongings
  }

  /** An exit signal from another process, or from outside (OTP: exit/2). `kill` cannot be trapped. */
  signal(from: Process | null, request: ExitRequest): void {
    if (this.reason !== null) return
    if (request.type === 'kill') return this.end(killed)
    if (this.trapsExits) return this.trapped(from, request)
    if (request.type !== 'normal' || from === this) this.end(request)
  }

  /** Whether the end of a child of this process is, or is about to be, its own end. */
  goesDownWith(child: Process): boolean {
    if (this.reason !== null) return true
    return child.linkedToParent && !this.trapsExits && child.reason?.type !== 'normal'
  }

  /** Death: logical, immediate, once. Nothing of this incarnation has an effect on others afterwards. */
  end(reason: ExitReason): void {
    if (this.reason !== null) return
    this.reason = reason
    // A death is completed whatever comes up on the way: half a death would leave callers and names waiting
    // for ever.
    try {
      this.onEnd(reason)
    } finally {
      this.#conclude(reason)
    }
  }

  #conclude(reason: ExitReason): void {
    const { belongings } = this
    if (belongings !== null) {
      for (const name of belongings.names) name.lost(reason)
      for (const timer of belongings.timers) timer.clear()
      for (const monitor of belongings.watching) monitor.cancel()
    }
    this.token.end(!(this.kind === 'task' && reason.type === 'normal'))
    if (belongings !== null) this.#letGo(belongings, reason)
    this.#tellLinks(reason)
    this.#tellMonitors(reason)
    if (this.slots !== undefined) for (const slot of this.slots()) slot.passNamesUp(reason)
    if (this.parent === null) this.tree.fell()
  }

  #letGo(belongings: Belongings, reason: ExitReason): void {
    const { controller, owned } = belongings
    if (controller !== null) guard(closing(this), () => controller.abort(abortReason(this.name, reason)))
    if (owned.length > 0) this.released = this.release(owned)
    this.belongings = null
  }

  /** Releases what this process owned, once it is dead. Answers null when nothing had to be waited for. */
  release(owned: Release[]): Promise<void> | null {
    const releasing = releaseAll(owned, closing(this), (error) => this.notice('cleanup_failed', error))
    return releasing === null ? null : withPatience(this, releasing)
  }

  #tellLinks(reason: ExitReason): void {
    const { links, parent } = this
    this.links = null
    if (links !== null) this.#signalLinked(links, reason)
    if (parent !== null && this.linkedToParent) {
      this.linkedToParent = false
      parent.links?.delete(this)
      // A task supervisor has nothing to decide about its tasks.
      if (this.kind !== 'task' || parent.kind !== 'supervisor')
        this.tree.pass(() => parent.signal(this, reason))
    }
  }

  #signalLinked(links: TurnoverSet<Process>, reason: ExitReason): void {
    const leaving: Promise<unknown>[] = []
    for (const other of links) {
      const child = other.parent === this
      unlinkOneWay(other, this)
      if (!child) {
        this.tree.pass(() => other.signal(this, reason))
        continue
      }
      // A process never outlives its parent, however the parent ended.
      const request = reason.type === 'normal' ? shutdown : reason
      if (this.#deep) this.tree.pass(() => other.signal(this, request))
      else other.signal(this, request)
      const gone = whenGone(other)
      if (gone !== null) leaving.push(gone)
    }
    if (leaving.length > 0) this.released = withPatience(this, Promise.all([this.released, ...leaving]))
  }

  /**
   * Whether so many processes above it have ended with it that its children must wait for the stack to empty.
   */
  get #deep(): boolean {
    let left = deepest
    for (let at = this.parent; at !== null && at.reason !== null; at = at.parent)
      if (left-- === 0) return true
    return false
  }

  #tellMonitors(reason: ExitReason): void {
    const { monitors } = this
    if (monitors === null) return
    this.monitors = null
    for (const monitor of monitors) monitor.fire(reason)
  }
}

/**
 * Abort listeners and disposers are the last will of a process: errors that stray from them are only
 * reported, and what they send is not refused as the effect of a dead incarnation.
 */
function closing(process: Process): OwnerToken {
  const token = new OwnerToken(process.name, process, process.tree)
  token.end(false)
  return token
}

/** How many generations end on one stack. */
const deepest = 64

/** Milliseconds until the successor of a dead process no longer waits for what that one owned. */
const patience = 5_000

/** Resolves when `releasing`, which never rejects, is done or has been waited for long enough. */
function withPatience(process: Process, releasing: Promise<unknown>): Promise<void> {
  const late = (): void => process.notice('cleanup_timeout', patience)
  return waitWithin<void>({ clock: process.tree.clock, ms: patience, late }, (resolve) => {
    void releasing.then(() => resolve())
  })
}

/** Links two processes; symmetric and idempotent. A link to a dead one gives `noproc` to the caller. */
export function link(a: Process, b: Process): void {
  if (a === b) return
  if (b.reason !== null) return a.signal(b, noproc)
  linkOneWay(a, b)
  linkOneWay(b, a)
}

/** Takes a link away: no exit signal passes between the two any more. */
export function unlink(a: Process, b: Process): void {
  unlinkOneWay(a, b)
  unlinkOneWay(b, a)
}

function linkOneWay(a: Process, b: Process): void {
  if (a.parent === b) a.linkedToParent = true
  else {
    a.links ??= new TurnoverSet()
    a.links.add(b)
  }
}

function unlinkOneWay(a: Process, b: Process): void {
  if (a.parent === b) a.linkedToParent = false
  else a.links?.delete(b)
}

/** Resolves with the reason when the process has ended; the monitor behind it outlives any unlinking. */
export function whenEnded(process: Process): Promise<ExitReason> {
  if (process.reason !== null) return Promise.resolve(process.reason)
  return new Promise((resolve) => void monitor(process, null, resolve))
}

/** Null when it has ended and holds nothing any more. */
function whenGone(process: Process): Promise<unknown> | null {
  if (process.reason !== null) return process.released
  return whenEnded(process).then(() => process.released)
}

/** The names from the process's parent up to the root. */
export function ancestors(process: Process): string[] {
  const names: string[] = []
  for (let at = process.parent; at !== null; at = at.parent) names.push(at.name)
  return names
}

/** Why the signal of a process that has ended is aborted. */
export function abortReason(name: string, reason: ExitReason): Error {
  if (reason.type === 'crash' && isError(reason.error)) return reason.error
  return Object.assign(new Error(`${name} has ended: ${reason.type}`), { name: 'AbortError' })
}

/** One watch on one process: tells of its end exactly once, or never once it is cancelled (OTP: monitor). */
export class Monitor {
  readonly #target: Process
  readonly #watcher: Process | null
  readonly #notify: (reason: ExitReason, monitor: Monitor) => void
  active = true

  constructor(
    target: Process,
    watcher: Process | null,
    notify: (reason: ExitReason, monitor: Monitor) => void,
  ) {
    this.#target = target
    this.#watcher = watcher
    this.#notify = notify
  }

  /** The process is gone: tells the watcher. */
  fire(reason: ExitReason): void {
    if (!this.active) return
    this.#watcher?.belongings?.watching.delete(this)
    this.#notify(reason, this)
  }

  /** No news after this, not even what is in the watcher's mailbox already (OTP: demonitor with flush). */
  cancel(): void {
    this.active = false
    this.#target.monitors?.delete(this)
    this.#watcher?.belongings?.watching.delete(this)
  }
}

/** Watches a living process, for `watcher` or for nobody in particular. */
export function monitor(
  target: Process,
  watcher: Process | null,
  notify: (reason: ExitReason, monitor: Monitor) => void,
): Monitor {
  const made = new Monitor(target, watcher, notify)
  target.monitors ??= new Set()
  target.monitors.add(made)
  watcher?.own.watching.add(made)
  return made
}

/** Settles a name that waits: it ends with that reason, or waits on in a slot further up. */
type SettleName = (reason: ExitReason, above: Slot | null) => void

/**
 * A place under a supervisor that outlives the processes that fill it. Names of a dead child wait here, in
 * the state `starting`, until the supervisor has decided: taken again by the next incarnation, or ended.
 */
export class Slot {
  readonly supervisor: Process
  /** False for a child that is never restarted: its names end with it. */
  returns: boolean
  /** The names that wait, each with the start of the place since which it does. */
  #names: Map<HeldName, { readonly start: number; readonly settle: SettleName }> | null = null
  #starts = 0

  constructor(supervisor: Process, returns: boolean) {
    this.supervisor = supervisor
    this.returns = returns
  }

  /** Lets a name wait here until `settle` is called. */
  keep(name: HeldName, settle: SettleName): void {
    this.#names ??= new Map()
    this.#names.set(name, { start: this.#starts, settle })
  }

  /** The place is about to be filled again: names that come from now on are those of the new incarnation. */
  fill(): void {
    this.#starts += 1
  }

  /** The new incarnation is up: names of earlier ones have ended, those that it lost itself wait on. */
  settleEarlierNames(reason: ExitReason): void {
    for (const [name, { start, settle }] of this.#names ?? []) {
      if (start === this.#starts) continue
      this.#names?.delete(name)
      settle(reason, null)
    }
  }

  /** The decision has fallen: whatever name nobody took again has ended. */
  settleNames(reason: ExitReason): void {
    this.#settleAll(reason, null)
  }

  /** The supervisor itself is gone: its own supervisor decides about the names, or nobody does. */
  passNamesUp(reason: ExitReason): void {
    this.#settleAll(reason, slotThatDecides(this.supervisor))
  }

  #settleAll(reason: ExitReason, above: Slot | null): void {
    const names = this.#names
    this.#names = null
    if (names !== null) for (const { settle } of names.values()) settle(reason, above)
  }
}

/** The nearest slot above a dead process whose supervisor lives and may start it, or its ancestor, again. */
export function slotThatDecides(process: Process): Slot | null {
  let slot = slotOf(process)
  while (slot?.returns && slot.supervisor.reason !== null) slot = slotOf(slot.supervisor)
  return slot?.returns === true ? slot : null
}

/** A process that no supervisor started counts as part of the ancestor that it would take down. */
function slotOf(process: Process): Slot | null {
  let at = process
  while (at.slot === null && at.parent?.goesDownWith(at)) at = at.parent
  return at.slot
}

/** Stands for one incarnation of a process: after its end it stays dead; a restart makes another one. */
export class ProcessRef {
  readonly #process: Process

  constructor(process: Process) {
    this.#process = process
  }

  /** The process behind a reference; for the runtime itself. */
  static reveal(ref: ProcessRef): Process {
    return ref.#process
  }

  /** Unique within its tree, and never used again. */
  get id(): number {
    return this.#process.id
  }

  /** The name of its behaviour, or what the task was called. */
  get name(): string {
    return this.#process.name
  }

  /** Whether it has not ended yet. */
  get alive(): boolean {
    return this.#process.reason === null
  }

  /** Why it ended; undefined while it lives. */
  get reason(): ExitReason | undefined {
    return this.#process.reason ?? undefined
  }

  /**
   * Calls `fn` exactly once when the process has ended, with the reason; `noproc` in the next microtask if it
   * already had. The returned function takes the watch back: no call after that (OTP: monitor, demonitor with
   * flush). A throw in `fn` is the crash of whoever watches. Throws BAD_OPTION.
   */
  onExit(fn: (reason: ExitReason) => void): () => void {
    checkFunction(fn, 'onExit')
    const process = this.#process
    const owner = currentOwner()
    const tell = (reason: ExitReason): void => answerFor(owner, () => fn(reason))
    if (process.reason === null) {
      const watch = monitor(process, null, tell)
      return () => watch.cancel()
    }
    const watch = new Monitor(process, null, tell)
    queueMicrotask(() => watch.fire(noproc))
    return () => watch.cancel()
  }

  /**
   * Sends an exit signal (OTP: exit/2): `kill` cannot be trapped, `normal` is ignored by processes that do
   * not trap exits.
   */
  exit(request: ExitRequest): void {
    checkRequest(request, 'exit')
    fence(this.#process)
    this.#process.signal(null, request)
  }

  /** Ends the process at once, whatever it is doing; others see the reason `killed`. */
  kill(): void {
    this.exit(kill)
  }

  [inspect.custom](): string {
    const reason = this.#process.reason
    return `<${this.name} ${this.#process.tree.id}.${this.id}${reason === null ? '' : ` ended: ${reason.type}`}>`
  }
}

/** The process behind a reference; for the runtime itself. Throws BAD_OPTION. */
export function processOf(ref: ProcessRef): Process {
  if (ref instanceof ProcessRef) return ProcessRef.reveal(ref)
  throw optionError('ref', `expected a reference to a process, got ${show(ref)}`)
}

/** Throws ACTOR_DEAD for code that runs in the scope of a dead incarnation, and counts it. */
export function fence(target: Process): void {
  const owner = currentOwner()
  if (owner?.fenced === true) throw deadCaller(target, owner.name)
}

/** The error for what the dead incarnation `name` would still do to `target`. */
export function deadCaller(target: Process, name: string): RuntimeError {
  target.tree.afterlife.refused += 1
  return new RuntimeError(
    'ACTOR_DEAD',
    `${name} has ended: what it still does has no effect on ${target.name}`,
  )
}
