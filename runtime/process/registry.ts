import { checkName } from '../base/check.js'
import { RuntimeError, optionError, show } from '../base/errors.js'
import { type ExitReason, formatReason } from '../base/exit.js'
import { handled } from '../base/promise.js'
import { TurnoverSet } from '../base/turnover.js'
import { currentOwner } from '../faults/containment.js'
import { checkMs, type Clock, systemClock } from '../time/clock.js'
import { waitWithin } from '../time/wait.js'
import type { Actor } from './actor.js'
import { refused } from './call.js'
import {
  fence,
  type HeldName,
  type Process,
  type ProcessRef,
  processOf,
  type Slot,
  slotThatDecides,
} from './process.js'
import type { InputOf, Messages, Program, ReplyOf } from './program.js'
import { type ActorRef, type CallOptions, callActor, type MessageArgs, wrongOptions } from './ref.js'

/** What a registry knows of a name: starting (also again), up, ended for good with the reason, or unknown. */
export type NameState =
  | { readonly state: 'starting' }
  | { readonly state: 'up'; readonly ref: ActorRef }
  | { readonly state: 'ended'; readonly reason: ExitReason }
  | { readonly state: 'unknown' }

class NameEntry implements HeldName {
  readonly name: string
  process: Process | null = null
  isUp = false
  /** Decides whether the name comes back while no process holds it. */
  slot: Slot | null = null
  ended: ExitReason | null = null
  /** Pending while its last holder releases what it owned. */
  leaving: Promise<void> | null = null
  readonly waiters = new TurnoverSet<() => void>()
  readonly #free: (entry: NameEntry, reason: ExitReason, slot: Slot | null) => void

  /** `free`: its holder has ended. */
  constructor(name: string, free: (entry: NameEntry, reason: ExitReason, slot: Slot | null) => void) {
    this.name = name
    this.#free = free
  }

  rise(): void {
    this.isUp = true
    wake(this)
  }

  lost(reason: ExitReason): void {
    const slot = this.process && slotThatDecides(this.process)
    this.process = null
    this.isUp = false
    this.#free(this, reason, slot)
  }

  leave(released: Promise<void>): void {
    this.leaving = released
    void released.then(() => {
      if (this.leaving === released) this.leaving = null
    })
  }
}

/** How many ended names are remembered. */
const remembered = 1_000

/** Unique names, which survive restarts (OTP: local names; Elixir: Registry with unique keys). */
export class Registry {
  readonly #entries = new Map<string, NameEntry>()
  readonly #ended = new Set<string>()
  readonly #free = (entry: NameEntry, reason: ExitReason, slot: Slot | null): void =>
    this.#wait(entry, reason, slot)

  /**
   * Names a living actor until it ends; the name is up once its `init` is done. Throws ALREADY_STARTED
   * (`data.ref` has it), NOPROC, BAD_OPTION for what is no actor, or ACTOR_DEAD when a dead incarnation asks.
   */
  register(name: string, ref: ProcessRef): void {
    const process = processOf(ref)
    if (process.kind === 'task')
      throw optionError('ref', `register ${show(name)}: expected a reference to an actor, got a task`)
    if (process.reason !== null)
      throw new RuntimeError('NOPROC', `register ${show(name)}: ${process.name} has ended`)
    fence(process)
    const entry = this.claim(name, process)
    if ((process as Actor).phase !== 'starting') entry.rise()
  }

  /** Takes a name from its living holder; it is unknown then. Other names are ignored. */
  unregister(name: string): void {
    const entry = this.#entries.get(name)
    if (entry?.process == null) return
    fence(entry.process)
    const { own } = entry.process
    own.names = own.names.filter((name) => name !== entry)
    this.#entries.delete(name)
    wake(entry)
  }

  /** The actor that holds the name, also while it starts; else undefined (OTP: whereis). */
  whereis(name: string): ActorRef | undefined {
    return this.#entries.get(name)?.process?.ref as ActorRef | undefined
  }

