import { McpError, ProtocolError } from '../../protocol/wire/errors.js'
import {
  buildNotification,
  buildRequest,
  type JsonRpcErrorResponse,
  type JsonRpcResult,
  type RequestId,
} from '../../protocol/wire/jsonrpc.js'
import { readResult } from '../../protocol/messages/params.js'
import type { Deferred } from '../../runtime/process/behaviour.js'
import type { ActorContext } from '../../runtime/process/context.js'
import { TurnoverMap } from '../../runtime/base/turnover.js'
import type { TimerRef } from '../../runtime/process/timers.js'
import type { Sink } from '../../transports/contract/contract.js'
import type { AskMethod } from '../context/ask.js'
import { AskError } from '../base/errors.js'

export interface ClientQuestion {
  readonly of: RequestId
  readonly method: AskMethod
  /** Plain JSON. */
  readonly params: object | undefined
  /** Milliseconds. */
  readonly timeout: number
}

interface Open {
  readonly asking: ClientQuestion
  readonly sink: Sink
  readonly reply: Deferred<object>
  readonly timer: TimerRef
}

/** Questions of one session at once. */
const maxOpen = 100

/** The open questions of a session, each with a deadline. */
export class SessionQuestions {
  readonly #open = new TurnoverMap<RequestId, Open>()
  /** Differs at each start of the session: ids are never used twice. */
  readonly #prefix: string
  #count = 0

  constructor(prefix: string) {
    this.#prefix = prefix
  }

  /**
   * Sends a question over the stream of its request; the reply to the call that asks comes with the answer.
   * Until the client is ready, only `ping` may be sent (specification: lifecycle). `info.timer` gets the id
   * when the time is up. Throws AskError when it cannot be asked.
   */
  ask(asking: ClientQuestion, sink: Sink, isReady: boolean, ctx: ActorContext): Deferred<object> {
    const { method, params, timeout } = asking
    if (!isReady && method !== 'ping')
      throw new AskError('NOT_INITIALIZED', `${method}: the client has not sent notifications/initialized`)
    if (this.#open.size >= maxOpen)
      throw new AskError('TOO_MANY_QUESTIONS', `a session may have ${maxOpen} questions open`, {
        retryable: true,
      })
    this.#count += 1
    const id = `${this.#prefix}.${this.#count}`
    if (!sink.send(buildRequest(id, method, params)))
      throw new AskError('CLIENT_GONE', `${method}: the client no longer reads this request's stream`)
    const reply = ctx.defer<object>()
    this.#open.set(id, { asking, sink, reply, timer: ctx.sendAfter(timeout, id) })
    return reply
  }

  /** Takes the client's answer; a late one is dropped. */
  answer(response: JsonRpcResult | JsonRpcErrorResponse): void {
    const open = response.id === undefined ? undefined : this.#take(response.id)
    if (open === undefined) return
    const { method } = open.asking
    if ('error' in response) return open.reply.reject(refused(method, response))
    try {
      open.reply.resolve(readResult(method, response.result))
    } catch (cause) {
      if (!(cause instanceof ProtocolError)) throw cause
      open.reply.reject(new AskError('BAD_ANSWER', `the client's answer: ${cause.message}`, { cause }))
    }
  }

  expire(id: RequestId): void {
    const open = this.#take(id)
    if (open === undefined) return
    const { method, timeout } = open.asking
    const message = `${method}: no answer of the client within ${timeout} ms`
    open.reply.reject(new AskError('ASK_TIMEOUT', message, { retryable: true }))
    withdraw(id, open, 'the time is up')
  }

  drop(request: RequestId): void {
    for (const [id, open] of this.#open.entries()) {
      if (open.asking.of !== request) continue
      this.#take(id)
      withdraw(id, open, 'the request has ended')
    }
  }

  #take(id: RequestId): Open | undefined {
    const open = this.#open.get(id)
    this.#open.delete(id)
    open?.timer.cancel()
    return open
  }
}

function withdraw(requestId: RequestId, { sink }: Open, reason: string): void {
  sink.send(buildNotification('notifications/cancelled', { requestId, reason }))
}

function refused(method: AskMethod, { error: { code, message, data } }: JsonRpcErrorResponse): AskError {
  const cause = new McpError(code, message, { data })
  return new AskError('ASK_REFUSED', `${method}: the client answered with an error (${code}): ${message}`, {
    cause,
    data: { code },
  })
}
