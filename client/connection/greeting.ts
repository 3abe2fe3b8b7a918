import { errorCodes } from '../../protocol/wire/errors.js'
import type { JsonRpcErrorResponse, JsonRpcResult } from '../../protocol/wire/jsonrpc.js'
import type { Dialect } from '../../protocol/dialects/dialect.js'
import { dialectOf, latestHandshake, latestModern } from '../../protocol/dialects/versions.js'
import type { ClientCapabilities } from '../../protocol/messages/capabilities.js'
import type { DiscoverResult } from '../../protocol/messages/lifecycle.js'
import { tasksExtension } from '../../protocol/messages/tasks.js'
import { messageOf } from '../../runtime/base/errors.js'
import { TransportError } from '../../transports/base/errors.js'
import { withQuestionTasks } from '../answers/question-tasks.js'
import type { ServerFacts } from '../base/state.js'
import type { OwnOutcome } from '../calls/calls.js'
import { modernRevisionIn } from '../calls/errors.js'
import { modernSpeech, plainSpeech } from '../calls/speech.js'
import { wishedLevel } from '../holdings/wishes.js'
import { initializedNotification, mayPass, readHandshake, unreadable } from './handshake.js'
import type { Incarnation } from './incarnation.js'
import { refused } from './link-end.js'
import { beginsWithProbe, decideEra, factsOf, notModern, readProbe, reasonOf } from './probe.js'

/** The first request of a connection. */
export interface Greeting {
  readonly step: 'initialize' | 'discover'
  /** The second `server/discover`, in another revision. */
  readonly isSecond: boolean
  /** The server refused `initialize` here for being of the newer era. */
  readonly turned: boolean
}

/** Begins with `server/discover` where `era` or what is known of the server says so, else with `initialize`. */
export function greet(state: Incarnation): void {
  const { holdings, settings, world } = state
  const asks = beginsWithProbe(settings.era, holdings.era, world.now())
  if (asks && settings.transport.modern !== 'none')
    discover(state, latestModern, { isSecond: false, turned: false })
  else initialize(state)
}

/** Ended while greeting; true: the next connection begins at once, with `initialize`. */
export function endedGreeting(state: Incarnation, fatal: boolean): boolean {
  const { greeting, settings, holdings } = state
  if (greeting === undefined) return false
  state.greeting = undefined
  if (greeting.step === 'initialize') {
    holdings.era = undefined
    return false
  }
  const isPipe = settings.transport.modern !== 'http'
  const established = holdings.era?.era === 'modern' && holdings.era.proven
  if (fatal || !isPipe || established || settings.era !== 'auto') return false
  // some servers end at any request before `initialize`; one that ends at `initialize`, too, is asked again
  holdings.era = { era: 'handshake', at: state.world.now(), proven: false }
  return true
}

/** The era does not fit any more: asks anew, at once, on a new connection. */
export function askAnew(state: Incarnation, cause: Error): void {
  state.holdings.era = undefined
  const text = `the server does not speak this revision any more: ${messageOf(cause)}`
  refused(state, new TransportError('CONNECTION_LOST', text, { cause, retryable: true }), { again: true })
}

function initialize(state: Incarnation, turned = false): void {
  const { clientInfo } = state.settings
  const capabilities = withQuestionTasks(state.settings.capabilities)
  state.greeting = { step: 'initialize', isSecond: false, turned }
  state.speech = plainSpeech(latestHandshake)
  state.calls.ask({
    method: 'initialize',
    params: { protocolVersion: latestHandshake.revision, capabilities, clientInfo },
    timeout: Number.POSITIVE_INFINITY, // the machine has one
    done: (outcome) => {
      if (outcome.type === 'answer') initialized(state, outcome.message)
      else if (outcome.type === 'junk') failGreeting(state, unreadable(outcome.error), false)
      else if (outcome.type === 'lost') failGreeting(state, outcome.error, false)
    },
  })
}

function initialized(state: Incarnation, message: JsonRpcResult | JsonRpcErrorResponse): void {
  if (turnsModern(state, message)) return
  const { holdings, settings, world } = state
  const handshake = readHandshake(message)
  if ('reason' in handshake) {
    // a server that was found to want a handshake, and refuses it now, may have been updated
    const mayBeModern = settings.era === 'auto' && takesEither(state) && holdings.era?.proven === true
    return failGreeting(state, handshake.reason, handshake.fatal && !mayBeModern)
  }
  const { server } = handshake
  state.greeting = undefined
  state.speech = plainSpeech(dialectOf(server.revision) ?? latestHandshake)
  holdings.era = { era: 'handshake', at: holdings.era?.at ?? world.now(), proven: true }
  // the transport learns the revision before anything is sent in it
  state.link.negotiated(server.revision)
  state.link.tell(initializedNotification)
  begin(state, server)
}

