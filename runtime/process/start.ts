import { badOption, checkFields } from '../base/check.js'
import { messageOf, RuntimeError, show } from '../base/errors.js'
import { crash, formatReason, kill, normal, shutdownWith } from '../base/exit.js'
import { handled, isPromise } from '../base/promise.js'
import { runIn } from '../faults/containment.js'
import { waitWithin } from '../time/wait.js'
import { Actor } from './actor.js'
import { refused } from './call.js'
import { type Process, unlink } from './process.js'
import { ignore, type Program } from './program.js'
import { ActorRef } from './ref.js'
import type { Registry } from './registry.js'
import type { Tree } from './tree.js'

export interface Home {
  readonly tree: Tree
  readonly registry: Registry
  /** Makes the handlers' context: passed in, since a context can start actors. */
  readonly contextOf: (actor: Actor) => object
}

/** How an actor is started. */
export interface StartOptions {
  /**
   * Its name while it lives; ALREADY_STARTED when a living process has it. `init` runs once all that its last
   * holder owned is released.
   */
  name?: string
  /** Milliseconds until a slow `init` fails with START_TIMEOUT. Default 5000, for supervisors Infinity. */
  startTimeout?: number
}

type Undefinable<Options> = { readonly [Field in keyof Options]: Options[Field] | undefined }

/** The arguments after the behaviour: its input, if `init` takes one, and options. */
export type StartArgs<Input, Options = StartOptions> = unknown extends Input
  ? [input?: unknown, options?: Options]
  : undefined extends Input
    ? [input?: Input, options?: Options]
    : [input: Input, options?: Options]

/** Resolves when `init` is done. When it rejects, the actor has ended and what it owned is released. */
export function startProcess(
  home: Home,
  parent: Process | null,
  behaviour: unknown,
  input: unknown,
  options: Undefinable<StartOptions> = {},
): Promise<ActorRef> {
  let actor: Actor
  try {
    checkStart(behaviour, options)
    actor = spawn(home, parent, behaviour as Program, options)
  } catch (error) {
    return refused(error)
  }
  const { startTimeout = actor.kind === 'supervisor' ? Number.POSITIVE_INFINITY : 5_000 } = options
  const init = actor.behaviour.definition.init as (input: unknown, ctx: unknown) => unknown
  const leaving = options.name === undefined ? null : home.registry.leaving(options.name)
  try {
    const run = (): unknown => runIn(actor.token, init, input, actor.ctx)
    const state = leaving === null ? run() : leaving.then(() => (actor.reason === null ? run() : undefined))
    return isPromise(state) ? awaitInit(actor, state, startTimeout) : begin(actor, state)
  } catch (error) {
    return initFailed(actor, error)
  }
}

/** Makes an actor, which is up once it is told that it has started. */
export function spawn(
  home: Home,
  parent: Process | null,
  behaviour: Program,
  { name }: Undefinable<StartOptions> = {},
): Actor {
  const { tree, registry, contextOf } = home
  if (name !== undefined) registry.vacancy(name)
  const kind = (behaviour.actor as typeof Actor | undefined) ?? Actor
  const actor = new kind(tree, parent, behaviour, { refTo, contextOf })
  const slot = parent?.extras?.startingSlot
  if (slot != null) {
    actor.slot = slot
    if (parent !== null) parent.own.startingSlot = null
  }
  if (name !== undefined) registry.claim(name, actor)
  return actor
}

const refTo = (actor: Actor): ActorRef => new ActorRef(actor)

function awaitInit(actor: Actor, init: PromiseLike<unknown>, startTimeout: number): Promise<ActorRef> {
  const late = (): Promise<ActorRef> => tooSlow(actor, startTimeout)
  const started = waitWithin<ActorRef>({ clock: actor.tree.clock, ms: startTimeout, late }, (resolve) => {
    const unwatch = actor.ref.onExit(() => resolve(endedEarly(actor)))
    const finish = (answer: () => Promise<ActorRef>): void => {
      unwatch() // an end that `answer` brings about is told by what it answers
      resolve(answer())
    }
    // A foreign thenable may settle twice, or throw.
    Promise.resolve(init).then(
      (state) => finish(() => begin(actor, state)),
      (error) => finish(() => initFailed(actor, error)),
    )
    return unwatch
  })
  return handled(started)
}

/** `init` is done; the actor may have declined, been stopped, or ended. */
function begin(actor: Actor, state: unknown): Promise<ActorRef> {
  if (actor.reason !== null) return endedEarly(actor)
  if (state === ignore) {
    actor.end(normal)
    return notStarted(actor, new RuntimeError('IGNORED', `${actor.name}: init declined to start`))
  }
  actor.started(state)
  if (actor.reason !== null) return endedEarly(actor)
  for (const name of actor.extras?.names ?? []) name.rise()
  return Promise.resolve(actor.ref as ActorRef)
}

/** Unlinks and kills, so that the caller only gets the error (OTP: start with a timeout). */
function tooSlow(actor: Actor, startTimeout: number): Promise<never> {
  if (actor.parent !== null) unlink(actor, actor.parent)
  actor.signal(null, kill)
  const message = `${actor.name}: init took longer than ${startTimeout} ms`
  return notStarted(actor, new RuntimeError('START_TIMEOUT', message))
}

function initFailed(actor: Actor, error: unknown): Promise<never> {
  if (actor.kind === 'supervisor' && error instanceof RuntimeError && error.code === 'START_FAILED') {
    // Its supervisor ends in order (OTP: {shutdown, {failed_to_start_child, Id, Reason}}).
    actor.end(shutdownWith(error))
    return notStarted(actor, error)
  }
  if (actor.reason === null) {
    actor.reportCrash(crash(error), 'init')
    actor.end(crash(error))
  }
  const message = `${actor.name}: init failed: ${messageOf(error)}`
  return notStarted(
    actor,
    new RuntimeError('START_FAILED', message, { cause: error, data: { reason: actor.reason } }),
  )
}

function endedEarly(actor: Actor): Promise<never> {
  const { reason } = actor
  const why = reason === null ? 'unknown' : formatReason(reason)
  const message = `${actor.name}: ended before init was done (${why})`
  const cause = reason?.type === 'crash' ? { cause: reason.error } : {}
  return notStarted(actor, new RuntimeError('START_FAILED', message, { data: { reason }, ...cause }))
}

/** Rejects once a port that `init` took is free, so that the next attempt can have it. */
function notStarted({ released }: Actor, error: RuntimeError): Promise<never> {
  if (released === null) return refused(error)
  return handled(
    released.then(() => {
      throw error
    }),
  )
}

/** Throws BAD_BEHAVIOUR unless `defineActor` made it. */
export function checkBehaviour(behaviour: unknown): void {
  const made =
    typeof behaviour === 'object' && behaviour !== null && 'definition' in behaviour && 'calls' in behaviour
  if (!made)
    throw new RuntimeError('BAD_BEHAVIOUR', `expected what defineActor returns, got ${show(behaviour)}`)
}

export const startFields: readonly string[] = ['name', 'startTimeout']

function checkStart(behaviour: unknown, options: Undefinable<StartOptions>): void {
  checkBehaviour(behaviour)
  checkFields(options, startFields)
  const { startTimeout } = options
  if (!isStartTimeout(startTimeout)) throw badOption('startTimeout', 'milliseconds above 0', startTimeout)
}

export function isStartTimeout(startTimeout: unknown): boolean {
  return startTimeout === undefined || (typeof startTimeout === 'number' && startTimeout > 0)
}
