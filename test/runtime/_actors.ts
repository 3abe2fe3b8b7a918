import * as assert from 'uvu/assert'
import {
  type ActorContext,
  type ActorRef,
  type Behaviour,
  defineActor,
  type Down,
  type Exit,
  type Handlers,
  type RootOptions,
  RuntimeError,
  type RuntimeErrorCode,
  type RuntimeEvents,
  startActor,
  subscribe,
} from 'caduceus/runtime'
import type { TestContext } from '../support/suite.js'

/** As `startActor` takes them: an input that may be left out is left out. */
type StartArgs<Input> = unknown extends Input
  ? [input?: unknown, options?: RootOptions]
  : undefined extends Input
    ? [input?: Input, options?: RootOptions]
    : [input: Input, options?: RootOptions]

type Cleanups = Pick<TestContext, 'after'>

/** Starts an actor as the root of a tree that logs nothing and is killed when the test has ended. */
export async function start<State, Input, Calls extends Handlers<State>, Casts extends Handlers<State>>(
  t: Cleanups,
  behaviour: Behaviour<State, Input, Calls, Casts>,
  ...[input, options]: StartArgs<Input>
): Promise<ActorRef<Calls, Casts>> {
  const args = [input, { logger: false, ...options }] as StartArgs<Input>
  const ref = await startActor(behaviour, ...args)
  t.after(() => ref.kill())
  return ref
}

/** What an actor of a test noted, in order; `next` waits until there are as many notes. */
export class Notes<T> {
  readonly seen: T[] = []
  readonly #waiting: { count: number; resolve(seen: T[]): void }[] = []

  readonly add = (note: T): void => {
    this.seen.push(note)
    for (const { count, resolve } of this.#waiting) if (this.seen.length >= count) resolve(this.seen)
  }

  next(count: number): Promise<T[]> {
    if (this.seen.length >= count) return Promise.resolve(this.seen)
    return new Promise((resolve) => this.#waiting.push({ count, resolve }))
  }
}

/** An actor whose context a test holds in its hands, with what came to its `info` handlers. */
export interface Host {
  readonly ref: ActorRef
  readonly ctx: ActorContext
  readonly exits: Notes<Exit>
  readonly downs: Notes<Down>
  readonly messages: Notes<unknown>
}

/** How a host is started: as a root of its own, or below another one. */
export type HostOptions = Pick<RootOptions, 'clock' | 'registry'> & {
  readonly trapExit?: boolean
  readonly under?: ActorContext
  readonly name?: string
}

/** Starts a host. */
export async function startHost(t: Cleanups, options: HostOptions = {}): Promise<Host> {
  const { trapExit = false, under, name = 'host', ...rest } = options
  const notes = { exits: new Notes<Exit>(), downs: new Notes<Down>(), messages: new Notes<unknown>() }
  const held: ActorContext[] = []
  const behaviour = defineActor({
    name,
    trapExit,
    init(_: undefined, ctx) {
      held.push(ctx)
      return {}
    },
    info: {
      exit: (_, exit) => notes.exits.add(exit),
      down: (_, down) => notes.downs.add(down),
      message: (_, message) => notes.messages.add(message),
      timer: (_, payload) => notes.messages.add(payload),
    },
  })
  const ref = under === undefined ? await start(t, behaviour, undefined, rest) : await under.start(behaviour)
  const [ctx] = held
  if (ctx === undefined) throw new Error('init has run')
  return { ref, ctx, ...notes }
}

/** Hears the events of that name until the test has ended. */
export function hear<Name extends keyof RuntimeEvents>(t: Cleanups, name: Name): RuntimeEvents[Name][] {
  const heard: RuntimeEvents[Name][] = []
  t.after(subscribe(name, (event) => heard.push(event)))
  return heard
}

/** The error a promise rejects with, which is a RuntimeError with that code. */
export async function rejection(promise: Promise<unknown>, code: RuntimeErrorCode): Promise<RuntimeError> {
  const error = await promise.then(
    () => new Error(`expected a rejection with ${code}, it resolved`),
    (reason: unknown) => reason,
  )
  if (!(error instanceof RuntimeError)) throw error
  assert.is(error.code, code, error.message)
  return error
}

/** The RuntimeError that a function throws. */
export function thrown(fn: () => unknown, code: RuntimeErrorCode): RuntimeError {
  try {
    fn()
  } catch (error) {
    if (!(error instanceof RuntimeError)) throw error
    assert.is(error.code, code, error.message)
    return error
  }
  throw new Error(`expected ${code} to be thrown`)
}

/** A promise with its two ends outside. */
export function deferred<T = void>(): {
  promise: Promise<T>
  resolve: (value: T) => void
  reject: (error: unknown) => void
} {
  let ends: { resolve: (value: T) => void; reject: (error: unknown) => void } | undefined
  const promise = new Promise<T>((resolve, reject) => {
    ends = { resolve, reject }
  })
  if (ends === undefined) throw new Error('a promise executor runs at once')
  return { promise, ...ends }
}

/** The next round of the event loop: what is queued in microtasks is done by then. */
export function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}

/** The reason a process ended with, as soon as it has. */
export function ended(ref: Pick<ActorRef, 'alive' | 'reason' | 'onExit'>): Promise<ActorRef['reason']> {
  if (!ref.alive) return Promise.resolve(ref.reason)
  return new Promise((resolve) => ref.onExit(resolve))
}
