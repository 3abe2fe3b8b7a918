import type { Credentials, CredentialsVisit, WantedCredentials } from '../../transports/contract/principal.js'
import { AsyncResource } from 'node:async_hooks'
import type { NotificationParams, NotificationTo, Params, Result } from '../../protocol/messages/methods.js'
import { defineActor } from '../../runtime/process/behaviour.js'
import type { ActorContext } from '../../runtime/process/context.js'
import type { Deferred } from '../../runtime/process/program.js'
import { processOf } from '../../runtime/process/ref.js'
import type { World } from '../../runtime/time/world.js'
import type { AskMethod, AskOptions } from '../context/ask.js'
import type { ListKind } from '../context/changes.js'
import type { RequestScope } from '../context/context.js'
import type { StateValue } from '../context/session-state.js'
import { type CallFacts, factsOfCall } from './facts.js'

/** A question, and the step (`ctx.once`) that it is part of. */
interface WorkerQuestion {
  readonly key: string
  readonly method: AskMethod
  readonly params: Params<AskMethod>
  readonly options: AskOptions
  readonly within: string | undefined
}

export interface Answered {
  readonly result: Result<AskMethod>
  /** What has changed of the request: in 2026-07-28 an answer comes with another one. */
  readonly facts: CallFacts | undefined
}

/** How a step began: the worker runs it, or it has a value already. */
export type Begun = { readonly isNew: true } | { readonly isNew: false; readonly value: unknown }

/** How a step came out: the JSON of its value, or what it threw. */
type StepEnd =
  | { readonly key: string; readonly text: string | undefined }
  | { readonly key: string; readonly error: unknown }

type ClientNotification = {
  [N in NotificationTo<'client'>]: { method: N; params: NotificationParams<N> }
}[NotificationTo<'client'>]

/**
 * Serves `ctx` of an isolated handler: one for each call, a child of the call's task. So nothing is done for a
 * call that is over. No message waits for another.
 */
export const deskActor = defineActor({
  name: 'desk',
  stray: 'report',
  init: (scope: RequestScope, ctx: ActorContext) => new Desk(scope, processOf(ctx.self).tree.world),
  call: {
    ask: (desk, asked: WorkerQuestion, ctx): Deferred<Answered> => later(ctx, () => desk.ask(asked)),
    begin: (desk, step: { key: string; within: string | undefined }, ctx): Deferred<Begun> =>
      later(ctx, () => desk.begin(step.key, step.within)),
    finish: (desk, end: StepEnd, ctx): Deferred<void> => later(ctx, () => desk.finish(end)),
    read: ({ scope }, key: string, ctx): Deferred<StateValue> => later(ctx, () => scope.read(key)),
    swap: (
      { scope },
      { key, version, value }: { key: string; version: number; value: unknown },
      ctx,
    ): Deferred<StateValue | undefined> => later(ctx, () => scope.swap(key, version, value)),
    credentials: (
      { scope },
      wanted: WantedCredentials | undefined,
      ctx,
    ): Deferred<Credentials | CredentialsVisit> => later(ctx, () => scope.credentials(wanted)),
    resourceUpdated: ({ scope }, uri: string, ctx): Deferred<void> =>
      later(ctx, async () => scope.changes.resourceUpdated(uri)),
    listChanged: ({ scope }, list: ListKind, ctx): Deferred<void> =>
      later(ctx, async () => scope.changes.listChanged(list)),
    /** All that came before it is done. */
    heard: () => undefined,
  },
  cast: {
    tell({ scope }, { method, params }: ClientNotification) {
      // the client may have chosen another level meanwhile
      if (method === 'notifications/message' && !scope.wantsLog(params.level)) return
      scope.tell(method, params as never)
    },
    assign({ scope }, values: object) {
      try {
        scope.assign(values)
      } catch {
        // the handler has the error already; here it is warned of
      }
    },
    release({ scope }) {
      scope.release?.()
    },
  },
})

interface RunningStep {
  /** Runs what the step does here. */
  readonly inside: <T>(fn: () => T) => T
  readonly resolve: (value: unknown) => void
  readonly reject: (error: unknown) => void
  readonly outcome: Promise<unknown>
}

class Desk {
  readonly scope: RequestScope
  /** Steps that run in the worker, by key. */
  readonly #steps = new Map<string, RunningStep>()
  readonly #world: World

  constructor(scope: RequestScope, world: World) {
    this.scope = scope
    this.#world = world
  }

  async ask({ key, method, params, options, within }: WorkerQuestion): Promise<Answered> {
    const { requestId } = this.scope
    const result = await this.#in(within, () => this.scope.ask(key, method, params, options))
    return { result, facts: this.scope.requestId === requestId ? undefined : factsOfCall(this.scope) }
  }

  begin(key: string, within: string | undefined): Promise<Begun> {
    return new Promise((resolve, reject) => {
      const outcome = this.#in(within, () =>
        this.scope.once(key, () => {
          const { promise, ...settle } = settled()
          const inside = AsyncResource.bind((fn: () => unknown) => fn()) as RunningStep['inside']
          // after `outcome` is there
          this.#world.queueMicrotask(() => {
            this.#steps.set(key, { inside, outcome, ...settle })
            resolve({ isNew: true })
          })
          return promise
        }),
      )
      outcome.then((value) => resolve({ isNew: false, value }), reject)
    })
  }

  async finish(end: StepEnd): Promise<void> {
    const step = this.#steps.get(end.key)
    if (step === undefined) return
    this.#steps.delete(end.key)
    if ('error' in end) {
      step.reject(end.error)
      await step.outcome.catch(() => {})
    } else {
      step.resolve(end.text === undefined ? undefined : JSON.parse(end.text))
      await step.outcome
    }
  }

  #in<T>(within: string | undefined, fn: () => T): T {
    const step = within === undefined ? undefined : this.#steps.get(within)
    return step === undefined ? fn() : step.inside(fn)
  }
}

/** Answers a call when the work is done, also with an error. */
function later<T>(ctx: ActorContext, work: () => Promise<T>): Deferred<T> {
  const reply = ctx.defer<T>()
  attempt(work).then(
    (value) => reply.resolve(value),
    (error) => reply.reject(error),
  )
  return reply
}

/** A throw is a rejection, too. */
async function attempt<T>(work: () => Promise<T>): Promise<T> {
  return work()
}

function settled() {
  let resolve = (_value: unknown): void => {}
  let reject = (_error: unknown): void => {}
  const promise = new Promise<unknown>((...settle) => {
    ;[resolve, reject] = settle
  })
  return { promise, resolve, reject }
}
