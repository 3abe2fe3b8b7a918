import { messageOf, RuntimeError } from '../base/errors.js'
import { type ExitReason, type ExitRequest, formatReason, kill, noproc } from '../base/exit.js'
import { outside } from '../faults/containment.js'
import { Actor, Message } from '../process/actor.js'
import { defineActor } from '../process/behaviour.js'
import type { Call } from '../process/call.js'
import { type ActorContext, ProcessContext } from '../process/context.js'
import { type Monitor, monitor, type Process, type ProcessRef, processOf } from '../process/process.js'
import { Entry, type Program } from '../process/program.js'
import { callActor } from '../process/ref.js'
import { spawn } from '../process/start.js'
import { Mailbox } from '../time/mailbox.js'
import type { BorderMessage, Socket, Wire } from './messages.js'
import {
  type ErrorClasses,
  notCloneable,
  type OwnRef,
  pack,
  type Packed,
  unpack,
  type WireRef,
} from './values.js'

/** Messages that may be on their way at once; more wait on this side. */
const window = 1_024
/** Messages that may wait on this side; calls and casts beyond that are refused (MAILBOX_FULL). */
const most = 10_000

/**
 * One side of the border between two threads or processes. A process of the other side has a stand-in here:
 * an actor that passes on what it is sent, and ends when its process ends. So links, monitors and names work
 * as with any process (OTP: distribution). All that is said goes in one order.
 */
export class Border {
  readonly #host: Actor
  readonly #wire: Wire
  /** Errors that keep their class, besides those of this floor. */
  errors: ErrorClasses = {}
  /** Bytes of one value that goes to the other side, about. */
  most = Number.POSITIVE_INFINITY
  /** Processes of this side that the other side knows, by number. */
  readonly #shown = new Map<number, Process>()
  readonly #numbers = new Map<Process, number>()
  /** Monitors of them. */
  readonly #monitors = new Map<number, Monitor>()
  /** Stand-ins for processes of the other side, by their numbers there. */
  readonly #standIns = new Map<number, StandIn>()
  readonly #theirs = new Map<Process, number>()
  /** Calls that wait for the other side's answer. */
  readonly #calls = new Map<number, Call>()
  #last = 0
  #underway = 0
  #taken = 0
  readonly #waiting = new Mailbox<BorderMessage>()
  #closed = false

  /** `host` is the parent of all stand-ins. */
  constructor(host: Actor, wire: Wire) {
    this.#host = host
    this.#wire = wire
  }

  /** Whether too much waits for the other side already. */
  get isFull(): boolean {
    return this.#waiting.length >= most
  }

  /** Whether that is the stand-in for the actor of the peer itself. */
  isOf(standIn: StandIn): boolean {
    return this.#host === standIn
  }

  /** Has an actor that is there already stand in for a process of the other side. */
  represent(standIn: StandIn, { ours }: OwnRef): void {
    standIn.border = this
    // an actor that has told of itself in its `init` has one already, which others may know
    const other = this.#standIns.get(ours)
    if (other !== undefined) monitor(standIn, null, (reason) => other.end(reason))
    this.#standIns.set(ours, standIn)
    this.#theirs.set(standIn, ours)
  }

