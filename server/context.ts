import { buildNotification, type RequestId } from '../protocol/jsonrpc.js'
import type { Implementation, ProgressToken } from '../protocol/types/base.js'
import type { ClientCapabilities } from '../protocol/types/capabilities.js'
import { show } from '../runtime/errors.js'
import type { Peer } from '../transports/contract.js'
import { ServerError } from './errors.js'
import type { StateValue } from './session-state.js'

/** The session a request belongs to. */
export interface SessionFacts {
  readonly id: string
  /** Who the client says it is: for display, never for behaviour or security. */
  readonly client: Readonly<Implementation>
  readonly revision: string
  readonly capabilities: Readonly<ClientCapabilities>
}

/** What a context is made from: the request's own facts, and its ways to the session and to the client. */
export interface RequestScope {
  readonly session: SessionFacts
  readonly requestId: RequestId
  readonly progressToken: ProgressToken | undefined
  readonly peer: Peer
  readonly signal: AbortSignal
  /** Sends a notification that belongs to this request; false when nobody takes it any more. */
  send(message: ReturnType<typeof buildNotification>): boolean
  read(key: string): Promise<StateValue>
  /** Answers undefined when the value was taken, and otherwise the value that came in between. */
  swap(key: string, version: number, value: unknown): Promise<StateValue | undefined>
}

/** A function, whatever it takes; without a signature here, its parameters keep the types that it gives them. */
interface AnyFunction {
  readonly name: string
  readonly length: number
}

type Returned<Fn> = Fn extends (...args: never[]) => infer Value ? Awaited<Value> : never

/** What a tool may do besides computing its result; good for one call, and without effect after it. */
export class ToolContext {
  readonly #scope: RequestScope
  #progress = Number.NEGATIVE_INFINITY

  constructor(scope: RequestScope) {
    this.#scope = scope
  }

  get session(): SessionFacts {
    return this.#scope.session
  }

  get requestId(): RequestId {
    return this.#scope.requestId
  }

  /** The request's headers and address, where the transport has such; never kept with the session. */
  get peer(): Peer {
    return this.#scope.peer
  }

  /** Aborted when the client cancels the call, when its time is up, and when its session ends. */
  get signal(): AbortSignal {
    return this.#scope.signal
  }

  /**
   * Tells the client how far the work is, if it wants to know; false when nobody was told. Progress that does not grow is not sent
   * (specification: progress).
   */
  progress(progress: number, total?: number, message?: string): boolean {
    const { progressToken } = this.#scope
    if (progressToken === undefined || !(Number.isFinite(progress) && progress > this.#progress)) return false
    this.#progress = progress
    const params = {
      progressToken,
      progress,
      ...(total !== undefined && { total }),
      ...(message !== undefined && { message }),
    }
    return this.#scope.send(buildNotification('notifications/progress', params))
  }

  /** A copy of what this session keeps under a key. */
  async get<Value = unknown>(key: string): Promise<Value | undefined> {
    const { value } = await this.#scope.read(checkKey(key))
    return copy(key, value) as Value | undefined
  }

  /**
   * Changes what this session keeps under a key, and resolves with the new value; `undefined` deletes it. `fn` is given a copy, runs in this
   * call, and runs again when another call of the session was quicker, so no change is lost. Sessions come back with their values
   * after a crash. Rejects with BAD_STATE for what cannot be copied (functions, sockets and the like).
   */
  update<Fn extends AnyFunction>(key: string, fn: Fn): Promise<Returned<Fn>>
  update<Value>(key: string, fn: (value: Value | undefined) => Value | Promise<Value>): Promise<Value>
  async update(key: string, fn: AnyFunction): Promise<unknown> {
    if (typeof fn !== 'function')
      throw new ServerError('BAD_STATE', `update: expected a function, got ${show(fn)}`)
    const change = fn as (value: unknown) => unknown
    let seen = await this.#scope.read(checkKey(key))
    for (;;) {
      const next = await change(copy(key, seen.value))
      const other = await this.#scope.swap(key, seen.version, copy(key, next))
      if (other === undefined) return next
      seen = other
    }
  }
}

function checkKey(key: unknown): string {
  if (typeof key === 'string' && key !== '') return key
  throw new ServerError('BAD_STATE', `key: expected a non-empty string, got ${show(key)}`)
}

function copy(key: string, value: unknown): unknown {
  if (typeof value !== 'object' && typeof value !== 'function' && typeof value !== 'symbol') return value
  try {
    return structuredClone(value)
  } catch (cause) {
    const problem = `${show(key)}: session state takes values that can be copied (structuredClone), got ${show(value)}`
    throw new ServerError('BAD_STATE', problem, { cause, data: { key } })
  }
}
