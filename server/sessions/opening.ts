import type { Dialect } from '../../protocol/dialects/dialect.js'
import { McpError } from '../../protocol/wire/errors.js'
import { unsupportedHandshake } from '../../protocol/stateless/era.js'
import { fitResult } from '../../protocol/dialects/fit.js'
import { buildResult, type JsonRpcRequest } from '../../protocol/wire/jsonrpc.js'
import { readParams } from '../../protocol/messages/params.js'
import type { InitializeResult } from '../../protocol/messages/lifecycle.js'
import { handshakesOf, haveHandshake, negotiate } from '../../protocol/dialects/versions.js'
import type { Peer, Response } from '../../transports/contract/contract.js'
import type { Holdings } from '../holdings/holdings-actor.js'
import type { SealedFacts } from '../engine/sealed-ids.js'
import type { SessionRecord } from '../engine/session-store.js'
import { refusedBy } from './session.js'
import { ownerOf } from '../base/owner.js'

/** Reads `initialize` and negotiates the revision. Throws McpError: -32602, or -32022 without a handshake. */
export function readOpening(
  request: JsonRpcRequest,
  peer: Peer,
  { settings: { revisions }, known }: Pick<Holdings, 'settings' | 'known'>,
): { readonly facts: SealedFacts; readonly dialect: Dialect } {
  if (!haveHandshake(revisions)) throw unsupportedHandshake(request, revisions)
  const { protocolVersion, clientInfo, capabilities: given } = readParams('initialize', request.params)
  const { client, capabilities } = known.same({ client: clientInfo, capabilities: given })
  const dialect = negotiate(protocolVersion, handshakesOf(revisions))
  const principal = ownerOf(peer)
  const { revision } = dialect
  return {
    facts: { revision, client, capabilities, ...(principal !== undefined && { principal }) },
    dialect,
  }
}

/** Throws McpError -32602 for a client that no store could save a session of. */
export function checkRoom(record: SessionRecord, { store }: Pick<Holdings, 'store'>): void {
  if (refusedBy(store, record) === undefined) return
  const expected =
    'expected less in clientInfo and capabilities: the record of a session has no room for them'
  throw McpError.invalidParams(`params: ${expected}`)
}

/** The answer to `initialize` (specification: lifecycle). */
export function answerOpening(
  { id }: JsonRpcRequest,
  dialect: Dialect,
  peer: Peer,
  holdings: Holdings,
): Response {
  const { info } = holdings.settings.definition
  const instructions = holdings.catalog.instructionsFor(peer)
  const result: InitializeResult = {
    protocolVersion: dialect.revision,
    capabilities: holdings.catalog.capabilitiesFor(peer),
    serverInfo: info,
    ...(instructions !== undefined && { instructions }),
  }
  return buildResult(id, fitResult(dialect, 'initialize', result))
}