  receive(message: BorderMessage, socket?: Socket): void {
    if (this.#closed) return void socket?.destroy()
    if (message.type !== 'taken' && message.type !== 'give') this.#take()
    switch (message.type) {
      case 'call':
        return this.#onCall(message)
      case 'cast':
      case 'send':
        return this.#onMessage(message)
      case 'give':
        return this.#onGive(message, socket)
      case 'reply':
        return this.#onReply(message)
      case 'exit':
        return this.#onExit(message)
      case 'stop':
        return this.#onStop(message)
      case 'down':
        return this.#onDown(message.of, this.unpack(message.reason) as ExitReason)
      case 'taken':
        this.#underway -= message.count
        return this.#goOn()
    }
  }

  /** The other side is gone: so are its processes, and whoever waits for them is told why. */
  close(reason: ExitReason): void {
    this.#closed = true
    this.#waiting.drain()
    for (const standIn of this.#standIns.values()) if (standIn !== this.#host) standIn.end(reason)
    this.#standIns.clear()
    this.#calls.clear()
    this.#shown.clear()
    this.#numbers.clear()
    for (const each of this.#monitors.values()) each.cancel()
    this.#monitors.clear()
  }

  /**
   * What is sent to a stand-in goes on as it is now. Answers whether it was taken. Throws NOT_CLONEABLE for a
   * cast; a call rejects with it.
   */
  pass(standIn: StandIn, { entry, input, call }: Message): boolean {
    const to = this.#theirs.get(standIn)
    if (to === undefined || this.#closed) return false
    const { name, kind } = entry as Entry
    const what = `${standIn.name}.${name}: input`
    try {
      const packed = this.pack(input, what)
      if (kind === 'info') this.#send({ type: 'send', to, message: packed })
      else if (call === null) this.#send({ type: 'cast', to, name, input: packed })
      else this.#ask(standIn, call, { to, name, input: packed })
      return true
    } catch (error) {
      if (call === null) throw cloneError(error, what)
      call.reject(cloneError(error, what))
      return true
    }
  }

  /** Answers whether it was taken. It does not wait on this side: whoever has it may know a better place. */
  give(standIn: StandIn, name: string, socket: Socket, as: number): boolean {
    const to = this.#theirs.get(standIn)
    if (to === undefined || this.#closed || this.#waiting.length > 0) return false
    this.#last += 1
    return this.#wire.give?.({ type: 'give', to, name, id: this.#last, as }, socket) ?? false
  }

  #ask(standIn: StandIn, call: Call, question: { to: number; name: string; input: Packed }): void {
    this.#last += 1
    const id = this.#last
    this.#send({ type: 'call', id, timeout: call.ms, ...question })
    this.#calls.set(id, call)
    call.defer(standIn.actorExtras().deferred)
  }

  /** Sends now, or when the other side has taken what is on its way; what waits is a copy already. */
  #send(message: BorderMessage): void {
    if (this.#underway < window && this.#waiting.length === 0) {
      this.#wire.post(message)
      this.#underway += 1
    } else this.#waiting.push(this.#wire.copy(message))
  }

  #goOn(): void {
    while (this.#underway < window) {
      const message = this.#waiting.shift()
      if (message === undefined) return
      if (message.type === 'call' && !this.#calls.get(message.id)?.open) {
        this.#calls.delete(message.id)
        continue
      }
      this.#wire.post(message)
      this.#underway += 1
    }
  }

  /** Passes an exit signal on. */
  exit(standIn: StandIn, sender: ProcessRef | null, request: ExitRequest): void {
    const to = this.#theirs.get(standIn)
    if (to === undefined || this.#closed) return
    const from = this.pack(sender, 'from')
    this.#tell(request, (packed) => this.#send({ type: 'exit', to, from, request: packed }))
  }

  /** Asks a process of the other side to end after what it has been sent. */
  stop(standIn: StandIn, reason: ExitReason): void {
    const to = this.#theirs.get(standIn)
    if (to === undefined || this.#closed) return
    const { byParent } = standIn
    const limited = byParent && standIn.actorExtras().limitedByParent
    this.#tell(reason, (packed) => this.#send({ type: 'stop', to, reason: packed, byParent, limited }))
  }

  /** An exit reason always crosses: where a detail of it cannot, its words do. */
  #tell(reason: ExitRequest, send: (reason: Packed) => void): void {
    try {
      send(this.pack(reason, 'reason'))
    } catch {
      const words = new Error(formatReason(reason as ExitReason))
      send(this.pack({ type: reason.type, detail: words, error: words }, 'reason'))
    }
  }

  pack(value: unknown, what: string): Packed {
    const { errors, most } = this
    return pack(value, what, { refOut: (ref) => this.#refer(processOf(ref)), errors, most })
  }

  unpack(value: Packed): unknown {
    return unpack(value, (ref) => this.#meet(ref), this.errors)
  }

  /** Makes a process known to the other side, which is told of its end. */
  show(process: Process): OwnRef {
    const { calls, casts } = process instanceof Actor ? process.behaviour : nothing
    const number = this.#numbers.get(process) ?? this.#number(process)
    return { ours: number, name: process.name, calls: namesIn(calls), casts: namesIn(casts) }
  }

  #refer(process: Process): WireRef {
    const yours = this.#theirs.get(process)
    return yours === undefined ? this.show(process) : { yours }
  }

  #number(process: Process): number {
    this.#last += 1
    const number = this.#last
    this.#shown.set(number, process)
    this.#numbers.set(process, number)
    const down = (reason: ExitReason): void => {
      if (this.#closed) return
      this.#shown.delete(number)
      this.#numbers.delete(process)
      this.#monitors.delete(number)
      this.#tell(reason, (packed) => this.#send({ type: 'down', of: number, reason: packed }))
    }
    if (process.reason !== null) process.tree.world.queueMicrotask(() => down(noproc))
    else this.#monitors.set(number, monitor(process, null, down))
    return number
  }

  /** The reference on this side to a process that the other side speaks of. */
  #meet(ref: WireRef): ProcessRef {
    if ('yours' in ref) return (this.#shown.get(ref.yours) ?? this.#deadOne()).ref
    const known = this.#standIns.get(ref.ours)
    if (known !== undefined) return known.ref
    const standIn = this.#spawn(standInOf(ref))
    this.represent(standIn, ref)
    return standIn.ref
  }

  /** What the other side speaks of has ended meanwhile. */
  #deadOne(): StandIn {
    const gone = this.#spawn(standInOf({ ours: 0, name: 'ended', calls: [], casts: [] }))
    gone.end(noproc)
    return gone
  }

  #spawn(behaviour: Program): StandIn {
    const actor = spawn(
      ProcessContext.homeOf(this.#host.ctx as ActorContext),
      this.#host,
      behaviour,
    ) as StandIn
    // a kill ends the stand-in at once, and then what it stands for
    actor.owns(() => {
      if (actor.reason?.type === 'killed') this.exit(actor, null, kill)
    })
    actor.started(undefined)
    return actor
  }

  #onCall({ to, id, name, input, timeout }: BorderMessage & { type: 'call' }): void {
    const target = this.#shown.get(to)
    if (!(target instanceof Actor)) return this.#answer(id, false, ended(name), name)
    outside(() => callActor(target, name, this.unpack(input), { timeout })).then(
      (value) => this.#answer(id, true, value, `${target.name}.${name}: reply`),
      (error) => this.#answer(id, false, error, `${target.name}.${name}: error`),
    )
  }

  #answer(id: number, ok: boolean, value: unknown, what: string): void {
    if (this.#closed) return
    try {
      this.#send({ type: 'reply', id, ok, value: this.pack(value, what) })
    } catch (error) {
      const why = ofAnswer(error instanceof RuntimeError ? error : notCloneable(what, messageOf(error)))
      const told = this.pack(why, what)
      this.#send({ type: 'reply', id, ok: false, value: told })
    }
  }

  #onMessage(message: BorderMessage & { type: 'cast' | 'send' }): void {
    const target = this.#shown.get(message.to)
    if (!(target instanceof Actor)) return
    if (message.type === 'send') return void target.send(this.unpack(message.message))
    const entry = target.behaviour.casts.get(message.name)
    if (entry !== undefined) target.post(new Message(entry, this.unpack(message.input), null))
  }

  #onGive({ to, name, as: id }: BorderMessage & { type: 'give' }, socket: Socket | undefined): void {
    // an end before anybody listens must not be an error without an owner
    socket?.on('error', ignore)
    const target = this.#shown.get(to)
    const entry = target instanceof Actor ? target.behaviour.casts.get(name) : undefined
    const isTaken = entry !== undefined && (target as Actor).post(new Message(entry, { socket, id }, null))
    if (!isTaken) socket?.destroy()
  }

  #onStop({ to, reason, byParent, limited }: BorderMessage & { type: 'stop' }): void {
    const target = this.#shown.get(to)
    const why = this.unpack(reason) as ExitReason
    if (!byParent) return target?.stopWith(why)
    if (target instanceof Actor) target.actorExtras().limited ||= limited
    target?.signal(target.parent, why)
  }

