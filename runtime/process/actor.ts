import { messageOf } from '../base/errors.js'
import { crash, type ExitReason, killed } from '../base/exit.js'
import { isPromise } from '../base/promise.js'
import { TurnoverSet } from '../base/turnover.js'
import { outside, runIn } from '../faults/containment.js'
import { Mailbox } from '../time/mailbox.js'
import type { Runnable } from '../time/scheduler.js'
import { Call } from './call.js'
import { type Monitor, Process, type ProcessRef } from './process.js'
import { type Entry, type Program, Refusal } from './program.js'
import type { Tree } from './tree.js'

/** Passed in: the reference and the context are defined above the actor. */
interface ActorParts {
  readonly refTo: (actor: Actor) => ProcessRef
  readonly contextOf: (actor: Actor) => object
}

export class Actor extends Process implements Runnable {
  readonly behaviour: Program
  readonly ref: ProcessRef
  readonly ctx: object
  state: unknown = undefined
  queued = false
  phase: 'starting' | 'running' | 'suspended' | 'stopping' | 'ended' = 'starting'
  #busy = false
  #mailbox: Mailbox<Message> | null = null
  #current: Message | null = null
  #actorExtras: ActorExtras | null = null

  constructor(tree: Tree, parent: Process | null, behaviour: Program, { refTo, contextOf }: ActorParts) {
    super(tree, parent, behaviour.name)
    this.behaviour = behaviour
    this.ref = refTo(this)
    this.ctx = contextOf(this)
  }

  get kind(): 'actor' | 'supervisor' {
    return this.behaviour.kind
  }

  protected get trapsExits(): boolean {
    return this.behaviour.trapExit
  }

  protected get strayPolicy(): 'crash' | 'report' {
    return this.behaviour.stray
  }

  override get backlog(): number {
    return this.#mailbox?.length ?? 0
  }

  override doing(): { mailbox: number; during: string } {
    const entry = this.#current?.entry
    const during = entry === undefined ? 'nothing' : typeof entry === 'string' ? entry : entry.name
    return { mailbox: this.backlog, during: this.phase === 'running' ? during : this.phase }
  }

  /** Whether it handles a message: a call to itself could never be answered. */
  get handling(): boolean {
    return this.#current !== null
  }

  /** Whether it stands between two messages, and nothing has to be done before the next one. */
  get idle(): boolean {
    if (this.handling || this.#busy || this.#hasUrgent) return false
    return this.phase === 'suspended' || (this.phase === 'running' && this.backlog === 0)
  }

  /** Takes a message; false when it has ended or is full. */
  post(message: Message): boolean {
    if (this.reason !== null) return false
    if (this.backlog >= this.behaviour.mailboxLimit) return this.refuse()
    this.deliver(message)
    return true
  }

  /** Reported once until half of the mailbox is free again. */
  protected refuse(): false {
    const extras = this.actorExtras()
    if (!extras.full) this.notice('mailbox_full', this.behaviour.mailboxLimit)
    extras.full = true
    return false
  }

  /** Takes a message of the runtime, which is never refused. */
  deliver(message: Message): void {
    if (this.reason !== null) return
    this.#mailbox ??= new Mailbox()
    this.#mailbox.push(message)
    this.#queueUp()
  }

  /** Takes a request of the runtime: in its turn among the messages, and also while it is suspended. */
  request(what: SystemMessage, input: unknown): void {
    const message = new Message(what, input, null)
    if (this.phase !== 'suspended') return this.deliver(message)
    this.actorExtras().requests.push(message)
    this.#queueUp()
  }

  /** Sends a message to that info handler; without one it becomes a notice. */
  inform(kind: 'timer' | 'timeout' | 'down' | 'exit', input: unknown): void {
    const entry = this.behaviour.info[kind]
    if (entry === undefined) this.notice('unexpected_message', { kind, detail: input })
    else this.deliver(new Message(entry, input, null))
  }

  /** As `post`, for `ref.send`; without a handler it becomes a notice. */
  send(message: unknown): boolean {
    const entry = this.behaviour.info.message
    if (entry !== undefined) return this.post(new Message(entry, message, null))
    this.notice('unexpected_message', { kind: 'message', detail: message })
    return this.reason === null
  }

  run(budget: number): void {
    runIn(this.token, work, this, budget)
  }

  /** Handles messages until the budget is spent, the mailbox empty, a handler asynchronous or it ended. */
  work(budget: number): void {
    const { scheduler } = this.tree
    let left = budget
    // Not queued again while it works, when it sends to itself.
    this.queued = true
    while (left > 0 && this.#ready()) {
      const next = this.#next()
      if (next === undefined) break
      left--
      this.#handle(next)
      if (scheduler.spend()) break
    }
    this.queued = false
    if (this.#actorExtras?.full) this.#actorExtras.full = this.backlog * 2 > this.behaviour.mailboxLimit
    this.#queueUp()
  }

  #queueUp(): void {
    if (!this.queued && this.#ready()) this.tree.scheduler.enqueue(this)
  }

  #ready(): boolean {
    if (this.#busy) return false
    if (this.phase === 'running') return this.backlog > 0 || this.#hasUrgent
    return this.phase === 'suspended' && this.#hasUrgent
  }

  get #hasUrgent(): boolean {
    const extras = this.#actorExtras
    return extras !== null && (extras.continuations.length > 0 || extras.requests.length > 0)
  }

  /** Continuations come before waiting messages (OTP: handle_continue), and requests before a suspension, too. */
  #next(): Message | undefined {
    const extras = this.#actorExtras
    if (extras === null) return this.#mailbox?.shift()
    if (extras.continuations.length > 0) return new Message('continue', extras.continuations.shift(), null)
    return extras.requests.shift() ?? this.#mailbox?.shift()
  }

