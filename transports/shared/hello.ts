import { decode } from '../../protocol/wire/codec.js'
import { ProtocolError } from '../../protocol/wire/errors.js'
import { isObject, type JsonObject } from '../../protocol/wire/json.js'
import {
  buildError,
  buildRequest,
  buildResult,
  isRequest,
  type Message,
} from '../../protocol/wire/jsonrpc.js'

/** One client that a program shares, as a snapshot. */
export interface SharedClient {
  readonly name: string
  /** What it is doing: a `Phase` of clients. */
  readonly phase: string
  /** Name, version and revision of its server, once it was there. */
  readonly server?: { readonly name: string; readonly version: string; readonly revision: string }
}

/** The first message of a program that connects: it wants one client, or a list of them. */
export type Hello = { readonly type: 'open'; readonly client: string } | { readonly type: 'list' }

/** The reply to `Hello`; after `opened`, all that follows is MCP. */
export type HelloReply =
  | { readonly type: 'opened' }
  | { readonly type: 'clients'; readonly clients: readonly SharedClient[] }
  | { readonly type: 'refused'; readonly why: RefusalReason; readonly message: string }

/** Why a program is not let in: no client of that name, too many programs, or an unreadable first line. */
type RefusalReason = 'not_shared' | 'too_many' | 'unreadable'

const methods = Object.freeze({ open: 'caduceus/open', list: 'caduceus/clients' })
/** The key in the `data` of an error that has the outcome of the call. */
const outcomeKey = 'caduceus/shared'

export function writeHello(hello: Hello): Message {
  const params = hello.type === 'open' ? { client: hello.client } : undefined
  return buildRequest('hello', methods[hello.type], params)
}

export function readHello(text: string): Hello | undefined {
  const message = read(text)
  if (message === undefined || !isRequest(message)) return undefined
  if (message.method === methods.list) return { type: 'list' }
  const client = message.params?.client
  return message.method === methods.open && typeof client === 'string' ? { type: 'open', client } : undefined
}

export function writeHelloReply(reply: HelloReply): Message {
  switch (reply.type) {
    case 'opened':
      return buildResult('hello', {})
    case 'clients':
      return buildResult('hello', { clients: reply.clients })
    case 'refused':
      return buildError('hello', { code: -32600, message: reply.message, data: { why: reply.why } })
    default:
      return reply satisfies never
  }
}

export function readHelloReply(text: string): HelloReply | undefined {
  const message = read(text)
  if (message === undefined || 'method' in message) return undefined
  if ('result' in message) return readList(message.result)
  const { message: problem, data } = message.error
  const why =
    isObject(data) && (data.why === 'not_shared' || data.why === 'too_many') ? data.why : 'unreadable'
  return { type: 'refused', why, message: problem }
}

/** The outcome of a call that its owner could not make, or not finish. */
export interface CallOutcome {
  /** The code of the error at the owner. */
  readonly code: string
  /** Whether the server may have seen it. */
  readonly sent: boolean
  /** Whether the connection to the server ended while it was in flight. */
  readonly lost: boolean
  readonly retryable: boolean
  /** What else is known: exit code, last lines of standard error. */
  readonly facts: JsonObject
}

export function writeOutcome(outcome: CallOutcome): JsonObject {
  return { retryable: outcome.retryable, [outcomeKey]: outcome as unknown as JsonObject }
}

/** Reads an error that says what became of a call on its way; other messages are mostly not even decoded. */
export function readOutcome(
  text: string,
): { id: string | number; message: string; outcome: CallOutcome } | undefined {
  if (!text.includes(`"${outcomeKey}"`)) return undefined
  const message = read(text)
  if (message === undefined || !('error' in message) || message.id === undefined) return undefined
  const { data, message: problem } = message.error
  const outcome = isObject(data) ? data[outcomeKey] : undefined
  if (!isObject(outcome)) return undefined
  const { code, sent, lost, retryable, facts } = outcome
  return {
    id: message.id,
    message: problem,
    outcome: {
      code: String(code),
      sent: sent !== false,
      lost: lost === true,
      retryable: retryable === true,
      facts: isObject(facts) ? facts : {},
    },
  }
}

function readList({ clients }: JsonObject): HelloReply {
  if (!Array.isArray(clients)) return { type: 'opened' }
  return { type: 'clients', clients: clients.filter(isShared) }
}

function isShared(value: unknown): value is SharedClient {
  return isObject(value) && typeof value.name === 'string' && typeof value.phase === 'string'
}

function read(text: string): Message | undefined {
  try {
    const decoded = decode(text)
    return 'jsonrpc' in decoded ? decoded : undefined
  } catch (error) {
    if (error instanceof ProtocolError) return undefined
    throw error
  }
}
