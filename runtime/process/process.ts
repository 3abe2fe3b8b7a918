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
import { emit, type WorkFacts, type NoticeEvent, type ProcessFacts, reportNumber } from '../faults/events.js'
import { waitWithin } from '../time/wait.js'
import { type Release, releaseAll } from './owned.js'
import type { Tree } from './tree.js'

/** State that only some processes need; made on demand to keep an idle one small. */
class ProcessExtras {
  names: readonly HeldName[] = []
  owned: Release[] | null = null
  readonly timers = new TurnoverSet<{ clear(): void }>()
  readonly watching = new TurnoverSet<Monitor>()
  controller: AbortController | null = null
  startingSlot: Slot | null = null
  /** Children that have ended, and still release what they owned. */
  leaving: Set<Process> | null = null

  /** It is cleared when the process ends. */
  keepTimer(timer: { clear(): void }): void {
    this.timers.add(timer)
  }
}

/** A name that a process holds. */
export interface HeldName {
  readonly name: string
  rise(): void
  lost(reason: ExitReason): void
  /** The next holder of the name starts after this. */
  leave(released: Promise<void>): void
}

/** The base of actors, supervisors and tasks; its death is immediate and final. */
export abstract class Process {
  readonly id: number
  readonly tree: Tree
  readonly parent: Process | null
  readonly token: OwnerToken
  abstract readonly ref: ProcessRef
  abstract readonly kind: 'actor' | 'supervisor' | 'task'
  reason: ExitReason | null = null
  slot: Slot | null = null
  /** A flag: a set of one would cost more than the rest of an idle actor. */
  linkedToParent = false
  links: TurnoverSet<Process> | null = null
  monitors: TurnoverSet<Monitor> | null = null
  extras: ProcessExtras | null = null
  /** Pending while what it and its children owned is released; its successor waits for this. */
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
    else
      tree.setRoot(this, (reason) => {
        this.stopWith(reason)
        return whenEnded(this)
      })
  }

  get name(): string {
    return this.token.name
  }

  /** Whether exit signals arrive as messages (OTP: trap_exit). */
  protected abstract readonly trapsExits: boolean

  protected abstract trapped(from: Process | null, reason: ExitReason): void

  /** First step of its death: fails those who wait. */
  protected abstract onEnd(reason: ExitReason): void

  /** Stops the process in order, as a parent would; runs `terminate`. */
  abstract stopWith(reason: ExitReason): void

  slots?(): Iterable<Slot>

  protected abstract readonly strayPolicy: 'crash' | 'report'

  fail(error: unknown, kind: StrayKind): void {
    const outcome = this.strayPolicy === 'crash' ? 'failed' : 'reported'
    emit('stray', () => ({ tree: this.tree.id, error, kind, owner: this.name, outcome }))
    if (outcome === 'failed') this.crashed(error, 'stray')
  }

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
      report: reportNumber(this.tree.id, this.id),
      reason,
      during,
      mailbox: this.backlog,
      status: this.status,
      about: this.about,
      ancestors: ancestors(this),
    }))
  }

  get backlog(): number {
    return 0
  }

  doing(): { readonly mailbox: number; readonly during: string } {
    return { mailbox: this.backlog, during: 'nothing' }
  }

  get status(): unknown {
    return undefined
  }

  /** What the report of its crash tells of its work. */
  get about(): WorkFacts | undefined {
    return undefined
  }

  facts(): ProcessFacts {
    return { tree: this.tree.id, id: this.id, name: this.name }
  }

  notice(notice: NoticeEvent['notice'], detail: unknown): void {
    emit('notice', () => ({ ...this.facts(), notice, detail }))
  }

  owns(release: Release): void {
    const { own } = this
    // sized: a push into an empty array makes room for 17
    if (own.owned === null) own.owned = [release]
    else own.owned.push(release)
  }

  get own(): ProcessExtras {
    this.extras ??= new ProcessExtras()
    return this.extras
  }

  /** Takes an exit signal (OTP: exit/2); `kill` cannot be trapped. */
  signal(from: Process | null, request: ExitRequest): void {
    if (this.reason !== null) return
    if (request.type === 'kill') return this.end(killed)
    if (this.trapsExits) return this.trapped(from, request)
    if (request.type !== 'normal' || from === this) this.end(request)
  }

  /** Whether this process ends, or has ended, with that child. */
  goesDownWith(child: Process): boolean {
    if (this.reason !== null) return true
    return child.linkedToParent && !this.trapsExits && child.reason?.type !== 'normal'
  }

  /** Dies at once and for good: this incarnation has no effect on others after this. */
  end(reason: ExitReason): void {
    if (this.reason !== null) return
    this.reason = reason
    // Completed even if a step throws: else callers and names would wait for ever.
    try {
      this.onEnd(reason)
    } finally {
      this.#conclude(reason)
    }
  }

  #conclude(reason: ExitReason): void {
    const { extras } = this
    if (extras !== null) {
      for (const name of extras.names) name.lost(reason)
      for (const timer of extras.timers) timer.clear()
      for (const monitor of extras.watching) monitor.cancel()
    }
    this.token.end(!(this.kind === 'task' && reason.type === 'normal'))
    if (extras !== null) this.#letGo(extras, reason)
    const { links } = this
    this.links = null
    // Before anybody is told: whoever ends with it has to know what is still to be released.
    if (links !== null) this.#endChildren(links, reason)
    if (this.released !== null) this.#leave(this.released, extras?.names ?? [])
    this.#tellLinks(links, reason)
    this.#tellMonitors(reason)
    if (this.slots !== undefined) for (const slot of this.slots()) slot.passNamesUp(reason)
    if (this.parent === null) this.tree.close()
  }

  #letGo(extras: ProcessExtras, reason: ExitReason): void {
    const { controller, owned, leaving } = extras
    if (controller !== null) guard(closing(this), () => controller.abort(abortReason(this.name, reason)))
    const releasing = owned === null ? null : this.release(owned)
    const all = [releasing, ...[...(leaving ?? [])].map(({ released }) => released)]
    this.released = leaving === null ? releasing : Promise.all(all).then(() => {})
    this.extras = null
  }

  /** Its parent, and whoever takes its names, wait until it is `released`. */
  #leave(released: Promise<void>, names: readonly HeldName[]): void {
    for (const name of names) name.leave(released)
    const { parent } = this
    // A parent that ends looks after its linked children itself.
    if (parent === null || parent.reason !== null) return
    parent.own.leaving ??= new Set()
    const { leaving } = parent.own
    leaving.add(this)
    void released.then(() => leaving.delete(this))
  }

  /** Null when there is nothing to wait for. */
  release(owned: Release[]): Promise<void> | null {
    const releasing = releaseAll(owned, closing(this), (error) => this.notice('cleanup_failed', error))
    return releasing === null ? null : withinCleanupTimeout(this, releasing)
  }

  /** A process never outlives its parent. */
  #endChildren(links: TurnoverSet<Process>, reason: ExitReason): void {
    const request = reason.type === 'normal' ? shutdown : reason
    const leaving: Promise<unknown>[] = []
    for (const child of links) {
      if (child.parent !== this) continue
      child.linkedToParent = false
      if (this.#deep) this.tree.pass(() => child.signal(this, request))
      else child.signal(this, request)
      const gone = whenGone(child)
      if (gone !== null) leaving.push(gone)
    }
    if (leaving.length > 0)
      this.released = withinCleanupTimeout(this, Promise.all([this.released, ...leaving]))
  }

  #tellLinks(links: TurnoverSet<Process> | null, reason: ExitReason): void {
    const { parent } = this
    for (const other of links ?? []) {
      if (other.parent === this) continue
      unlinkOneWay(other, this)
      this.tree.pass(() => other.signal(this, reason))
    }
    if (parent !== null && this.linkedToParent) {
      this.linkedToParent = false
      parent.links?.delete(this)
      // A task supervisor decides nothing about its tasks.
      if (this.kind !== 'task' || parent.kind !== 'supervisor')
        this.tree.pass(() => parent.signal(this, reason))
    }
  }

  /** Whether its children must wait for the stack to empty: many processes above it are ending, too. */
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

