import { type DecodeLimits, decode } from '../../protocol/wire/codec.js'
import { acceptsNotification } from '../../protocol/dialects/dialect.js'
import { ProtocolError } from '../../protocol/wire/errors.js'
import { describeLong, keptOfLong } from '../../protocol/wire/long-message.js'
import {
  type InvalidMessage,
  isRequest,
  isResponse,
  type JsonRpcNotification,
  type Message,
  type RequestId,
} from '../../protocol/wire/jsonrpc.js'
import {
  isNotificationMethod,
  type NotificationMethod,
  type NotificationParams,
} from '../../protocol/messages/methods.js'
import { readNotificationParams } from '../../protocol/messages/params.js'
import type { JsonObject } from '../../protocol/wire/json.js'
import { TransportError } from '../../transports/base/errors.js'
import type { LinkNews } from '../../transports/link/actor.js'
import type { Incarnation } from './incarnation.js'
import { listenedTo } from './listening.js'

/** Characters of an answer whose reading takes long: what comes after it need not wait for it. */
const long = 256 * 1024
/** Of such, that wait at a time; a server may send more than are asked for. */
const maxUnread = 64
/** Of a message that nobody asked for: a server may send as many of these as it likes. */
const maxUnaskedValues = 20_000
/** Of an answer: there is one for each request. */
const maxNames = 100_000

/** Reads a message, at once or behind others: of long answers, which have no order, one in a turn. */
export function receive(state: Incarnation, { link, text }: LinkNews['message']): void {
  const { unread, calls } = state
  // has no more values than characters
  if (text.length <= maxUnaskedValues) return take(state, text)
  const id = idOfAnswer(text)
  if (id === undefined) return take(state, text, { maxValues: maxUnaskedValues })
  if (!calls.awaits(id)) return calls.dropped(id)
  if (text.length <= long || unread.size >= maxUnread) return takeAnswer(state, text, id)
  const read = (): void => {
    if (state.link.is(link)) takeAnswer(state, text, id)
  }
  unread.add({ id, size: text.length, read })
  if (unread.size === 1) state.post(() => receiveNext(state))
}

function receiveNext(state: Incarnation): void {
  const { unread } = state
  if (unread.size > 1) state.post(() => receiveNext(state))
  unread.readNext()
}

/** Of what is no answer, or hides whose it is: undefined. */
function idOfAnswer(text: string): RequestId | undefined {
  const { about, id } = describeLong(text.slice(0, keptOfLong), text.slice(-keptOfLong))
  return about === 'response' ? id : undefined
}

/** A text whose two ends say what it answers. Whatever it is: there is no other answer. */
function takeAnswer(state: Incarnation, text: string, id: RequestId): void {
  const { calls } = state
  // there was one while it waited
  if (!calls.awaits(id)) return calls.dropped(id)
  const [message] = read(text, { maxNames })
  if (
    message !== undefined &&
    !(message instanceof ProtocolError) &&
    isResponse(message) &&
    message.id === id
  )
    return calls.answer(message)
  const error = message instanceof ProtocolError ? message : misleading
  takeJunk(state, error, text)
  calls.answeredBadly(id, error)
}

const misleading = new ProtocolError('INVALID_MESSAGE', 'the ends of the answer say another id than its id')

/** A message or a batch; anything else is counted and dropped. */
function take(state: Incarnation, text: string, limits?: DecodeLimits): void {
  for (const message of read(text, limits)) {
    if (message instanceof ProtocolError) takeJunk(state, message, text)
    else if (isRequest(message)) state.questions.take(message)
    else if (isResponse(message)) state.calls.answer(message)
    else takeNews(state, message)
  }
}

/** Batches are read in every revision: a server of one without them sends none. */
function read(text: string, limits?: DecodeLimits): readonly (Message | ProtocolError)[] {
  try {
    const decoded = decode(text, limits)
    return 'jsonrpc' in decoded ? [decoded] : decoded
  } catch (error) {
    if (error instanceof ProtocolError) return [error]
    throw error
  }
}

/** An invalid message may be the only answer to a request of ours. */
function takeJunk(state: Incarnation, error: ProtocolError, text: string): void {
  if (state.connection.phase === 'initializing') noteJunk(state, text)
  state.holdings.counts.junk += 1
  const { about, id } = (error.data ?? {}) as Partial<InvalidMessage>
  if (id === undefined || about === 'notification') return
  if (about === 'request') state.questions.unreadable(id, error)
  else state.calls.answeredBadly(id, error)
}

/** Most likely a line of a log: the first is shown to those who wait for the handshake. */
function noteJunk(state: Incarnation, text: string): void {
  if (state.firstJunk !== undefined) return
  state.firstJunk = JSON.stringify(text.length > 100 ? `${text.slice(0, 100)}...` : text)
  const hint = state.settings.transport.spawns ? ' (logs belong on its standard error)' : ''
  const message = `the server has not answered yet, and wrote what is no message of MCP: ${state.firstJunk}${hint}`
  state.connection.send({ type: 'junk', reason: new TransportError('BAD_RESPONSE', message) })
}

function takeNews(state: Incarnation, { method, params }: JsonRpcNotification): void {
  const { holdings, speech, connection } = state
  // the connection of a closed client still ends in order
  if (connection.phase === 'closed') return
  if (method.startsWith('notifications/tasks')) holdings.taskNews.told(params ?? {})
  if (!acceptsNotification(speech.dialect, 'client', method)) {
    // a method of the protocol that this revision, or a client, does not have is not for users either
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

/** What it means for the client itself; false when users must not hear of it. */
function act(
  state: Incarnation,
  method: NotificationMethod,
  params: NotificationParams<NotificationMethod>,
): boolean {
  const { calls, questions, listening, taskListening, speech, holdings } = state
  switch (method) {
    case 'notifications/progress':
      calls.report(params as NotificationParams<'notifications/progress'>)
      return true
    case 'notifications/cancelled': {
      const { requestId } = params as NotificationParams<'notifications/cancelled'>
      questions.cancelled(requestId)
      listening.cancelled(requestId)
      taskListening.cancelled(requestId)
      return true
    }
    case 'notifications/subscriptions/acknowledged':
      listening.acknowledged(params as Parameters<typeof listening.acknowledged>[0])
      taskListening.acknowledged(params as Parameters<typeof listening.acknowledged>[0])
      return true
    default: {
      const told =
        speech.dialect.handshake || !listenedTo.has(method) || listening.hears(method, params as JsonObject)
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
