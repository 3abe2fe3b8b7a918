import type { Dialect } from '../../protocol/dialects/dialect.js'
import { dialectOf, haveHandshake } from '../../protocol/dialects/versions.js'
import {
  checkModernHeaders,
  eraOfHttp,
  type HttpEra,
  unsupportedHandshake,
} from '../../protocol/stateless/era.js'
import type { Batch } from '../../protocol/wire/codec.js'
import { errorCodes, McpError } from '../../protocol/wire/errors.js'
import { isRequest, type JsonRpcRequest, type Message } from '../../protocol/wire/jsonrpc.js'
import { TransportError } from '../base/errors.js'
import type { Inbound, MessageSink, Outcome, Peer } from '../contract/contract.js'
import { sessionIn } from '../contract/session-header.js'
import { accepted, type Arrival, type Reception } from './receive.js'

/** A message that came by itself, by HTTP: its headers say what a connection would remember. */
export class Post implements Arrival {
  readonly mirrored = true
  readonly peer: Peer
  readonly sink: MessageSink
  readonly #acceptsBoth: boolean
  readonly #to: Reception

  constructor({ peer, sink, acceptsBoth }: Omit<Inbound, 'text'>, to: Reception) {
    this.peer = peer
    this.sink = sink
    this.#acceptsBoth = acceptsBoth
    this.#to = to
  }

  eraOf(message: Message | Batch): HttpEra | Outcome {
    const { revisions } = this.#to
    const { headers } = this.peer
    const era = eraOfHttp(message, headers)
    const isOfRequest = !Array.isArray(message) && isRequest(message as Message)
    if (era.era === 'modern') {
      const { envelope } = era
      if (envelope !== undefined && isOfRequest)
        checkModernHeaders(message as JsonRpcRequest, envelope, headers, revisions)
      return era
    }
    if (haveHandshake(revisions)) return this.#acceptsBoth ? era : unacceptable
    if (isOfRequest) throw unsupportedHandshake(message as JsonRpcRequest, revisions)
    return accepted
  }

  sessionOf(message: Message | undefined): string | undefined {
    const { headers } = this.peer
    if (message === undefined || !isRequest(message) || message.method !== 'initialize')
      return sessionIn(headers, this.#to.revisions)
    if (headers['mcp-session-id'] === undefined) return undefined
    const problem = 'initialize opens a session of its own: send it without Mcp-Session-Id'
    throw new McpError(errorCodes.invalidRequest, problem)
  }

  async dialect(session: string | undefined): Promise<Dialect | undefined> {
    const revision = session === undefined ? undefined : await this.#to.services.admit?.(session, this.peer)
    return revision === undefined ? undefined : dialectOf(revision)
  }

  /** The end of its connection cancels a request of 2026-07-28, and nothing else (specification). */
  cancels(): boolean {
    return false
  }

  enter(
    { id, method }: JsonRpcRequest,
    sessionId: string | undefined,
    begin: (sink: MessageSink) => void,
  ): void {
    const { sink } = this
    const lasts = sessionId === undefined && method === 'subscriptions/listen'
    // the answer to `initialize` says the session in its head
    const mayStream = sessionId === undefined && method !== 'initialize' && this.#acceptsBoth
    sink.expects?.({ id, sessionId, lasts, mayStream })
    // subscriptions were ended a moment ago
    if (lasts && this.#to.isDraining()) return sink.end({ type: 'failed', error: isStopping() })
    // the client has gone: the server need not know
    if (sessionId !== undefined || method === 'initialize' || sink.isOver !== true) begin(sink)
  }

  part(sink: MessageSink): Arrival {
    return new Post({ peer: this.peer, sink, acceptsBoth: true }, this.#to)
  }
}

const unacceptable: Outcome = Object.freeze({
  type: 'unacceptable',
  why: 'Accept: expected application/json and text/event-stream',
})

function isStopping(): TransportError {
  return new TransportError('SEND_FAILED', 'The server is being stopped', { retryable: true })
}