  #onReply({ id, ok, value }: BorderMessage & { type: 'reply' }): void {
    const reply = this.#calls.get(id)
    if (reply === undefined) return
    this.#calls.delete(id)
    if (ok) reply.resolve(this.unpack(value))
    else reply.reject(this.unpack(value))
  }

  #onExit({ to, from, request }: BorderMessage & { type: 'exit' }): void {
    const sender = this.unpack(from) as ProcessRef | null
    this.#shown
      .get(to)
      ?.signal(sender === null ? null : processOf(sender), this.unpack(request) as ExitRequest)
  }

  #onDown(number: number, reason: ExitReason): void {
    const standIn = this.#standIns.get(number)
    if (standIn === undefined) return
    this.#standIns.delete(number)
    this.#theirs.delete(standIn)
    if (standIn === this.#host && reason.type === 'crash') standIn.reportCrash(reason, 'its peer')
    standIn.end(reason)
  }

  /** Says now and then how many messages have arrived. */
  #take(): void {
    this.#taken += 1
    if (this.#taken < window / 4) return
    this.#wire.post({ type: 'taken', count: this.#taken })
    this.#taken = 0
  }
}
const nothing = { calls: new Map<string, Entry>(), casts: new Map<string, Entry>() }

/**
 * Stands in for an actor of the other side: what it is sent, and asked to do, goes on to that actor. It is
 * born without a border where its peer has yet to start.
 */
