import { McpError, ProtocolError, type ProtocolErrorCode } from '../../protocol/wire/errors.js'
import type { Message } from '../../protocol/wire/jsonrpc.js'
import { RuntimeError, type RuntimeErrorCode } from '../../runtime/base/errors.js'
import { encodedText, textOf } from '../../transports/base/encoded.js'
import { TransportError, type TransportErrorCode } from '../../transports/base/errors.js'
import type { Peer, Response } from '../../transports/contract/contract.js'

/**
 * A message from the port of one node to that of another; plain data. `id` is that of the `ask`, unique among
 * nodes.
 */
export type PortMessage =
  /** Has a request served by the node of its session. */
  | {
      readonly type: 'ask'
      readonly id: string
      readonly ask: NodeRequest
      readonly peer: Peer | undefined
    }
  /** A reader has gone. */
  | { readonly type: 'detach'; readonly id: string }
  /** A JSON-RPC message to the client that is not the answer, as its text. */
  | { readonly type: 'message'; readonly id: string; readonly text: string }
  | { readonly type: 'negotiated'; readonly id: string; readonly revision: string }
  | { readonly type: 'released'; readonly id: string }
  /** The end of a reader; `goesOn`: its session goes on. */
  | { readonly type: 'over'; readonly id: string; readonly goesOn?: boolean }
  /** The answer to an `ask`; a reader gets messages after it, too. */
  | { readonly type: 'answer'; readonly id: string; readonly answer: NodeAnswer }
  | { readonly type: 'failed'; readonly id: string; readonly problem: Problem }
  /** An `ask` that did not reach its node, which had ended. */
  | { readonly type: 'undelivered'; readonly id: string }

export type NodeRequest =
  | { readonly do: 'open'; readonly text: string }
  | {
      readonly do: 'deliver'
      readonly sessionId: string
      readonly text: string
      readonly mayRelease: boolean
    }
  | { readonly do: 'attach'; readonly sessionId: string; readonly isDeaf: boolean }
  | { readonly do: 'close'; readonly sessionId: string }

/** Texts of responses; `sessionId` of an opened session. */
export type NodeAnswer = {
  readonly texts: readonly string[]
  readonly sessionId?: string | undefined
}

export type Problem =
  | { readonly type: 'elsewhere' }
  | {
      readonly type: 'error'
      readonly floor: 'transport' | 'protocol' | 'runtime' | 'mcp'
      readonly code: string | number
      readonly message: string
      readonly retryable: boolean
      readonly data: unknown
    }

/** The text was made by a node of ours. */
export function messageOf<Kind extends Message = Message>(text: string): Kind {
  return Object.defineProperty(JSON.parse(text) as Kind, encodedText, {
    value: text,
  })
}

export function answerOf(responses: readonly (Response | undefined)[], sessionId?: string): NodeAnswer {
  return {
    texts: responses.flatMap((each) => (each === undefined ? [] : [textOf(each)])),
    ...(sessionId !== undefined && { sessionId }),
  }
}

export function responsesOf({ texts }: NodeAnswer): Response[] {
  return texts.map((text) => messageOf<Response>(text))
}

/** An error as plain data. */
export function problemOf(error: unknown): Problem {
  const floor = floorOf(error)
  const { code, message, retryable, data } = error as TransportError
  if (floor === undefined)
    return {
      type: 'error',
      floor: 'runtime',
      code: 'EXITED',
      message: String(error),
      retryable: false,
      data: {},
    }
  return {
    type: 'error',
    floor,
    code,
    message,
    retryable: retryable === true,
    data: plain(data),
  }
}

export function errorOf(problem: Problem): Error {
  if (problem.type === 'elsewhere') return new Error('elsewhere')
  const { floor, code, message, retryable, data } = problem
  const details = { retryable, data }
  if (floor === 'transport') return new TransportError(code as TransportErrorCode, message, details)
  if (floor === 'protocol') return new ProtocolError(code as ProtocolErrorCode, message, details)
  if (floor === 'mcp') return new McpError(code as number, message, { data })
  return new RuntimeError(code as RuntimeErrorCode, message, details)
}

/** What a session has to know of a peer, as data. Assigns that cannot be copied stay behind. */
export function plainPeer(peer: Peer): Peer {
  const { transport, headers, remoteAddress, query, scheme, principal, trusted, assigns } = peer
  return {
    transport,
    headers: { ...headers },
    remoteAddress,
    query,
    scheme,
    principal: principal && (plain(principal) as Peer['principal']),
    ...(trusted !== undefined && { trusted }),
    ...(assigns !== undefined && { assigns: plainFields(assigns) }),
  }
}

function plainFields(fields: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(fields).filter(([, value]) => value === undefined || plain(value) !== undefined),
  )
}

/** Undefined for what cannot be copied. */
function plain(value: unknown): unknown {
  try {
    return structuredClone(value)
  } catch {
    return undefined
  }
}

function floorOf(error: unknown): 'transport' | 'protocol' | 'runtime' | 'mcp' | undefined {
  if (error instanceof TransportError) return 'transport'
  if (error instanceof McpError) return 'mcp'
  if (error instanceof ProtocolError) return 'protocol'
  return error instanceof RuntimeError ? 'runtime' : undefined
}