  state(name: string): NameState {
    const entry = this.#entries.get(name)
    if (entry === undefined) return { state: 'unknown' }
    if (entry.ended !== null) return { state: 'ended', reason: entry.ended }
    if (entry.process === null || !entry.isUp) return { state: 'starting' }
    return { state: 'up', ref: entry.process.ref as ActorRef }
  }

  /** All names that are starting or up. */
  names(): string[] {
    return [...this.#entries].filter(([, entry]) => entry.ended === null).map(([name]) => name)
  }

  /**
   * A reference by name, typed by the expected behaviour: `registry.named<typeof counter>('counter')`. It
   * finds the current incarnation at each send; calls wait while the name is starting.
   */
  named<B>(
    name: string,
  ): B extends Program<infer _S, infer _I, infer Calls, infer Casts> ? NamedRef<Calls, Casts> : NamedRef {
    return new NamedRef<Messages, Messages>(this, name) as never
  }

  /**
   * Resolves with the actor once the name is up. Rejects with NOPROC (unknown), GAVE_UP (ended for good;
   * `data.reason`) or TIMEOUT after `timeout` ms (default 5000) of its tree's clock.
   */
  whenUp(name: string, timeout = 5_000): Promise<ActorRef> {
    const late = (): never => {
      throw notUpError(name, timeout)
    }
    const up = waitWithin<ActorRef>({ clock: this.clockOf(name), ms: timeout, late }, (resolve, reject) => {
      checkMs(timeout, 'timeout')
      const look = (): void => {
        const known = this.state(name)
        if (known.state === 'up') resolve(known.ref)
        else if (known.state !== 'starting') reject(goneError(name, known))
      }
      look()
      const entry = this.#entries.get(name)
      if (entry === undefined || this.state(name).state !== 'starting') return undefined
      entry.waiters.add(look)
      return () => void entry.waiters.delete(look)
    })
    return handled(up)
  }

  /** For the runtime: the clock of the tree that has or will have a name, else the machine's. */
  clockOf(name: string): Clock {
    const entry = this.#entries.get(name)
    return (entry?.process ?? entry?.slot?.supervisor)?.tree.clock ?? systemClock
  }

  /** For the runtime: throws unless the name is free. */
  vacancy(name: string): void {
    checkName(name)
    const entry = this.#entries.get(name)
    if (entry?.process != null) {
      throw new RuntimeError('ALREADY_STARTED', `${show(name)} is the name of a living process already`, {
        data: { ref: entry.process.ref },
      })
    }
  }

  /** For the runtime: pending while the last holder of a name releases what it owned. */
  leaving(name: string): Promise<void> | null {
    return this.#entries.get(name)?.leaving ?? null
  }

  /** For the runtime: gives a name to a process that starts. */
  claim(name: string, process: Process): HeldName {
    this.vacancy(name)
    this.#ended.delete(name)
    const entry = this.#entries.get(name) ?? this.#enter(name)
    Object.assign(entry, { process, isUp: false, slot: null, ended: null })
    process.own.names = process.own.names.concat(entry) // and no push, which makes room for 17
    return entry
  }

  #enter(name: string): NameEntry {
    const entry = new NameEntry(name, this.#free)
    this.#entries.set(name, entry)
    return entry
  }

  /** The name waits for the decision of `slot`; without one it ends. */
  #wait(entry: NameEntry, reason: ExitReason, slot: Slot | null): void {
    entry.slot = slot
    if (slot === null) return this.#end(entry, reason)
    slot.keep(entry, (why, above) => {
      if (entry.process === null && entry.slot === slot) this.#wait(entry, why, above)
    })
  }

  #end(entry: NameEntry, reason: ExitReason): void {
    entry.ended = reason
    wake(entry)
    this.#ended.add(entry.name)
    if (this.#ended.size <= remembered) return
    for (const oldest of this.#ended) {
      this.#ended.delete(oldest)
      this.#entries.delete(oldest)
      return
    }
  }
}

