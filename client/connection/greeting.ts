import { errorCodes, type JsonRpcError, type ProtocolError } from '../../protocol/wire/errors.js'
import type { JsonRpcErrorResponse, JsonRpcResult } from '../../protocol/wire/jsonrpc.js'
import type { Dialect } from '../../protocol/dialects/dialect.js'
import { dialectOf, latestHandshake, modernDialects } from '../../protocol/dialects/versions.js'
import type { DiscoverResult } from '../../protocol/messages/types/discover.js'
import { messageOf } from '../../runtime/base/errors.js'
import { TransportError } from '../../transports/base/errors.js'
import {
  initializedNotification,
  initializeRequest,
  mayPass,
  readGreeting,
  unreadableGreeting,
} from './handshake.js'
import type { Incarnation } from './incarnation.js'
import { refused } from './link-end.js'
import type { OwnOutcome } from '../calls/own-requests.js'
import { modernRevisionIn } from '../calls/pending-call.js'
import { beginsWithProbe, decideEra, factsOf, notModern, readProbe, reasonOf } from './probe.js'
import { modernSpeech, plainSpeech } from '../calls/speech.js'
import { wishedLevel } from '../holdings/wishes.js'

/** The first request of a connection, until it is answered. */
export interface Greeting {
  readonly step: 'initialize' | 'discover'
  /** Of `initialize`; the other is one of the client's own requests. */
  readonly id: number | undefined
  /** Whether it is the probe that was sent again. */
  readonly isSecond: boolean
  /**
   * Whether `initialize` was refused on this connection by a server of the newer era, which is then probed:
   * once.
   */
  readonly turned: boolean
}

/**
 * Begins a connection: with `server/discover` where the server may be of the newer era, else with
 * `initialize`.
 */
export function greet(state: Incarnation): void {
  const { holdings, settings, clock } = state
  const { modern = 'pipe' } = settings.transport
  const [newest] = modernDialects
  const asks = modern !== 'none' && beginsWithProbe(settings.era, holdings.era, clock.now())
  if (asks && newest !== undefined) discover(state, newest, { isSecond: false, turned: false })
  else initialize(state)
}

/** An answer has come to `initialize`: the transport learns the revision before anything is sent in it. */
export function greeted(state: Incarnation, message: JsonRpcResult | JsonRpcErrorResponse): void {
  if (turnsModern(state, message)) return
  const greeting = readGreeting(message)
  if (!greeting.ok) return misgreeted(state, greeting.reason, greeting.fatal && !mayBeModern(state))
  const { server } = greeting
  state.greeting = undefined
  state.speech = plainSpeech(dialectOf(server.revision) ?? latestHandshake)
  state.holdings.era = { era: 'handshake', at: state.holdings.era?.at ?? state.clock.now(), proven: true }
  state.link.negotiated(server.revision)
  state.link.tell(initializedNotification)
  begin(state, server)
}

/** What should have been the answer to `initialize` is none. */
export function greetedBadly(state: Incarnation, error: ProtocolError): void {
  misgreeted(state, unreadableGreeting(error), false)
}

/**
 * The connection ended while the server was asked for its era; true when the next one is to begin at once,
 * with `initialize`.
 */
export function diedOfProbe(state: Incarnation, fatal: boolean): boolean {
  const { greeting, settings, holdings } = state
  if (greeting === undefined) return false
  state.greeting = undefined
  if (greeting.step === 'initialize') {
    forgetEra(state)
    return false
  }
  const isPipe = settings.transport.modern !== 'http'
  const established = holdings.era?.era === 'modern' && holdings.era.proven
  if (fatal || !isPipe || established || settings.era !== 'auto') return false
  // some servers end at any request before `initialize`; one that ends at that one, too, will be asked again
  holdings.era = { era: 'handshake', at: state.clock.now(), proven: false }
  return true
}

/** The handshake came to nothing: this connection is of no use. */
export function misgreeted(state: Incarnation, reason: Error, fatal: boolean): void {
  forgetEra(state)
  refused(state, reason, fatal)
}

/** The era does not fit any more: the server is asked anew, at once, on a new connection. */
export function askAnew(state: Incarnation, cause: Error): void {
  state.holdings.era = undefined
  const text = `the server does not speak this revision any more: ${messageOf(cause)}`
  refused(state, new TransportError('CONNECTION_LOST', text, { cause, retryable: true }), false, true)
}

type How = Pick<Greeting, 'isSecond' | 'turned'>

/**
 * A server that refuses `initialize` for its revision, and names one of the newer era, may have started too
 * slowly for the probe, or been updated since.
 */
