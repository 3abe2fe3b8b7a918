import { guard, OwnerToken, runIn, type StrayKind } from '../faults/containment.js'
import { isError } from '../base/errors.js'
import { emit } from '../faults/events.js'
import { crash, type ExitReason, type ExitRequest, killed, noproc, shutdown } from '../base/exit.js'
import { Monitor } from './monitor.js'
import { disposeAll, withPatience } from './owned.js'
import type { ProcessRef } from './ref.js'
import type { Slot } from './slot.js'
import type { Tree } from './tree.js'
import { TurnoverSet } from '../base/turnover.js'

/** Releases one thing that a process owned. */
export type Release = () => void | Promise<void>

/** What only some processes have; made when first needed, so that an idle one stays small. */
export class Belongings {
  names: string[] = []
  owned: Release[] = []
  timers = new Set<{ clear(): void }>()
  watching = new Set<Monitor>()
  controller: AbortController | null = null
  /** The record of the child that a supervisor is starting right now. */
  startingSlot: Slot | null = null
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
    if (parent === null) tree.plant(this)
    else link(this, parent)
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

  get backlog(): number {
    return 0
  }

  /** What reports may show of its state. */
  get status(): unknown {
    return undefined
  }

  facts(): { tree: number; id: number; name: string } {
    return { tree: this.tree.id, id: this.id, name: this.name }
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
      for (const name of belongings.names) this.tree.registry.release(name, this, reason)
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
    const scope = closing(this)
    return disposeAll(
      this,
      owned.map((release) => () => runIn(scope, release, null, null)),
    )
  }

  #tellLinks(reason: ExitReason): void {
    const { links, parent } = this
    this.links = null
    if (links !== null) this.#signalLinked(links, reason)
    if (parent !== null && this.linkedToParent) {
      this.linkedToParent = false
      parent.links?.delete(this)
      // A task supervisor has nothing to decide about its tasks.
      if (this.kind !== 'task' || parent.kind !== 'supervisor') this.tree.pass(this, parent, reason)
    }
  }

  #signalLinked(links: TurnoverSet<Process>, reason: ExitReason): void {
    const leaving: Promise<unknown>[] = []
    for (const other of links) {
      const child = other.parent === this
      unlinkOneWay(other, this)
      if (!child) {
        this.tree.pass(this, other, reason)
        continue
      }
      // A process never outlives its parent, however the parent ended.
      const request = reason.type === 'normal' ? shutdown : reason
      if (this.#deep) this.tree.pass(this, other, request)
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

/**
 * Resolves with the reason when the process has ended; waits through a monitor, which no unlinking takes
 * away.
 */
export function whenEnded(process: Process): Promise<ExitReason> {
  if (process.reason !== null) return Promise.resolve(process.reason)
  return new Promise((resolve) => {
    process.monitors ??= new Set()
    process.monitors.add(new Monitor(process, null, resolve))
  })
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
