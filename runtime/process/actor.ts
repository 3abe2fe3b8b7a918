import { type AnyBehaviour, type Down, type Exit, Refusal } from './behaviour.js'
import { DeferredReply } from './call.js'
import { runIn } from '../faults/containment.js'
import type { ActorContext } from './context.js'
import { crash, type ExitReason } from '../base/exit.js'
import { inform, refuseMessage } from './info.js'
import { Mailbox } from '../time/mailbox.js'
import { Message } from './message.js'
import { Process } from './process.js'
import { isPromise } from '../base/promise.js'
import { Rare, tellObservers } from './rare.js'
import { ActorRef } from './ref.js'
import type { Runnable } from '../time/scheduler.js'
import { statusOf } from './status.js'
import { limitEnd, runTerminate } from './terminate.js'
import type { Tree } from './tree.js'

/**
 * A process with a state and a mailbox: handles one message at a time, synchronously where the handler is.
 */
export class Actor extends Process implements Runnable {
  readonly behaviour: AnyBehaviour
  readonly ref: ActorRef
  readonly ctx: ActorContext
  state: unknown = undefined
  queued = false
  phase: 'starting' | 'running' | 'suspended' | 'stopping' | 'ended' = 'starting'
  #busy = false
  #mailbox: Mailbox<Message> | null = null
  #current: Message | null = null
  #rare: Rare | null = null

  constructor(tree: Tree, parent: Process | null, behaviour: AnyBehaviour) {
    super(tree, parent, behaviour.name)
    this.behaviour = behaviour
    this.ref = new ActorRef(this)
    this.ctx = tree.contextOf(this)
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

  /** For people: what it does now and how much waits. */
  doing(): { mailbox: number; during: string } {
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
    if (this.backlog >= this.behaviour.mailboxLimit) return refuseMessage(this)
    this.deliver(message)
    return true
  }

  /** Takes a message of the runtime itself: those are never refused. */
  deliver(message: Message): void {
    if (this.reason !== null) return
    this.#mailbox ??= new Mailbox()
    this.#mailbox.push(message)
    this.#queueUp()
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
    if (entry === this.behaviour.info.down && !(input as Down).monitor.active) return
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
      else if (!(result instanceof DeferredReply || rare?.tookCall)) call.resolve(result)
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

  /** Runs `terminate`, waits for it within its time, and ends. */
  terminate(reason: ExitReason): void {
    if (this.reason !== null || this.phase === 'stopping') return
    this.phase = 'stopping'
    runTerminate(this, reason, () => this.#limitEnd())
  }

  /** Whoever asked for this end may limit how long it takes; if nobody does, `terminateTimeout` does. */
  #limitEnd(): void {
    const rare = this.sometimes()
    if (rare.limited || rare.limitedByParent) return
    rare.limited = true
    limitEnd(this)
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

  override get status(): unknown {
    return statusOf(this)
  }

  continueWith(fn: () => unknown): void {
    this.sometimes().continuations.push(fn)
    this.#queueUp()
  }

  defer(): DeferredReply | undefined {
    const call = this.#current?.call
    if (call == null) return undefined
    const rare = this.sometimes()
    rare.tookCall = true
    return new DeferredReply(call, rare.deferred)
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
    const exit: Exit = { from: from?.ref ?? null, reason }
    inform(this, 'exit', exit)
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