function turnsModern(state: Incarnation, message: JsonRpcResult | JsonRpcErrorResponse): boolean {
  const { greeting, settings, holdings } = state
  const [newest] = modernDialects
  const asks = settings.era === 'auto' && settings.transport.modern !== 'none'
  if (greeting?.turned !== false || !asks || newest === undefined) return false
  if (!('error' in message) || !isForModern(message.error)) return false
  holdings.era = undefined
  discover(state, newest, { isSecond: false, turned: true })
  return true
}

function isForModern(error: JsonRpcError): boolean {
  return error.code === errorCodes.unsupportedProtocolVersion && modernRevisionIn(error)
}

function initialize(state: Incarnation, turned = false): void {
  const id = state.calls.nextId()
  const { capabilities, clientInfo } = state.settings
  state.greeting = { step: 'initialize', id, isSecond: false, turned }
  state.speech = plainSpeech(latestHandshake)
  state.link.tell(initializeRequest(id, clientInfo, capabilities))
}

/** Its id is a text, so that the ids of a session that may follow start clean (specification: versioning). */
function discover(state: Incarnation, dialect: Dialect, { isSecond, turned }: How): void {
  const { settings, own } = state
  const { modern: over = 'pipe' } = settings.transport
  const id = `discover-${state.calls.nextId()}`
  state.greeting = { step: 'discover', id: undefined, isSecond, turned }
  state.speech = speechFor(state, dialect)
  // a server that has just answered will answer: what is left is the machine's time for the greeting
  const timeout = over === 'pipe' && !turned ? settings.probeTimeout : Number.POSITIVE_INFINITY
  const done = (outcome: OwnOutcome): void => discovered(state, outcome)
  own.send(state.speech, { id, method: 'server/discover', params: undefined, timeout, cancels: false, done })
}

function discovered(state: Incarnation, outcome: OwnOutcome): void {
  const { greeting, settings, holdings } = state
  if (greeting === undefined) return
  const over = settings.transport.modern === 'http' ? 'http' : 'pipe'
  const probe = readProbe(outcome)
  const verdict = decideEra(probe, { over, isSecond: greeting.isSecond }, holdings.era)
  switch (verdict.verdict) {
    case 'modern':
      return probe.type === 'result' ? meet(state, probe.result, verdict.dialect) : undefined
    case 'again':
      return discover(state, verdict.dialect, { ...greeting, isSecond: true })
    case 'handshake':
      return settings.era === 'modern' ? refuseOlder(state, outcome) : fallBack(state, greeting.turned)
    case 'unauthorized':
    case 'no_common_revision':
      return refused(state, reasonOf(outcome, verdict), true)
    case 'down':
      return refused(state, reasonOf(outcome, verdict), false)
    default:
      return verdict satisfies never
  }
}

function meet(state: Incarnation, result: DiscoverResult, dialect: Dialect): void {
  state.greeting = undefined
  state.speech = speechFor(state, dialect)
  state.holdings.era = { era: 'modern', at: state.clock.now(), proven: true }
  state.link.negotiated(dialect.revision)
  begin(state, factsOf(result, dialect))
}

/**
 * A client that wants nothing but the newer era is not told that a server is too old which is only out of
 * order.
 */
function refuseOlder(state: Incarnation, outcome: OwnOutcome): void {
  const refusal = outcome.type === 'answer' && 'error' in outcome.message ? outcome.message.error : undefined
  if (refusal === undefined || !mayPass(refusal)) return refused(state, notModern(refusal), true)
  refused(state, reasonOf(outcome, { verdict: 'down' }), false)
}

function fallBack(state: Incarnation, turned: boolean): void {
  state.holdings.era = { era: 'handshake', at: state.clock.now(), proven: false }
  initialize(state, turned)
}

function begin(state: Incarnation, server: ReturnType<typeof factsOf>): void {
  state.holdings.server = server
  state.holdings.counts.sessions += 1
  state.holdings.changesMissed()
  state.connection.send({ type: 'initialized' })
}

function speechFor(state: Incarnation, dialect: Dialect) {
  const { settings, holdings } = state
  return modernSpeech(dialect, settings.transport.modern === 'http' ? 'http' : 'pipe', {
    capabilities: settings.capabilities,
    clientInfo: settings.clientInfo,
    level: () => wishedLevel(holdings.wishes),
    tools: holdings.tools,
  })
}

/** A server that refuses the handshake may have been updated since it was found to want one. */
function mayBeModern({ settings, holdings }: Incarnation): boolean {
  const { modern = 'pipe' } = settings.transport
  return settings.era === 'auto' && modern !== 'none' && holdings.era?.proven === true
}

/** Any failure of a handshake is a reason to look at the server again. */
function forgetEra({ holdings }: Incarnation): void {
  holdings.era = undefined
}