/** The scope of abort listeners and disposers of a dead process: not fenced, and strays are only reported. */
function closing(process: Process): OwnerToken {
  const token = new OwnerToken(process.name, process, process.tree)
  token.end(false)
  return token
}

/** Generations that end on one stack. */
const deepest = 64

/** Milliseconds that a successor waits for the release of what its predecessor owned. */
const cleanupTimeout = 5_000

/** Resolves when `releasing`, which never rejects, settles or took too long. */
function withinCleanupTimeout(process: Process, releasing: Promise<unknown>): Promise<void> {
  const late = (): void => process.notice('cleanup_timeout', cleanupTimeout)
  return waitWithin<void>({ clock: process.tree.clock, ms: cleanupTimeout, late }, (resolve) => {
    void releasing.then(() => resolve())
  })
}

/** Links two processes; symmetric and idempotent. If `b` is dead, `a` gets `noproc`. */
export function link(a: Process, b: Process): void {
  if (a === b) return
  if (b.reason !== null) return a.signal(b, noproc)
  linkOneWay(a, b)
  linkOneWay(b, a)
}

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

/** Resolves with the exit reason; unlinking does not affect it. */
export function whenEnded(process: Process): Promise<ExitReason> {
  if (process.reason !== null) return Promise.resolve(process.reason)
  return new Promise((resolve) => void monitor(process, null, resolve))
}