export class StandIn extends Actor {
  border: Border | null = null
  /** Its parent wants its end. */
  byParent = false

  override post(message: Message): boolean {
    if (this.reason !== null || this.border === null) return false
    return this.border.isFull ? this.refuse() : this.border.pass(this, message)
  }

  /** In the order of what was sent before and after. */
  override stopWith(reason: ExitReason): void {
    if (this.phase === 'running') this.terminate(reason)
    else super.stopWith(reason)
  }

  give(name: string, socket: Socket, as: number): boolean {
    return this.reason === null && this.border !== null && this.border.give(this, name, socket, as)
  }

  protected override trapped(from: Process | null, reason: ExitReason): void {
    if (from !== this.parent) return this.border?.exit(this, from?.ref ?? null, reason)
    // that of a peer ends with its parent; the others are no children of anybody here
    if (this.border !== null && !this.border.isOf(this)) return this.end(reason)
    this.byParent = true
    super.trapped(from, reason)
  }
}

/**
 * What makes a behaviour that of a stand-in. Without names, any name goes on: the other side knows which
 * there are.
 */
export function standingIn(behaviour: Program, names?: KnownNames): Program {
  return {
    ...behaviour,
    actor: StandIn,
    trapExit: true,
    calls: new Names('call', names?.calls ?? null),
    casts: new Names('cast', names?.casts ?? null),
    info: { ...behaviour.info, message: new Entry('message', 'info', passedOn) },
  }
}

/** Asks the process over there to end; its end is the end of its stand-in. */
export function endOverThere(_state: unknown, reason: ExitReason, ctx: ActorContext): Promise<never> {
  const standIn = processOf(ctx.self) as StandIn
  standIn.border?.stop(standIn, reason)
  return new Promise<never>(() => {})
}

type KnownNames = Pick<OwnRef, 'calls' | 'casts'>

/** The names of an actor's messages; null for a stand-in that passes on any. */
function namesIn(entries: ReadonlyMap<string, Entry>): string[] | null {
  return entries instanceof Names && entries.isOpen ? null : [...entries.keys()]
}

class Names extends Map<string, Entry> {
  readonly #kind: 'call' | 'cast'
  readonly isOpen: boolean

  constructor(kind: 'call' | 'cast', names: readonly string[] | null) {
    super(names?.map((name) => [name, new Entry(name, kind, passedOn)]))
    this.#kind = kind
    this.isOpen = names === null
  }

  override get(name: string): Entry | undefined {
    return super.get(name) ?? (this.isOpen ? new Entry(name, this.#kind, passedOn) : undefined)
  }
}

/** Never run: a message to a stand-in does not reach its mailbox. */
function passedOn(): void {}

function standInOf(ref: OwnRef): Program {
  const behaviour = defineActor({ name: ref.name, init: () => undefined, terminate: endOverThere })
  return standingIn(behaviour as unknown as Program, ref)
}

function ended(name: string): RuntimeError {
  return new RuntimeError('NOPROC', `${name}: the process has ended`, {
    retryable: true,
    data: { sent: false },
  })
}

/** The error of an answer that cannot be sent: what was asked has been done. */
function ofAnswer({ code, message, data, cause }: RuntimeError): RuntimeError {
  return new RuntimeError(code, message, { data: { ...(data as object | undefined), sent: true }, cause })
}

function ignore(): void {}

/** The error of a value that could not be copied, in words of ours; what a getter throws as it is. */
export function cloneError(error: unknown, what: string): unknown {
  const isNodes = error instanceof DOMException && error.name === 'DataCloneError'
  // `process.send` has no DOMException; a RangeError is that of a value nested too deep, or too large
  const isOthers = error instanceof RangeError || /could not be cloned/.test(messageOf(error))
  return isNodes || isOthers ? notCloneable(what, messageOf(error)) : error
}
