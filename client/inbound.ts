import { decode } from '../protocol/codec.js'
import { acceptsNotification } from '../protocol/dialect.js'
import { errorCodes, ProtocolError } from '../protocol/errors.js'
import {
  buildError,
  buildResult,
  type InvalidMessage,
  isRequest,
  isResponse,
  type JsonRpcErrorResponse,
  type JsonRpcNotification,
  type JsonRpcRequest,
  type JsonRpcResult,
  type Message,
} from '../protocol/jsonrpc.js'
import type { NotificationMethod, NotificationParams } from '../protocol/methods.js'
import { readNotificationParams } from '../protocol/params.js'
import { latestHandshake } from '../protocol/versions.js'
import { initializedNotification, readGreeting, unreadableGreeting } from './handshake.js'
import { type Incarnation, refused } from './incarnation.js'

/** Takes one text of the server: an answer, a question, news, or a batch of them. What is none of these is counted and dropped. */
export function receive(state: Incarnation, text: string): void {
  for (const message of read(text)) take(state, message)
}

function take(state: Incarnation, message: Message | ProtocolError): void {
  if (message instanceof ProtocolError) takeJunk(state, message)
  else if (isRequest(message)) answer(state, message)
  else if (isResponse(message)) takeAnswer(state, message)
  else takeNews(state, message)
}

/** Batches are taken in every revision: one that has none sends none. What is no message is the error that says why. */
function read(text: string): readonly (Message | ProtocolError)[] {
  try {
    const decoded = decode(text)
    return 'jsonrpc' in decoded ? [decoded] : decoded
  } catch (error) {
    if (error instanceof ProtocolError) return [error]
    throw error
  }
}

/** No message, but maybe the only answer that will come to a request of ours. */
function takeJunk(state: Incarnation, error: ProtocolError): void {
  state.holdings.counts.junk += 1
  const { about, id } = (error.data ?? {}) as Partial<InvalidMessage>
  if (id === undefined || about === 'request' || about === 'notification') return
  if (id === state.greeting) refused(state, unreadableGreeting(error), false)
  else if (id === state.probe) resume(state)
  else state.calls.answeredBadly(id, error)
}

function takeAnswer(state: Incarnation, message: JsonRpcResult | JsonRpcErrorResponse): void {
  if (message.id === undefined) state.holdings.counts.junk += 1
  else if (message.id === state.greeting) greeted(state, message)
  else if (message.id === state.probe) resume(state)
  else state.calls.answer(message)
}

/** The server is there again, and knows the session. */
function resume(state: Incarnation): void {
  state.probe = undefined
  state.connection.send({ type: 'resumed' })
}

/** The handshake ends: the transport learns the revision before anything is sent in it. */
function greeted(state: Incarnation, message: JsonRpcResult | JsonRpcErrorResponse): void {
  const greeting = readGreeting(message)
  if (!greeting.ok) return refused(state, greeting.reason, greeting.fatal)
  state.greeting = undefined
  state.holdings.server = greeting.server
  state.holdings.counts.sessions += 1
  state.link.negotiated(greeting.server.revision)
  state.link.tell(initializedNotification)
  state.connection.send({ type: 'initialized' })
}

/** The one question we answer is `ping`, at any time (specification: ping); the others name abilities that we do not declare. */
function answer({ link }: Incarnation, { id, method }: JsonRpcRequest): void {
  if (method === 'ping') return link.tell(buildResult(id, {}))
  link.tell(
    buildError(id, { code: errorCodes.methodNotFound, message: `Method not found: ${method.slice(0, 100)}` }),
  )
}

function takeNews({ holdings, calls }: Incarnation, { method, params }: JsonRpcNotification): void {
  if (!acceptsNotification(latestHandshake, 'client', method)) return holdings.notify(method, params ?? {})
  const checked = readNews(method, params)
  if (checked === undefined) {
    holdings.counts.junk += 1
    return
  }
  if (method === 'notifications/progress')
    calls.report(checked as NotificationParams<'notifications/progress'>)
  holdings.notify(method, checked as Record<string, unknown>)
}

function readNews<N extends NotificationMethod>(
  method: N,
  params: JsonRpcNotification['params'],
): NotificationParams<N> | undefined {
  try {
    return readNotificationParams(method, params)
  } catch (error) {
    if (error instanceof ProtocolError) return undefined
    throw error
  }
}