/** Null when it has ended and released all. */
function whenGone(process: Process): Promise<unknown> | null {
  if (process.reason !== null) return process.released
  return whenEnded(process).then(() => process.released)
}

function ancestors(process: Process): string[] {
  const names: string[] = []
  for (let at = process.parent; at !== null; at = at.parent) names.push(at.name)
  return names
}

export function abortReason(name: string, reason: ExitReason): Error {
  if (reason.type === 'crash' && isError(reason.error)) return reason.error
  const { stackTraceLimit } = Error
  // each call whose signal was read ends with one: a stack, of the runtime only, costs more than all else of it
  Reflect.set(Error, 'stackTraceLimit', 0)
  const error = Object.assign(new Error(`${name} has ended: ${reason.type}`), { name: 'AbortError' })
  Reflect.set(Error, 'stackTraceLimit', stackTraceLimit)
  return error
}

/** Tells once of the end of one process, unless cancelled (OTP: monitor). */
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

  fire(reason: ExitReason): void {
    if (!this.active) return
    this.#watcher?.extras?.watching.delete(this)
    this.#notify(reason, this)
  }

  /** No message after this, not even one in the mailbox already (OTP: demonitor with flush). */
  cancel(): void {
    this.active = false
    this.#target.monitors?.delete(this)
    this.#watcher?.extras?.watching.delete(this)
  }
}

/** Monitors a living process; without `watcher`, the monitor belongs to no process. */
export function monitor(
  target: Process,
  watcher: Process | null,
  notify: (reason: ExitReason, monitor: Monitor) => void,
): Monitor {
  const made = new Monitor(target, watcher, notify)
  target.monitors ??= new TurnoverSet()
  target.monitors.add(made)
  watcher?.own.watching.add(made)
  return made
}

/** Ends a waiting name with that reason, or has it wait in a slot further up. */
type SettleName = (reason: ExitReason, above: Slot | null) => void

/** A child's place; names of a dead child wait here as `starting` until the supervisor decides. */
export class Slot {
  readonly supervisor: Process
  /** False for a child that is never restarted: its names end with it. */
  returns: boolean
  /** The waiting names, each with the number of the incarnation that lost it. */
  #names: Map<HeldName, { readonly start: number; readonly settle: SettleName }> | null = null
  #starts = 0

  constructor(supervisor: Process, returns: boolean) {
    this.supervisor = supervisor
    this.returns = returns
  }

  keep(name: HeldName, settle: SettleName): void {
    this.#names ??= new Map()
    this.#names.set(name, { start: this.#starts, settle })
  }

  /** A new incarnation starts: names kept from now on are its own. */
  fill(): void {
    this.#starts += 1
  }