function wake({ waiters }: NameEntry): void {
  for (const look of [...waiters]) look()
}

/** Resolves its name at each send, and so survives restarts, unlike an ActorRef (OTP: via tuple). */
export class NamedRef<
  Calls extends Messages = Record<never, never>,
  Casts extends Messages = Record<never, never>,
> {
  readonly name: string
  readonly #registry: Registry

  constructor(registry: Registry, name: string) {
    this.#registry = registry
    this.name = name
  }

  /** The incarnation that holds the name now, if any. */
  get current(): ActorRef<Calls, Casts> | undefined {
    return this.#registry.whereis(this.name) as ActorRef<Calls, Casts> | undefined
  }

  /**
   * As `ActorRef.call`; one deadline covers the name and the reply. While the name is starting it waits.
   * Rejects with GAVE_UP once the name has ended for good, NOPROC when it is unknown.
   */
  call<Name extends keyof Calls & string>(
    name: Name,
    ...args: MessageArgs<InputOf<Calls[Name]>, CallOptions>
  ): Promise<ReplyOf<Calls[Name]>> {
    const [input, options] = args
    return this.#call(name, input, options) as Promise<ReplyOf<Calls[Name]>>
  }

  /** As `ActorRef.cast`; false when no actor holds the name. */
  cast<Name extends keyof Casts & string>(
    name: Name,
    ...args: MessageArgs<InputOf<Casts[Name]>, never>
  ): boolean {
    return this.current?.cast(name, ...args) ?? false
  }

  /** As `ActorRef.send`; throws NOPROC or GAVE_UP when no actor holds the name (OTP: badarg). */
  send(message: unknown): boolean {
    const { current } = this
    if (current === undefined) {
      const known = this.#registry.state(this.name)
      if (known.state === 'starting') return false
      throw goneError(this.name, known)
    }
    return current.send(message)
  }

  #call(name: string, input: unknown, options: CallOptions | undefined): Promise<unknown> {
    const actor = this.#holder()
    if (actor !== undefined) return callActor(actor, name, input, options)
    const wrong = options === undefined ? undefined : wrongOptions(options)
    return wrong === undefined ? handled(this.#callWhenUp(name, input, options ?? {})) : refused(wrong)
  }

  async #callWhenUp(name: string, input: unknown, { timeout = 5_000 }: CallOptions): Promise<unknown> {
    const clock = this.#registry.clockOf(this.name)
    const deadline = clock.now() + timeout
    let left = timeout
    // The actor that came up may have ended again: then the wait goes on.
    while (true) {
      await this.#registry.whenUp(this.name, left)
      left = Math.max(0, Math.ceil(deadline - clock.now()))
      const actor = this.#holder()
      if (actor !== undefined) return callActor(actor, name, input, { timeout: left })
    }
  }

  /** The actor that is up, or the caller itself while it starts, whose call to itself is refused. */
  #holder(): Actor | undefined {
    const known = this.#registry.state(this.name)
    if (known.state === 'up') return processOf(known.ref) as Actor
    const { current } = this
    const actor = current === undefined ? undefined : (processOf(current) as Actor)
    return actor !== undefined && actor.token === currentOwner() ? actor : undefined
  }
}

function notUpError(name: string, ms: number): RuntimeError {
  const message = `${show(name)} was not up within ${ms} ms`
  return new RuntimeError('TIMEOUT', message, { retryable: true, data: { name, ms, sent: false } })
}

/** The error for a name without a holder: GAVE_UP when it ended for good, else NOPROC. */
function goneError(name: string, known: NameState): RuntimeError {
  if (known.state !== 'ended')
    return new RuntimeError('NOPROC', `nobody is called ${show(name)}`, { data: { name, sent: false } })
  const { reason } = known
  return new RuntimeError('GAVE_UP', `${show(name)} has ended for good (${formatReason(reason)})`, {
    data: { name, reason, sent: false },
    ...(reason.type === 'crash' ? { cause: reason.error } : {}),
  })
}
