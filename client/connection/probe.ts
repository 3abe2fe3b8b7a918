import { readOutcome } from '../../protocol/stateless/input-required.js'
import { isObject } from '../../protocol/wire/json.js'
import { isImplementation, metaKeys, metaOf } from '../../protocol/stateless/envelope.js'
import { type JsonRpcError, ProtocolError } from '../../protocol/wire/errors.js'
import type { Dialect } from '../../protocol/dialects/dialect.js'
import { judgeProbe, type ProbeOutcome, type ProbeVerdict } from '../../protocol/stateless/probe.js'
import type { Implementation } from '../../protocol/messages/base.js'
import type { DiscoverResult } from '../../protocol/messages/lifecycle.js'
import { allRevisions, modernRevisions } from '../../protocol/dialects/versions.js'
import { TransportError } from '../../transports/base/errors.js'
import { ClientError } from '../base/errors.js'
import type { ServerFacts } from '../base/state.js'
import type { OwnOutcome } from '../calls/calls.js'
import type { KnownEra } from '../holdings/holdings.js'
import type { EraOption } from '../options/options.js'
import { noCommonRevision } from './handshake.js'

/** Ms after which a server of the older era is asked again: it may have been updated. */
const keptFor = 60 * 60_000

/** A server found to be of 2026-07-28 is never demoted; a verdict for the older era is kept for a time. */
export function beginsWithProbe(option: EraOption, known: KnownEra | undefined, now: number): boolean {
  if (option !== 'auto') return option === 'modern' || known?.era === 'modern'
  return known?.era !== 'handshake' || now - known.at >= keptFor
}

/** What cannot be read counts as a server without the method. */
export function readProbe(outcome: OwnOutcome): ProbeOutcome {
  if (outcome.type === 'timeout') return outcome
  if (outcome.type === 'lost') return readLoss(outcome.error)
  if (outcome.type === 'junk') return unreadable(outcome.error)
  const { message } = outcome
  if ('error' in message) return { type: 'error', error: message.error }
  try {
    const { result } = readOutcome('server/discover', message.result)
    return { type: 'result', result: result as DiscoverResult }
  } catch (error) {
    if (error instanceof ProtocolError) return unreadable(error)
    throw error
  }
}

export function decideEra(
  outcome: ProbeOutcome,
  asked: { readonly over: 'pipe' | 'http'; readonly isSecond: boolean },
  known: KnownEra | undefined,
): ProbeVerdict {
  const established = known?.era === 'modern' && known.proven
  // silence and a broken pipe say nothing of the era of a server that has spoken 2026-07-28 before
  // (specification: versioning)
  return judgeProbe(outcome, established ? { ...asked, over: 'http' } : asked)
}

export function factsOf(result: DiscoverResult, { revision }: Dialect): ServerFacts {
  const { capabilities, instructions } = result
  const info = metaOf(result)?.[metaKeys.serverInfo]
  return Object.freeze({
    info: isImplementation(info) ? info : nameless,
    capabilities,
    instructions,
    revision,
  })
}

export function reasonOf(outcome: OwnOutcome, verdict: ProbeVerdict): Error {
  if (verdict.verdict === 'no_common_revision') return noCommonRevision(verdict.supported, allRevisions)
  if (outcome.type === 'lost') return outcome.error
  if (outcome.type === 'answer' && 'error' in outcome.message) {
    const { code, message } = outcome.message.error
    return failed(`the server refused server/discover: ${message} (${code})`)
  }
  return failed('the server did not answer server/discover in time')
}

/** The server is older, and `era` is `modern`. */
export function notModern(refusal: Pick<JsonRpcError, 'code' | 'message'> | undefined): ClientError {
  const words = refusal === undefined ? '' : ` (it says: ${refusal.message})`
  const text = `the server does not answer server/discover${words}: expected one that speaks ${modernRevisions.join(', ')} (era: 'auto' tries older revisions, too)`
  return new ClientError('NO_COMMON_REVISION', text)
}

function readLoss(error: TransportError): ProbeOutcome {
  const { status, error: body } = isObject(error.data) ? error.data : {}
  if (error.code !== 'HTTP_STATUS' || typeof status !== 'number')
    return { type: error.code === 'PROCESS_EXITED' ? 'ended' : 'unreachable' }
  const known = isObject(body) && typeof body.code === 'number' && typeof body.message === 'string'
  if (!known) return { type: 'status', status }
  return { type: 'error', error: body as unknown as JsonRpcError, status }
}

function unreadable(error: ProtocolError): ProbeOutcome {
  return { type: 'error', error: { code: 0, message: error.message } }
}

function failed(text: string): TransportError {
  return new TransportError('CONNECT_FAILED', text, { retryable: true })
}

/** A server need not name itself. */
const nameless: Implementation = Object.freeze({ name: 'unknown', version: 'unknown' })