  /** The new incarnation is up: ends names of earlier ones; its own wait on. */
  settleEarlierNames(reason: ExitReason): void {
    for (const [name, { start, settle }] of this.#names ?? []) {
      if (start === this.#starts) continue
      this.#names?.delete(name)
      settle(reason, null)
    }
  }

  /** The child does not come back: ends all waiting names. */
  settleNames(reason: ExitReason): void {
    this.#settleAll(reason, null)
  }

  /** The supervisor has ended: its own supervisor decides about the names, if any. */
  passNamesUp(reason: ExitReason): void {
    this.#settleAll(reason, slotThatDecides(this.supervisor))
  }

  #settleAll(reason: ExitReason, above: Slot | null): void {
    const names = this.#names
    this.#names = null
    if (names !== null) for (const { settle } of names.values()) settle(reason, above)
  }
}

/** The nearest slot above a dead process whose living supervisor may restart it or its ancestor. */
export function slotThatDecides(process: Process): Slot | null {
  let slot = slotOf(process)
  while (slot?.returns && slot.supervisor.reason !== null) slot = slotOf(slot.supervisor)
  return slot?.returns === true ? slot : null
}

/** A process without a slot counts as part of the ancestor that it would take down. */
function slotOf(process: Process): Slot | null {
  let at = process
  while (at.slot === null && at.parent?.goesDownWith(at)) at = at.parent
  return at.slot
}

/** A reference to one incarnation of a process; it stays dead after its end. */
export class ProcessRef {
  readonly #process: Process

  constructor(process: Process) {
    this.#process = process
  }

  /** The process behind a reference; for the runtime itself. */
  static reveal(ref: ProcessRef): Process {
    return ref.#process
  }

  /** Unique within its tree; never reused. */
  get id(): number {
    return this.#process.id
  }

  /** The name of its behaviour or task. */
  get name(): string {
    return this.#process.name
  }

  get alive(): boolean {
    return this.#process.reason === null
  }

  /** Why it ended; undefined while it lives. */
  get reason(): ExitReason | undefined {
    return this.#process.reason ?? undefined
  }

  /**
   * Calls `fn` once with the reason when the process ends; with `noproc` in the next microtask if it had. The
   * returned function cancels it (OTP: monitor, demonitor with flush). A throw in `fn` crashes the owner that
   * called `onExit`. Throws BAD_OPTION.
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
    process.tree.world.queueMicrotask(() => watch.fire(noproc))
    return () => watch.cancel()
  }

  /**
   * Sends an exit signal (OTP: exit/2). `kill` cannot be trapped; `normal` ends no process that does not trap
   * exits. Throws BAD_OPTION, ACTOR_DEAD.
   */
  exit(request: ExitRequest): void {
    checkRequest(request, 'exit')
    fence(this.#process)
    this.#process.signal(null, request)
  }

  /** Ends the process at once; others see the reason `killed`. Throws ACTOR_DEAD. */
  kill(): void {
    this.exit(kill)
  }

  [inspect.custom](): string {
    const reason = this.#process.reason
    return `<${this.name} ${this.#process.tree.id}.${this.id}${reason === null ? '' : ` ended: ${reason.type}`}>`
  }
}

export function processOf(ref: ProcessRef): Process {
  if (ref instanceof ProcessRef) return ProcessRef.reveal(ref)
  // also of a registry: it finds whoever has the name when a message is sent
  const isName = typeof ref === 'string' || typeof (ref as { name?: unknown } | undefined)?.name === 'string'
  const hint = isName ? ': ctx.registry.whereis(name) is who has a name now' : ''
  throw optionError('ref', `expected a reference to a process, got ${show(ref)}${hint}`)
}

/** Throws ACTOR_DEAD, and counts it, in the scope of a dead incarnation. */
export function fence(target: Process): void {
  const owner = currentOwner()
  if (owner?.fenced === true) throw deadCaller(target, owner.name)
}

export function deadCaller(target: Process, name: string): RuntimeError {
  target.tree.afterlife.refused += 1
  return new RuntimeError(
    'ACTOR_DEAD',
    `${name} has ended: what it still does has no effect on ${target.name}`,
  )
}