/**
 * Probes a server that refuses `initialize` and names a newer revision, or does not know the method; once per
 * connection. It speaks 2026-07-28 alone, or was too slow for a first probe, or has been updated since.
 */
function turnsModern(state: Incarnation, message: JsonRpcResult | JsonRpcErrorResponse): boolean {
  if (state.greeting?.turned !== false || !takesEither(state) || !('error' in message)) return false
  const { error } = message
  const namesNewer = error.code === errorCodes.unsupportedProtocolVersion && modernRevisionIn(error)
  if (!namesNewer && error.code !== errorCodes.methodNotFound) return false
  state.holdings.era = undefined
  discover(state, latestModern, { isSecond: false, turned: true })
  return true
}

function takesEither({ settings }: Incarnation): boolean {
  return settings.era !== 'modern' && settings.transport.modern !== 'none'
}

function discover(state: Incarnation, dialect: Dialect, how: Pick<Greeting, 'isSecond' | 'turned'>): void {
  const { settings, calls } = state
  const { isSecond, turned } = how
  const isPipe = overOf(state) === 'pipe'
  state.greeting = { step: 'discover', isSecond, turned }
  state.speech = speechFor(state, dialect)
  calls.ask({
    method: 'server/discover',
    // a text, so that the ids of a session that may follow start clean (specification: versioning)
    prefix: 'discover',
    // a server that has just answered will answer: what is left is the machine's time for the greeting
    timeout: isPipe && !turned ? settings.probeTimeout : Number.POSITIVE_INFINITY,
    cancels: false,
    done: (outcome) => discovered(state, outcome),
  })
}

function discovered(state: Incarnation, outcome: OwnOutcome): void {
  const { greeting, settings, holdings } = state
  if (greeting === undefined) return
  const probe = readProbe(outcome)
  const verdict = decideEra(probe, { over: overOf(state), isSecond: greeting.isSecond }, holdings.era)
  switch (verdict.verdict) {
    case 'modern':
      return probe.type === 'result' ? beginModern(state, probe.result, verdict.dialect) : undefined
    case 'again':
      return discover(state, verdict.dialect, { ...greeting, isSecond: true })
    case 'handshake':
      return settings.era === 'modern' ? refuseOlder(state, outcome) : fallBack(state, greeting.turned)
    case 'unauthorized':
    case 'no_common_revision':
      return refused(state, reasonOf(outcome, verdict), { fatal: true })
    case 'down':
      return refused(state, reasonOf(outcome, verdict))
    default:
      return verdict satisfies never
  }
}

function beginModern(state: Incarnation, result: DiscoverResult, dialect: Dialect): void {
  state.greeting = undefined
  state.speech = speechFor(state, dialect)
  state.holdings.era = { era: 'modern', at: state.world.now(), proven: true }
  state.link.negotiated(dialect.revision)
  begin(state, factsOf(result, dialect))
}

/** With `era: 'modern'`: a server that is only out of order is not called too old. */
function refuseOlder(state: Incarnation, outcome: OwnOutcome): void {
  const refusal = outcome.type === 'answer' && 'error' in outcome.message ? outcome.message.error : undefined
  if (refusal === undefined || !mayPass(refusal)) refused(state, notModern(refusal), { fatal: true })
  else refused(state, reasonOf(outcome, { verdict: 'down' }))
}

function fallBack(state: Incarnation, turned: boolean): void {
  state.holdings.era = { era: 'handshake', at: state.world.now(), proven: false }
  initialize(state, turned)
}

function begin({ holdings, connection }: Incarnation, server: ServerFacts): void {
  holdings.server = server
  holdings.counts.sessions += 1
  holdings.changesMissed()
  connection.send({ type: 'initialized' })
}

/** Forgets the era. */
function failGreeting(state: Incarnation, reason: Error, fatal: boolean): void {
  state.holdings.era = undefined
  refused(state, reason, { fatal })
}

function speechFor(state: Incarnation, dialect: Dialect) {
  const { settings, holdings } = state
  return modernSpeech(dialect, overOf(state), {
    capabilities: withTasks(settings.capabilities),
    clientInfo: settings.clientInfo,
    level: () => wishedLevel(holdings.wishes),
    tools: holdings.tools,
  })
}

/** Any server may make a task of a call, which then is waited for like the call (2026-07-28, tasks). */
function withTasks(capabilities: ClientCapabilities): ClientCapabilities {
  return { ...capabilities, extensions: { [tasksExtension]: {}, ...capabilities.extensions } }
}

/** A transport that does not say is a pipe. */
function overOf({ settings }: Incarnation): 'http' | 'pipe' {
  return settings.transport.modern === 'http' ? 'http' : 'pipe'
}
