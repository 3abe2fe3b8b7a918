import { isObject } from '../../protocol/wire/json.js'
import type { RequestId } from '../../protocol/wire/jsonrpc.js'
import { readersOf } from './read-options.js'

/** One call of a tool, read of a resource or get of a prompt, as it came out. */
export interface AuditEntry {
  /** When its answer was ready: ISO 8601, UTC. */
  readonly time: string
  readonly method: 'tools/call' | 'resources/read' | 'prompts/get'
  /**
   * The tool or prompt by the name that was called, or the address that was read; at most 2,000 characters.
   */
  readonly name: string
  /** The server behind a gateway that had it; absent if none was asked. */
  readonly server?: string
  /** What that server calls it. */
  readonly upstreamName?: string
  /** The principal who called; without both, somebody anonymous. */
  readonly issuer?: string
  /** A user, or the name of a token in the file of `caduceus serve`. */
  readonly subject?: string
  /** The client program, as the principal says. */
  readonly clientId?: string
  /** Where it came from; behind proxies that are trusted, the address before them. */
  readonly address?: string
  /** Eight characters of a digest of the id of its session. */
  readonly session?: string
  /** The same of the task that it ran in. */
  readonly task?: string
  /**
   * - `ok`: a result.
   * - `failed`: the result of a tool that says `isError`.
   * - `task`: it goes on as a task, which has an entry of its own at its end.
   * - `input_required`: it goes on when its client has answered (2026-07-28).
   * - `refused`: it reached no tool: unknown, not allowed, held back, too many at once.
   * - `timeout`, `cancelled`, and `error` for any other error.
   */
  readonly outcome:
    | 'ok'
    | 'failed'
    | 'task'
    | 'input_required'
    | 'refused'
    | 'timeout'
    | 'cancelled'
    | 'error'
  /** The JSON-RPC code of an error. */
  readonly code?: number
  /** Why it was refused, or came to nothing here; absent for errors in the words of others. */
  readonly reason?: string
  /** Milliseconds. */
  readonly duration: number
  /** The trace of a `traceparent` (W3C Trace Context). */
  readonly trace?: string
  /** The id of the request, as its client chose it. */
  readonly request: RequestId
  /** The header `x-request-id`. */
  readonly requestId?: string
  /**
   * With the option `arguments`: as they were sent; of more than 16,384 characters of JSON the first, as a
   * text.
   */
  readonly arguments?: unknown
  /** With the option `results`: the result, or the error; cut in the same way. */
  readonly result?: unknown
}

/** The option `audit` of a server: who called what, and how it came out. */
export interface Audit {
  /**
   * Takes an entry. The answer to its call waits for what this returns, 10 s at most: then, and when this
   * throws or rejects, the entry counts as lost.
   */
  readonly write: (entry: AuditEntry) => void | Promise<void>
  /** Whether entries have the arguments of calls. They may be secret. Default false. */
  readonly arguments?: boolean
  /** Whether entries have results, and errors in full. Default false. */
  readonly results?: boolean
  /**
   * What becomes of calls whose entries are lost. `refuse`: such a call is answered with -32603 in place of
   * its result, and others are refused before they do anything, until an entry is taken again. `tell`: they
   * are answered, and it is logged. Default `refuse`.
   */
  readonly onFailure?: 'refuse' | 'tell'
}

/** The same, read. */
export type AuditPlan = Required<Audit>

const { badOption, readFlag, readWord } = readersOf()

/** Throws BAD_OPTION. */
export function readAudit(value: unknown, field: string): AuditPlan {
  const fields = ['write', 'arguments', 'results', 'onFailure']
  if (!isObject(value) || typeof value.write !== 'function')
    throw badOption(field, 'an object with a function write', value)
  const unknown = Object.keys(value).find((name) => !fields.includes(name))
  if (unknown !== undefined) throw badOption(`${field}.${unknown}`, `one of ${fields.join(', ')}`, unknown)
  const { write, arguments: args, results, onFailure } = value
  return Object.freeze({
    write: write as Audit['write'],
    arguments: args === undefined ? false : readFlag(args, `${field}.arguments`),
    results: results === undefined ? false : readFlag(results, `${field}.results`),
    onFailure:
      onFailure === undefined ? 'refuse' : readWord(onFailure, `${field}.onFailure`, ['refuse', 'tell']),
  })
}
