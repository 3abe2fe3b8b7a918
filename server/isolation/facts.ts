import { type LoggingLevel, loggingLevels } from '../../protocol/messages/logging.js'
import type { ProgressToken } from '../../protocol/messages/base.js'
import type { RequestId } from '../../protocol/wire/jsonrpc.js'
import type { Peer } from '../../transports/contract/contract.js'
import type { RequestScope, SessionFacts } from '../context/context.js'
import type { RequestFacts } from '../context/request-facts.js'

/** The request of an isolated handler, as a copy that is made when it starts and after each question. */
export interface CallFacts {
  readonly session: SessionFacts
  readonly requestId: RequestId
  readonly request: RequestFacts
  readonly progressToken: ProgressToken | undefined
  readonly peer: Peer
  readonly assigned: Readonly<Record<string, unknown>> | undefined
  /** The levels of logs that the client wants. */
  readonly levels: readonly LoggingLevel[]
  /** Whether its response can be ended early, as far as is known here. */
  readonly releases: boolean
}

type Values = Readonly<Record<string, unknown>>

export function factsOfCall(scope: RequestScope): CallFacts {
  const { session, requestId, request, progressToken, assigned } = scope
  return {
    session: { ...session },
    requestId,
    request: { ...request },
    progressToken,
    peer: copiedPeer(scope.peer),
    assigned: copiedValues(assigned),
    levels: loggingLevels.filter((level) => scope.wantsLog(level)),
    releases: scope.release !== undefined,
  }
}

/** Of what a host program gives, only what can be copied. Listeners may find out a field when it is read. */
function copiedPeer(peer: Peer): Peer {
  const { transport, headers, remoteAddress, query, scheme, trusted, principal } = peer
  const claims = copiedValues(principal?.claims)
  return {
    ...{ transport, headers: { ...headers }, remoteAddress, query, scheme },
    assigns: copiedValues(peer.assigns),
    principal: principal && { ...principal, ...(claims && { claims }) },
    ...(trusted !== undefined && { trusted }),
  }
}

/** Leaves out live values, such as connections: they cannot be in two places. */
function copiedValues(values: Values | undefined): Values | undefined {
  if (values === undefined) return undefined
  const copied = Object.entries(values).flatMap(([name, value]) => {
    try {
      return [[name, structuredClone(value)] as const]
    } catch {
      return []
    }
  })
  return Object.fromEntries(copied)
}
