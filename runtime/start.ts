import { Actor } from './actor.js'
import { type AnyBehaviour, ignore } from './behaviour.js'
import { refused } from './call.js'
import { runIn } from './containment.js'
import { RuntimeError, show } from './errors.js'
import { crash, formatReason, kill, normal } from './exit.js'
import type { Process } from './process.js'
import { isPromise } from './promise.js'
import type { ActorRef } from './ref.js'
import type { Tree } from './tree.js'

/** How one actor is started. */
export interface StartOptions {
  /** The name it holds while it lives; refused with ALREADY_STARTED when a living process has it. */
  name?: string
  /** Milliseconds `init` may take before the start fails with START_TIMEOUT. Default 5000, for supervisors Infinity. */
  startTimeout?: number
}

/** The arguments after the behaviour: its input, if `init` takes one, and options. */
export type StartArgs<Input, Options = StartOptions> = unknown extends Input
  ? [input?: unknown, options?: Options]
  : undefined extends Input
    ? [input?: Input, options?: Options]
    : [input: Input, options?: Options]

/**
 * Starts one actor under `parent` and resolves when its `init` is done; the start is over by then, one way or the other.
 */
export function startProcess(
  tree: Tree,
  parent: Process | null,
  behaviour: unknown,
  input: unknown,
  options: StartOptions = {},
): Promise<ActorRef> {
  let actor: Actor
  try {
    checkStart(behaviour, options)
    actor = spawn(tree, parent, behaviour as AnyBehaviour, options)
  } catch (error) {
    return refused(error)
  }
  const { startTimeout = actor.kind === 'supervisor' ? Number.POSITIVE_INFINITY : 5_000 } = options
  try {
    const init = actor.behaviour.definition.init as (input: unknown, ctx: unknown) => unknown
    const state = runIn(actor.token, init, input, actor.ctx)
    if (isPromise(state)) return awaitInit(actor, state, startTimeout)
    return Promise.resolve(begin(actor, state))
  } catch (error) {
    return refused(startError(actor, error))
  }
}

function spawn(tree: Tree, parent: Process | null, behaviour: AnyBehaviour, options: StartOptions): Actor {
  const { name } = options
  if (name !== undefined) tree.registry.vacancy(name)
  const actor = new Actor(tree, parent, behaviour)
  const slot = parent?.belongings?.startingSlot
  if (slot != null) {
    actor.slot = slot
    if (parent !== null) parent.own.startingSlot = null
  }
  if (name !== undefined) tree.registry.claim(name, actor)
  return actor
}

function awaitInit(actor: Actor, init: PromiseLike<unknown>, startTimeout: number): Promise<ActorRef> {
  const { clock } = actor.tree
  return new Promise((resolve, reject) => {
    const timedOut = (): void => {
      finish(() => {
        actor.signal(null, kill)
        reject(new RuntimeError('START_TIMEOUT', `${actor.name}: init took longer than ${startTimeout} ms`))
      })
    }
    const timer = Number.isFinite(startTimeout) ? clock.setTimeout(timedOut, startTimeout) : undefined
    let over = false
    const finish = (then: () => void): void => {
      if (over) return
      over = true
      clock.clearTimeout(timer)
      unwatch()
      then()
    }
    const unwatch = actor.ref.onExit((reason) => finish(() => reject(endedEarly(actor, formatReason(reason)))))
    const failed = (error: unknown): void => finish(() => reject(startError(actor, error)))
    init.then(
      (state) =>
        finish(() => {
          try {
            resolve(begin(actor, state))
          } catch (error) {
            reject(startError(actor, error))
          }
        }),
      failed,
    )
  })
}

/** The state is made: the actor is up from here on. */
function begin(actor: Actor, state: unknown): ActorRef {
  if (state === ignore) {
    actor.end(normal)
    throw new RuntimeError('IGNORED', `${actor.name}: init declined to start`)
  }
  if (actor.reason !== null) throw endedEarly(actor, formatReason(actor.reason))
  actor.started(state)
  for (const name of actor.belongings?.names ?? []) actor.tree.registry.rise(name, actor)
  return actor.ref
}

function startError(actor: Actor, error: unknown): RuntimeError {
  if (error instanceof RuntimeError && error.code === 'IGNORED') return error
  if (actor.reason === null) {
    actor.reportCrash(crash(error), 'init')
    actor.end(crash(error))
  }
  const message = error instanceof Error ? error.message : String(error)
  return new RuntimeError('START_FAILED', `${actor.name}: init failed: ${message}`, { cause: error })
}

function endedEarly(actor: Actor, why: string): RuntimeError {
  return new RuntimeError('START_FAILED', `${actor.name}: ended before init was done (${why})`, { data: { reason: actor.reason } })
}

function checkStart(behaviour: unknown, options: StartOptions): void {
  const made = typeof behaviour === 'object' && behaviour !== null && 'definition' in behaviour && 'calls' in behaviour
  if (!made) throw new RuntimeError('BAD_BEHAVIOUR', `expected what defineActor returns, got ${show(behaviour)}`)
  const { startTimeout } = options
  if (startTimeout !== undefined && !(typeof startTimeout === 'number' && startTimeout > 0)) {
    throw new RuntimeError('BAD_OPTION', `startTimeout: expected milliseconds above 0, got ${show(startTimeout)}`)
  }
}
