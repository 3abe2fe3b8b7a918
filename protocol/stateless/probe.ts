import type { Dialect } from '../dialects/dialect.js'
import { errorCodes, type JsonRpcError } from '../wire/errors.js'
import { isObject } from '../wire/json.js'
import type { DiscoverResult } from '../messages/lifecycle.js'
import { isModernRevision, modernDialects } from '../dialects/versions.js'

/** The outcome of a client's `server/discover` with an envelope. */
export type ProbeOutcome =
  | { readonly type: 'result'; readonly result: DiscoverResult }
  /** A JSON-RPC error; over HTTP also one in the body of an error status. */
  | { readonly type: 'error'; readonly error: JsonRpcError; readonly status?: number }
  /** An HTTP status without a JSON-RPC error in its body. */
  | { readonly type: 'status'; readonly status: number }
  | { readonly type: 'timeout' }
  /** The child process ended, or the pipe did. */
  | { readonly type: 'ended' }
  /** The server could not be reached. */
  | { readonly type: 'unreachable' }

/** What a client does after its probe. */
export type ProbeVerdict =
  | { readonly verdict: 'modern'; readonly dialect: Dialect }
  /** The probe is sent again, once, in this revision. */
  | { readonly verdict: 'again'; readonly dialect: Dialect }
  /** `initialize` comes next; with `restart` on a new connection. */
  | { readonly verdict: 'handshake'; readonly restart: boolean }
  /** The client has to sign in first; says nothing of the era. */
  | { readonly verdict: 'unauthorized' }
  /** The server is out of order; says nothing of the era. */
  | { readonly verdict: 'down' }
  /** There is no revision that both speak. */
  | { readonly verdict: 'no_common_revision'; readonly supported: readonly string[] }

/** How a probe was made. */
export interface Probe {
  readonly over: 'pipe' | 'http'
  /** Whether it is the one that was sent again. */
  readonly isSecond: boolean
}

/** A server that gives no answer now (RFC 9110, 8470, 6585). */
const waiting: ReadonlySet<number> = new Set([408, 425, 429])
const handshake: ProbeVerdict = Object.freeze({ verdict: 'handshake', restart: false })
const restarted: ProbeVerdict = Object.freeze({ verdict: 'handshake', restart: true })
const unauthorized: ProbeVerdict = Object.freeze({ verdict: 'unauthorized' })
const down: ProbeVerdict = Object.freeze({ verdict: 'down' })

/**
 * The era of a server, from the outcome of a probe (2026-07-28, versioning). An outage says nothing of the
 * era, nor does any single code but -32022. Silence means an older server on a pipe, and nothing over HTTP.
 */
export function judgeProbe(outcome: ProbeOutcome, { over, isSecond }: Probe): ProbeVerdict {
  switch (outcome.type) {
    case 'result':
      return judgeResult(outcome.result)
    case 'error':
      return judgeError(outcome, isSecond)
    case 'status':
      return judgeStatus(outcome.status)
    case 'timeout':
      return over === 'pipe' ? handshake : down
    case 'ended':
      return over === 'pipe' ? restarted : down
    case 'unreachable':
      return down
    default:
      return outcome satisfies never
  }
}

function judgeResult({ supportedVersions }: DiscoverResult): ProbeVerdict {
  const dialect = commonIn(supportedVersions)
  return dialect === undefined ? handshake : { verdict: 'modern', dialect }
}

function judgeError(
  { error, status = 400 }: { readonly error: JsonRpcError; readonly status?: number },
  isSecond: boolean,
): ProbeVerdict {
  const supported = supportedIn(error)
  if (supported !== undefined) return judgeSupported(supported, isSecond)
  return status >= 400 ? judgeStatus(status) : handshake
}

/** The specification is silent on lists that name revisions with a handshake: they are taken. */
function judgeSupported(supported: readonly string[], isSecond: boolean): ProbeVerdict {
  const dialect = commonIn(supported)
  // a server that refuses what it has just offered is not asked a third time
  if (dialect !== undefined && !isSecond) return { verdict: 'again', dialect }
  const isModern = supported.length > 0 && supported.every(isModernRevision)
  return isModern ? { verdict: 'no_common_revision', supported } : handshake
}

/** 401 and 403 ask who is there, 408, 425 and 429 to wait; other 4xx come from servers without the method. */
function judgeStatus(status: number): ProbeVerdict {
  if (status === 401 || status === 403) return unauthorized
  return status >= 400 && status < 500 && !waiting.has(status) ? handshake : down
}

/** The newest revision without a handshake that both speak. */
function commonIn(supported: readonly string[]): Dialect | undefined {
  return modernDialects.find(({ revision }) => supported.includes(revision))
}

function supportedIn({ code, data }: JsonRpcError): readonly string[] | undefined {
  if (code !== errorCodes.unsupportedProtocolVersion || !isObject(data)) return undefined
  const { supported } = data
  const isList = Array.isArray(supported) && supported.every((revision) => typeof revision === 'string')
  return isList ? supported : undefined
}
