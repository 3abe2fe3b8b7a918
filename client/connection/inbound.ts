import { decode } from '../../protocol/wire/codec.js'
import { acceptsNotification } from '../../protocol/dialects/dialect.js'
import { ProtocolError } from '../../protocol/wire/errors.js'
import {
  type InvalidMessage,
  isRequest,
  isResponse,
  type JsonRpcErrorResponse,
  type JsonRpcNotification,
  type JsonRpcResult,
  type Message,
} from '../../protocol/wire/jsonrpc.js'
import {
  isNotificationMethod,
  type NotificationMethod,
  type NotificationParams,
} from '../../protocol/messages/methods.js'
import { readNotificationParams } from '../../protocol/messages/params.js'
import type { JsonObject } from '../../protocol/wire/json.js'
import { greeted, greetedBadly } from './greeting.js'
import { TransportError } from '../../transports/base/errors.js'
import type { Incarnation } from './incarnation.js'
import { listenedTo } from './listening.js'

/**
 * Takes one text of the server: an answer, a question, news, or a batch of them. What is none of these is
 * counted and dropped.
 */
export function receive(state: Incarnation, text: string): void {
  for (const message of read(text)) {
    if (message instanceof ProtocolError && state.connection.phase === 'initializing') babbled(state, text)
    take(state, message)
  }
}

/** Most likely a line of a log: whoever waits for the handshake is told the first one. */
function babbled(state: Incarnation, text: string): void {
  if (state.babble !== undefined) return
  state.babble = JSON.stringify(text.length > 100 ? `${text.slice(0, 100)}...` : text)
  const hint = state.settings.transport.spawns ? ' (logs belong on its standard error)' : ''
  const message = `the server has not answered yet, and wrote what is no message of MCP: ${state.babble}${hint}`
  state.connection.send({ type: 'babbled', reason: new TransportError('BAD_RESPONSE', message) })
}

function take(state: Incarnation, message: Message | ProtocolError): void {
  if (message instanceof ProtocolError) takeJunk(state, message)
  else if (isRequest(message)) state.questions.take(message)
  else if (isResponse(message)) takeAnswer(state, message)
  else takeNews(state, message)
}

/**
 * Batches are taken in every revision: one that has none sends none. What is no message is the error that
 * says why.
 */
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
  if (id === state.greeting?.id) greetedBadly(state, error)
  else if (!state.own.answeredBadly(id, error)) state.calls.answeredBadly(id, error)
}

function takeAnswer(state: Incarnation, message: JsonRpcResult | JsonRpcErrorResponse): void {
  if (message.id === undefined) state.holdings.counts.junk += 1
  else if (message.id === state.greeting?.id) greeted(state, message)
  else if (!state.own.answered(message)) state.calls.answer(message)
}

function takeNews(state: Incarnation, { method, params }: JsonRpcNotification): void {
  const { holdings, speech } = state
  if (!acceptsNotification(speech.dialect, 'client', method)) {
    // one of ours that this revision, or this side, does not have is none of a user's either
    if (isNotificationMethod(method)) holdings.counts.junk += 1
    else holdings.notify(method, params ?? {})
    return
  }
  const checked = readNews(method, params)
  if (checked === undefined) {
    holdings.counts.junk += 1
    return
  }
  if (!act(state, method, checked)) return
  if (method === 'notifications/message' && !holdings.hears(method))
    holdings.reports.log(checked as NotificationParams<'notifications/message'>)
  else holdings.notify(method, checked as Record<string, unknown>)
}

/** What news means for the client itself; false when nobody else is to hear of it. */
function act(
  state: Incarnation,
  method: NotificationMethod,
  params: NotificationParams<NotificationMethod>,
): boolean {
  const { calls, questions, listening, speech, holdings } = state
  switch (method) {
    case 'notifications/progress':
      calls.report(params as NotificationParams<'notifications/progress'>)
      return true
    case 'notifications/cancelled': {
      const { requestId } = params as NotificationParams<'notifications/cancelled'>
      questions.cancelled(requestId)
      listening.cancelled(requestId)
      return true
    }
    case 'notifications/subscriptions/acknowledged':
      listening.acknowledged(params as Parameters<typeof listening.acknowledged>[0])
      return true
    default: {
      const told =
        speech.dialect.handshake || !listenedTo.has(method) || listening.tells(params as JsonObject)
      if (told) holdings.changed(method, params as JsonObject)
      return told
    }
  }
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
