import type { RequestId } from '../../protocol/wire/jsonrpc.js'
import type { RefOf } from '../../runtime/process/ref.js'
import type { TaskContext } from '../../runtime/tasks/task.js'
import type { Peer } from '../../transports/contract/contract.js'
import type { OpenSessionFacts, RequestScope } from '../context/context.js'
import { AskError } from '../base/errors.js'
import type { RequestFacts } from '../context/request-facts.js'
import type { sessionActor } from './session-actor.js'
import type { SessionFrame } from '../context/session-frame.js'
import type { Changes } from '../context/changes.js'
import { Steps } from '../context/steps.js'

/** What code of a session that works for no request may go by. */
export interface SessionScopeOptions {
  readonly session: OpenSessionFacts
  readonly self: RefOf<typeof sessionActor>
  readonly task: TaskContext
  readonly peer: Peer
  readonly request: RequestFacts
  /** Why nobody can be asked. */
  readonly silent: string
  readonly frame: SessionFrame
}

/** A context without a request: there is nobody to tell or to ask. */
export class SessionScope implements RequestScope {
  readonly session: OpenSessionFacts
  readonly requestId: RequestId
  readonly request: RequestFacts
  readonly progressToken = undefined
  readonly peer: Peer
  readonly #options: SessionScopeOptions
  readonly #steps = new Steps()
  #changed = false

  constructor(options: SessionScopeOptions) {
    this.session = options.session
    this.requestId = options.request.id
    this.request = options.request
    this.peer = options.peer
    this.#options = options
  }

  /** Whether it has changed what the session keeps. */
  get changed(): boolean {
    return this.#changed
  }

  get signal(): AbortSignal {
    return this.#options.task.signal
  }

  get assigned(): Readonly<Record<string, unknown>> {
    return this.#options.frame.assigns
  }

  assign(values: object): void {
    this.#options.frame.assign(values)
  }

  get changes(): Changes {
    return this.#options.frame.changes
  }

  tell(): boolean {
    return false
  }

  wantsLog(): boolean {
    return false
  }

  ask(): Promise<never> {
    return Promise.reject(new AskError('NOT_INITIALIZED', this.#options.silent))
  }

  once<Value>(key: string, fn: () => Value | Promise<Value>): Promise<Value> {
    return this.#steps.once(key, fn)
  }

  read(key: string) {
    return this.#options.self.call('read', key)
  }

  async swap(key: string, version: number, value: unknown) {
    const other = await this.#options.self.call('swap', { key, version, value })
    if (other === undefined) this.#changed = true
    return other
  }
}
