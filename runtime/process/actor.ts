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

/** How an actor looks from outside, and what its handlers are given: both are made of it, by files above. */
export interface Faces {
  readonly refTo: (actor: Actor) => ProcessRef
  readonly contextOf: (actor: Actor) => object
}

/** A process with a state and a mailbox, which handles one message at a time. */
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
  #rare: Rare | null = null

  constructor(tree: Tree, parent: Process | null, behaviour: Program, { refTo, contextOf }: Faces) {
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

  /** Whether it is in the middle of a message, so that a call to itself could never be answered. */
  get handling(): boolean {
    return this.#current !== null
  }

  /** Takes a message from outside; false when it is gone or full. */
  post(message: Message): boolean {
    if (this.reason !== null) return false
    if (this.backlog >= this.behaviour.mailboxLimit) return this.#refuse()
    this.deliver(message)
    return true
  }

  /** A message too many: reported once until half of the mailbox is free again. */
  #refuse(): false {
    const rare = this.sometimes()
    if (!rare.full) this.notice('mailbox_full', this.behaviour.mailboxLimit)
    rare.full = true
    return false
  }

  /** Takes a message of the runtime itself: those are never refused. */
  deliver(message: Message): void {
    if (this.reason !== null) return
    this.#mailbox ??= new Mailbox()
    this.#mailbox.push(message)
    this.#queueUp()
  }

  /** News from the runtime: a message to the handler of that kind, or a notice when there is none. */
  inform(kind: 'timer' | 'timeout' | 'down' | 'exit', input: unknown): void {
    const entry = this.behaviour.info[kind]
    if (entry === undefined) this.notice('unexpected_message', { kind, detail: input })
    else this.deliver(new Message(entry, input, null))
  }

  /** Anything that `ref.send` is given; as `post`, but without a handler it becomes a notice. */
  send(message: unknown): boolean {
    const entry = this.behaviour.info.message
    if (entry !== undefined) return this.post(new Message(entry, message, null))
    this.notice('unexpected_message', { kind: 'message', detail: message })
    return this.reason === null
  }

  run(budget: number): number {
    return runIn(this.token, work, this, budget)
  }

  /**
   * Handles messages until the budget is spent, the mailbox empty, a handler asynchronous, or the actor gone.
   */
  work(budget: number): number {
    const { scheduler } = this.tree
    let handled = 0
    // Stands for its place in the run queue while it works, so that a message to itself does not queue it
    // twice.
    this.queued = true
    while (handled < budget && !this.#busy && this.phase === 'running') {
      const next = this.#next()
      if (next === undefined) break
      handled++
      this.#handle(next)
      if ((handled & lookMask) === 0 && scheduler.late()) break
    }
    this.queued = false
    if (this.#rare?.full) this.#rare.full = this.backlog * 2 > this.behaviour.mailboxLimit
    this.#queueUp()
    return handled
  }

  #queueUp(): void {
    if (!this.queued && this.#ready()) this.tree.scheduler.enqueue(this)
  }

  #ready(): boolean {
    if (this.#busy || this.phase !== 'running') return false
    return this.backlog > 0 || (this.#rare !== null && this.#rare.continuations.length > 0)
  }

  /** What a handler asked to continue with comes before anything that waits (OTP: handle_continue). */
  #next(): Message | undefined {
    const rare = this.#rare
    if (rare === null || rare.continuations.length === 0) return this.#mailbox?.shift()
    return new Message('continue', rare.continuations.shift(), null)
  }

  #handle(message: Message): void {
    const { entry, input } = message
    if (entry === 'stop') return this.terminate(input as ExitReason)
    if (message.call !== null && !message.call.open) return
    if (entry === this.behaviour.info.down && !(input as { readonly monitor: Monitor }).monitor.active) return
    this.#current = message
    const rare = this.#rare
    if (rare !== null && (rare.idle !== null || rare.observers !== null)) this.#notice(rare, message)
    try {
      const result =
        entry === 'continue' ? (input as () => unknown)() : entry.run(this.state, input, this.ctx)
      if (isPromise(result)) this.#await(result)
      else this.#done(result)
    } catch (error) {
      this.#failed(error)
    }
  }

  /** A message has come: nobody has been idle, and those who look on are told. */
  #notice(rare: Rare, message: Message): void {
    rare.idle?.clear()
    rare.idle = null
    if (rare.observers !== null) tellObservers(rare.observers, 'in', message)
  }

  #await(result: PromiseLike<unknown>): void {
    this.#busy = true
    const rare = this.sometimes()
    rare.onDone ??= (value) => {
      if (this.#resume()) this.#done(value)
      this.#goOn()
    }
    rare.onFail ??= (error) => {
      if (this.#resume()) this.#failed(error)
      this.#goOn()
    }
    // A foreign thenable may settle twice; a promise is taken as it is.
    Promise.resolve(result).then(rare.onDone, rare.onFail)
  }

  /** An asynchronous handler has finished; for a dead incarnation that is of no consequence. */
  #resume(): boolean {
    this.#busy = false
    return this.reason === null
  }

  /**
   * In the actor's scope already, so the next messages need no place in the run queue while the turn lasts.
   */
  #goOn(): void {
    if (this.queued || !this.#ready()) return
    const { scheduler } = this.tree
    const allowance = scheduler.allowance()
    if (allowance === 0) return scheduler.enqueue(this)
    scheduler.spend(this.work(allowance))
  }

  /** What it needs only sometimes, made now if it was not there. */
  sometimes(): Rare {
    this.#rare ??= new Rare()
    return this.#rare
  }

  #done(result: unknown): void {
    if (this.reason !== null) return
    const handled = this.#current
    const call = handled?.call
    this.#current = null
    const rare = this.#rare
    if (call != null) {
      if (result instanceof Refusal) call.reject(result.error)
      else if (!(result instanceof Call || rare?.tookCall)) call.resolve(result)
    }
    if (rare === null) return
    rare.tookCall = false
    if (rare.observers !== null && handled != null) tellObservers(rare.observers, 'out', handled)
    if (rare.stopping !== null) this.terminate(rare.stopping)
  }

  #failed(error: unknown): void {
    if (this.reason !== null) return
    const { during } = this.doing()
    const { definition } = this.behaviour
    if (definition.terminate === undefined) return this.crashed(error, during)
    this.reportCrash(crash(error), during)
    this.terminate(crash(error))
  }

  /** Runs `terminate`, waits for it within its time, and ends; an error in it becomes the reason. */
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

  /**
   * Kills the actor when it has not ended after its `terminateTimeout`, unless the parent sets the limit. A
   * supervisor is not limited but by its children.
   */
  #limitEnd(): void {
    const rare = this.sometimes()
    if (rare.limited || rare.limitedByParent) return
    rare.limited = true
    if (this.kind === 'supervisor') return
    const { clock } = this.tree
    const { terminateTimeout } = this.behaviour
    const expire = (): void => {
      this.notice('cleanup_timeout', terminateTimeout)
      this.end(killed)
    }
    const timer = clock.setTimeout(expire, terminateTimeout)
    this.own.timers.add({ clear: () => clock.clearTimeout(timer) })
  }

  stopWith(reason: ExitReason): void {
    if (this.reason !== null) return
    if (this.phase === 'suspended') return this.terminate(reason)
    this.deliver(new Message('stop', reason, null))
  }

  /** Ends after the message that is being handled; at once when asked by a callback between two messages. */
  stopAfter(reason: ExitReason): void {
    const rare = this.sometimes()
    rare.stopping ??= reason
    if (this.phase === 'running' && this.#current === null) this.terminate(rare.stopping)
  }

  /** Lets messages wait, or go on; a stop and a kill get through (OTP: sys:suspend). */
  suspend(suspended: boolean): void {
    if (this.phase === 'running' && suspended) this.phase = 'suspended'
    else if (this.phase === 'suspended' && !suspended) this.phase = 'running'
    this.#queueUp()
  }

  /** The state as reports may show it: only what `formatStatus` makes of it (OTP: format_status). */
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
    this.sometimes().continuations.push(fn)
    this.#queueUp()
  }

  /** Takes over the reply of the call that is being handled; undefined where there is none. */
  defer(): Call | undefined {
    const call = this.#current?.call ?? undefined
    if (call === undefined) return undefined
    const rare = this.sometimes()
    rare.tookCall = true
    call.defer(rare.deferred)
    return call
  }

  /**
   * The state is made: messages that came meanwhile are handled now, after what `init` asked to continue
   * with. An `init` that asked to stop ends the actor instead, without `terminate` (OTP: {stop, Reason} from
   * init).
   */
  started(state: unknown): void {
    if (this.#rare?.stopping != null) return this.end(this.#rare.stopping)
    this.state = state
    this.phase = 'running'
    this.#queueUp()
  }

  protected trapped(from: Process | null, reason: ExitReason): void {
    if (from === this.parent) {
      // A parent that is gone, or no supervisor, sets no limit of its own.
      this.sometimes().limitedByParent = from?.kind === 'supervisor' && from.reason === null
      this.#limitEnd()
      return this.stopWith(reason)
    }
    this.inform('exit', { from: from?.ref ?? null, reason })
  }

  protected onEnd(reason: ExitReason): void {
    this.phase = 'ended'
    this.#current?.call?.fail(reason)
    this.#current = null
    if (this.#rare !== null) for (const call of this.#rare.deferred) call.fail(reason)
    if (this.#mailbox !== null) for (const message of this.#mailbox.drain()) message.call?.fail(reason)
    this.#mailbox = null
    this.#rare = null
    // References to the dead may be kept for long; its state is not.
    if (this.kind === 'actor') this.state = undefined
  }
}

/** The time is looked at every 16 messages. */
const lookMask = 15

function work(actor: Actor, budget: number): number {
  return actor.work(budget)
}

/** What the runtime itself sends: a stop, or work that comes before the next message. */
type SystemMessage = 'stop' | 'continue'

/** One message on its way: who handles it, what it carries, who waits for an answer. */
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

/** Hears of every message before it is handled, and of its end. */
type Observer = (what: 'in' | 'out', kind: string, name: string, input: unknown) => void

/** What an actor needs only sometimes; made when first needed, so that an idle one stays small. */
class Rare {
  /** Calls whose reply was deferred and that still wait. */
  deferred = new TurnoverSet<Call>()
  /** The handler that runs has taken over the reply of its call. */
  tookCall = false
  continuations: (() => unknown)[] = []
  /** The reason to end with after the handler that runs. */
  stopping: ExitReason | null = null
  /** The mailbox has been full, and that was reported. */
  full = false
  /** A living supervisor asked for the end, and kills what takes too long. */
  limitedByParent = false
  limited = false
  /** A message that is due when nothing else comes first. */
  idle: { clear(): void } | null = null
  /** Those who look on (sys.trace). */
  observers: Set<Observer> | null = null
  onDone: ((value: unknown) => void) | null = null
  onFail: ((error: unknown) => void) | null = null
}

/** Tells those who look on of a message; in nobody's scope, so that their errors are nobody's crash. */
function tellObservers(observers: Set<Observer>, what: 'in' | 'out', { entry, input }: Message): void {
  const [kind, name] = typeof entry === 'string' ? ['system', entry] : [entry.kind, entry.name]
  for (const observer of [...observers]) outside(() => observer(what, kind, name, input))
}
