import { createHash } from 'node:crypto'
import { isObject } from '../../protocol/wire/json.js'
import type { JsonRpcRequest } from '../../protocol/wire/jsonrpc.js'
import type { WorkFacts } from '../../runtime/faults/events.js'
import type { Peer } from '../../transports/contract/contract.js'

/**
 * What finds one request in logs, here and at its client: whose it was, and how others call it. Without
 * arguments, tokens, and what gives access, such as the id of its session.
 */
export function workFacts(
  { method, params, id }: JsonRpcRequest,
  { principal, remoteAddress, headers }: Peer,
  sessionId?: string,
): WorkFacts {
  const kind = named[method]
  const meta = isObject(params?._meta) ? params._meta : {}
  const trace = traceOf(meta.traceparent) ?? traceOf(headers.traceparent)
  const facts = {
    ...(kind !== undefined && { [kind]: params?.name }),
    request: id,
    session: sessionId === undefined ? undefined : digestOf(sessionId),
    issuer: principal?.issuer,
    subject: principal?.subject,
    address: remoteAddress,
    trace,
    'x-request-id': headers['x-request-id'],
  }
  return Object.fromEntries(Object.entries(facts).flatMap(([name, value]) => fact(name, value)))
}

/** Those by which a request is found, and that name nobody: for events, which whoever listens may pass on. */
export function impersonalFacts(...request: Parameters<typeof workFacts>): WorkFacts {
  const facts = Object.entries(workFacts(...request))
  return Object.fromEntries(facts.filter(([name]) => impersonal.has(name)))
}

const impersonal: ReadonlySet<string> = new Set(['session', 'trace', 'x-request-id'])

/** How reports call what only its client may know: eight characters of a digest. */
export function digestOf(secret: string): string {
  return createHash('sha256').update(secret).digest('hex').slice(0, 8)
}

const named: Readonly<Record<string, string>> = { 'tools/call': 'tool', 'prompts/get': 'prompt' }
/** Characters of what a client or a token has chosen. */
const longest = 200

function fact(name: string, value: unknown): [string, string | number][] {
  if (typeof value === 'number') return [[name, value]]
  return typeof value === 'string' && value !== '' ? [[name, value.slice(0, longest)]] : []
}

/** The trace of a `traceparent` (W3C Trace Context). */
function traceOf(parent: unknown): string | undefined {
  return typeof parent === 'string' ? /^[\da-f]{2}-([\da-f]{32})-/.exec(parent)?.[1] : undefined
}