  #handle(message: Message): void {
    const { entry, input } = message
    if (entry === 'stop') return this.terminate(input as ExitReason)
    if (message.call !== null && !message.call.open) return
    if (entry === this.behaviour.info.down && !(input as { readonly monitor: Monitor }).monitor.active) return
    this.#current = message
    const extras = this.#actorExtras
    if (extras !== null && (extras.idle !== null || extras.observers !== null)) this.#notice(extras, message)
    try {
      const result =
        entry === 'continue' ? (input as () => unknown)() : entry.run(this.state, input, this.ctx)
      if (isPromise(result)) this.#await(result)
      else this.#done(result)
    } catch (error) {
      this.#failed(error)
    }
  }

  /** Clears the idle timer and tells observers. */
  #notice(extras: ActorExtras, message: Message): void {
    extras.idle?.clear()
    extras.idle = null
    if (extras.observers !== null) tellObservers(extras.observers, 'in', message)
  }

  #await(result: PromiseLike<unknown>): void {
    this.#busy = true
    const extras = this.actorExtras()
    extras.onDone ??= (value) => {
      if (this.#resume()) this.#done(value)
      this.#goOn()
    }
    extras.onFail ??= (error) => {
      if (this.#resume()) this.#failed(error)
      this.#goOn()
    }
    // A foreign thenable may settle twice.
    Promise.resolve(result).then(extras.onDone, extras.onFail)
  }

  /** An asynchronous handler has finished; false for a dead incarnation. */
  #resume(): boolean {
    this.#busy = false
    return this.reason === null
  }

  /** Goes on in the actor's scope, without a place in the run queue while the turn lasts. */
  #goOn(): void {
    if (this.queued || !this.#ready()) return
    const { scheduler } = this.tree
    const allowance = scheduler.allowance()
    if (allowance === 0) return scheduler.enqueue(this)
    this.work(allowance)
  }

  actorExtras(): ActorExtras {
    this.#actorExtras ??= new ActorExtras()
    return this.#actorExtras
  }

  #done(result: unknown): void {
    if (this.reason !== null) return
    const handled = this.#current
    const call = handled?.call
    this.#current = null
    const extras = this.#actorExtras
    if (call != null) {
      if (result instanceof Refusal) call.reject(result.error)
      else if (!(result instanceof Call || extras?.tookCall)) call.resolve(result)
    }
    if (extras === null) return
    extras.tookCall = false
    if (extras.observers !== null && handled != null) tellObservers(extras.observers, 'out', handled)
    if (extras.stopping !== null) this.terminate(extras.stopping)
  }

  #failed(error: unknown): void {
    if (this.reason !== null) return
    const { during } = this.doing()
    const { definition } = this.behaviour
    if (definition.terminate === undefined) return this.crashed(error, during)
    this.reportCrash(crash(error), during)
    this.terminate(crash(error))
  }

  /** Runs `terminate` within its time limit, and ends; an error in it becomes the reason. */
  terminate(reason: ExitReason): void {
    if (this.reason !== null || this.phase === 'stopping') return
    this.phase = 'stopping'
    const { terminate } = this.behaviour.definition
    if (terminate === undefined) return this.end(reason)
    const run = terminate as (state: unknown, reason: ExitReason, ctx: object) => unknown
    const failed = (error: unknown): void => {
      if (this.reason === null) this.crashed(error, 'terminate')
    }
    try {
      const result = runIn(this.token, () => run(this.state, reason, this.ctx), null, null)
      if (!isPromise(result)) return this.end(reason)
      this.#limitEnd()
      result.then(() => this.end(reason), failed)
    } catch (error) {
      failed(error)
    }
  }

  /** Kills after `terminateTimeout`, unless the parent sets the limit; never a supervisor. */
  #limitEnd(): void {
    const extras = this.actorExtras()
    if (extras.limited || extras.limitedByParent) return
    extras.limited = true
    if (this.kind === 'supervisor') return
    const { clock } = this.tree
    const { terminateTimeout } = this.behaviour
    const expire = (): void => {
      this.notice('cleanup_timeout', terminateTimeout)
      this.end(killed)
    }
    const timer = clock.setTimeout(expire, terminateTimeout)
    this.own.keepTimer({ clear: () => clock.clearTimeout(timer) })
  }

  stopWith(reason: ExitReason): void {
    if (this.reason !== null) return
    this.request('stop', reason)
  }

  /** Ends after the current message; at once when a callback asks between two messages. */
  stopAfter(reason: ExitReason): void {
    const extras = this.actorExtras()
    extras.stopping ??= reason
    const goes = this.phase === 'running' || this.phase === 'suspended'
    if (goes && this.#current === null) this.terminate(extras.stopping)
  }

  /** Suspends or resumes (OTP: sys:suspend). */
  suspend(suspended: boolean): void {
    if (this.phase === 'starting') this.actorExtras().suspends = suspended
    else if (this.phase === 'running' && suspended) this.#suspend()
    else if (this.phase === 'suspended' && !suspended) this.phase = 'running'
    this.#queueUp()
  }

  /** Requests that came before it are met first; after a stop there is nothing to suspend. */
  #suspend(): void {
    const waiting = this.#mailbox?.drain() ?? []
    const stops = waiting.some(({ entry }) => entry === 'stop')
    for (const message of waiting) {
      if (!stops && typeof message.entry === 'string') this.actorExtras().requests.push(message)
      else this.#mailbox?.push(message)
    }
    if (!stops) this.phase = 'suspended'
  }

  override get status(): unknown {
    const format = this.behaviour.definition.formatStatus as ((state: unknown) => unknown) | undefined
    if (format === undefined || this.state === undefined) return undefined
    try {
      return format(this.state)
    } catch (error) {
      return `formatStatus failed: ${messageOf(error)}`
    }
  }

  continueWith(fn: () => unknown): void {
    this.actorExtras().continuations.push(fn)
    this.#queueUp()
  }

  /** Defers the reply of the current call; undefined if there is none. */
  defer(): Call | undefined {
    const call = this.#current?.call ?? undefined
    if (call === undefined) return undefined
    const extras = this.actorExtras()
    extras.tookCall = true
    call.defer(extras.deferred)
    return call
  }

  /** `init` is done. If it asked to stop, the actor ends without `terminate` (OTP: {stop, Reason}). */
  started(state: unknown): void {
    if (this.#actorExtras?.stopping != null) return this.end(this.#actorExtras.stopping)
    this.state = state
    this.phase = 'running'
    if (this.#actorExtras?.suspends) this.#suspend()
    this.#queueUp()
  }

  protected trapped(from: Process | null, reason: ExitReason): void {
    if (from === this.parent) {
      // Only a living supervisor sets a limit of its own.
      this.actorExtras().limitedByParent = from?.kind === 'supervisor' && from.reason === null
      this.#limitEnd()
      return this.stopWith(reason)
    }
    this.inform('exit', { from: from?.ref ?? null, reason })
  }

  protected onEnd(reason: ExitReason): void {
    this.phase = 'ended'
    this.#current?.call?.fail(reason)
    this.#current = null
    if (this.#actorExtras !== null) for (const call of this.#actorExtras.deferred) call.fail(reason)
    if (this.#mailbox !== null) for (const message of this.#mailbox.drain()) message.call?.fail(reason)
    this.#mailbox = null
    this.#actorExtras = null
    // References may be kept for long after the end.
    if (this.kind === 'actor') this.state = undefined
  }
}

function work(actor: Actor, budget: number): void {
  actor.work(budget)
}

type SystemMessage = 'stop' | 'continue'

/** A message: its handler, its input, and the call that waits for a reply. */
export class Message {
  readonly entry: Entry | SystemMessage
  readonly input: unknown
  readonly call: Call | null

  constructor(entry: Entry | SystemMessage, input: unknown, call: Call | null) {
    this.entry = entry
    this.input = input
    this.call = call
  }
}

type Observer = (what: 'in' | 'out', kind: string, name: string, input: unknown) => void

/** State that only some actors need; made on demand to keep an idle one small. */
class ActorExtras {
  deferred = new TurnoverSet<Call>()
  tookCall = false
  continuations: (() => unknown)[] = []
  /** Of the runtime, to be met before messages and while it is suspended. */
  requests: Message[] = []
  /** The reason to end with after the current handler. */
  stopping: ExitReason | null = null
  full = false
  /** Once it is up. */
  suspends = false
  /** A living supervisor asked for the end and sets the limit. */
  limitedByParent = false
  limited = false
  idle: { clear(): void } | null = null
  observers: Set<Observer> | null = null
  onDone: ((value: unknown) => void) | null = null
  onFail: ((error: unknown) => void) | null = null
}

/** Runs observers in no scope, so that their errors crash no actor. */
function tellObservers(observers: Set<Observer>, what: 'in' | 'out', { entry, input }: Message): void {
  const [kind, name] = typeof entry === 'string' ? ['system', entry] : [entry.kind, entry.name]
  for (const observer of [...observers]) outside(() => observer(what, kind, name, input))
}
