import { openBatch } from '../../protocol/dialects/batch.js'
import { type Batch, decode } from '../../protocol/wire/codec.js'
import { dialect20250326 } from '../../protocol/dialects/2025-03-26.js'
import type { Envelope } from '../../protocol/stateless/envelope.js'
import { pin } from '../../protocol/stateless/era.js'
import { errorCodes, ProtocolError } from '../../protocol/wire/errors.js'
import {
  answerInvalid,
  buildError,
  isRequest,
  type JsonRpcRequest,
  type Message,
  type RequestId,
  standIn,
} from '../../protocol/wire/jsonrpc.js'
import { defineActor } from '../../runtime/process/behaviour.js'
import type { ActorContext } from '../../runtime/process/context.js'
import { emit } from '../../runtime/faults/events.js'
import { describe } from '../../runtime/watch/inspect.js'
import { processOf } from '../../runtime/process/ref.js'
import { answerEarly, interrupted, isBatch, refusedAs, speaksBatches } from '../connections/answers.js'
import { type ListenScope, type Outlet, type ServerPort, spokenBy } from '../contract/contract.js'
import { TransportError } from '../base/errors.js'
import { PipeExchanges } from '../connections/pipe-exchanges.js'
import { stdioPeer as peer } from './peer.js'
import type { PipeItem, StdioPipes } from './pipes.js'

/** What a listener on standard input is started with. */
export interface StdioServerInput {
  readonly pipes: StdioPipes
  readonly server: ServerPort
  readonly scope: ListenScope
}

interface StdioServer extends StdioServerInput {
  /** Where answers and what comes before them go: all on the one pipe. */
  readonly outlet: Outlet
  /** Told when the session's actor ends: the session is brought back and attached again. */
  readonly reader: Outlet
  /** The requests that belong to no session. */
  readonly exchanges: PipeExchanges
  ending: boolean
  /** Tells of an error that is nobody's request. */
  report(error: unknown): void
  [describe](): string
}

/** News for the mailbox: something has arrived; the session's actor has ended. */
const arrived = Symbol('arrived')
const detached = Symbol('detached')
const restarting = 'The server is starting again: try once more'
const inFlight = 'a request with this id is in flight'

/**
 * Serves the one client behind standard input, in the order of its lines; ends the server with the end of the
 * input.
 */
export const stdioServer = defineActor({
  name: 'stdio_listener',
  trapExit: true,
  stray: 'report',
  init({ pipes, server, scope }: StdioServerInput, ctx: ActorContext): StdioServer {
    const self = ctx.self
    const send = (message: Message): boolean => !pipes.isStalled && pipes.write(message)
    const reader = { send, end: () => void self.send(detached) }
    const report = (error: unknown) => reportStray(processOf(self).tree.id, error)
    const exchanges = new PipeExchanges(send, (error, id) => failed(report, error, id))
    ctx.own(() => {
      pipes.failUnanswered(restarting)
      exchanges.abandon()
    })
    if (pipes.sessionId !== undefined) self.send(detached)
    ctx.own(pipes.attach(() => void self.send(arrived)))
    const about = () => pipes.describe()
    const outlet = { send }
    return { pipes, server, scope, outlet, reader, exchanges, ending: false, report, [describe]: about }
  },
  info: {
    message: (state, news, ctx) => (news === detached ? attach(state) : takeAll(state, ctx)),
  },
  terminate({ scope, pipes, server, ending }, _reason, ctx) {
    if (!scope.stopping() || ending) return undefined
    server.endSubscriptions?.()
    return pipes.whenAnswered(scope.drainTimeout, ctx.clock)
  },
})

/**
 * Takes what has arrived in order; what has to be waited for holds up the rest, which stays where it outlives
 * this actor.
 */
function takeAll(state: StdioServer, ctx: ActorContext): Promise<void> | undefined {
  if (!ctx.self.alive) return undefined // the next incarnation takes the rest
  for (let item = state.pipes.next(); item !== undefined; item = state.pipes.next()) {
    const pending = take(state, item, ctx)
    if (pending instanceof Promise) return pending.then(() => takeAll(state, ctx))
  }
  return undefined
}

function take(state: StdioServer, item: PipeItem, ctx: ActorContext): unknown {
  switch (item.type) {
    case 'line':
      return takeLine(state, item.text)
    case 'invalid':
      return state.pipes.write(answerInvalid(item.error) ?? buildError(undefined, unreadable))
    case 'too_long':
      return skip(state, item.error)
    case 'end':
      return end(state, ctx)
    default:
      return item satisfies never
  }
}

const internal = Object.freeze({ code: errorCodes.internalError, message: 'Internal error' })
const unreadable = Object.freeze({ code: errorCodes.parseError, message: 'a line that cannot be read' })

/**
 * A message that was too long costs the request that it is, or that it answers; whoever runs the server is
 * told of the first.
 */
function skip(state: StdioServer, error: ProtocolError): void {
  const { pipes } = state
  pipes.skipped += 1
  if (pipes.skipped === 1) state.report(error)
  const answer = standIn(error)
  if (answer !== undefined) return deliver(state, answer, undefined)
  const refusal = answerInvalid(error)
  if (refusal !== undefined) pipes.write(refusal)
}

function takeLine(state: StdioServer, text: string): unknown {
  try {
    return takeDecoded(state, decode(text), text.length)
  } catch (error) {
    if (!(error instanceof ProtocolError)) throw error
    const answer = answerInvalid(error)
    return answer === undefined ? undefined : state.pipes.write(answer)
  }
}

/**
 * In the order of arrival: what settles the era of the pipe decides about the next line (specification:
 * 2026-07-28, versioning).
 */
function takeDecoded(state: StdioServer, decoded: Message | Batch, size: number): unknown {
  const { pipes, server } = state
  const pinning = pin(pipes.pinned, decoded, spokenBy(server))
  pipes.pinned = pinning.pinned
  if (pinning.route === 'modern') return takeModern(state, decoded, pinning.envelope, size)
  if (pinning.route === 'handshake')
    return isBatch(decoded) ? takeBatch(state, decoded, size) : takeMessage(state, decoded, size)
  const answer = refusedAs(decoded, pinning.error)
  return answer && pipes.write(answer)
}

/** What belongs to no session; not awaited. */
function takeModern(
  state: StdioServer,
  request: Message | Batch,
  envelope: Envelope | undefined,
  size: number,
): void {
  const { pipes, server, exchanges } = state
  if (isBatch(request)) return
  if (envelope === undefined || !isRequest(request))
    return cancelsHeld(pipes, request) ? undefined : exchanges.heed(request)
  const { id } = request
  if (pipes.unanswered.has(id)) return refuse(state, request, inFlight)
  pipes.take(id, size, server.maxOpen, () =>
    exchanges.start(server, { request, envelope, peer, settle: (response) => pipes.answer(id, response) }),
  )
}

function failed(report: (error: unknown) => void, error: unknown, id: RequestId): Message {
  if (error instanceof TransportError && error.code === 'EXCHANGE_LIMIT')
    return interrupted(id, error.message)
  report(error)
  return buildError(id, internal)
}

/**
 * Revision 2025-03-26 alone has batches; each answer goes back as soon as it is there (specification: basic,
 * batching).
 */
function takeBatch(state: StdioServer, batch: Batch, size: number): void {
  const { pipes } = state
  const { messages, refusals } = openBatch(batch, pipes.batches ? dialect20250326 : undefined)
  for (const refusal of refusals) pipes.write(refusal)
  for (const message of messages) void takeMessage(state, message, Math.ceil(size / batch.length))
}

function takeMessage(state: StdioServer, message: Message, size: number): unknown {
  const { pipes, server } = state
  const { sessionId, unanswered } = pipes
  if (!isRequest(message))
    return sessionId === undefined || cancelsHeld(pipes, message)
      ? undefined
      : deliver(state, message, undefined)
  if (unanswered.has(message.id)) return refuse(state, message, inFlight)
  if (sessionId === undefined) return beforeSession(state, message)
  pipes.take(message.id, size, server.maxOpen, () => deliver(state, message, message.id))
  return undefined
}

/** Whether a message cancels a request that its server has not been given yet: then nobody else need know. */
function cancelsHeld(pipes: StdioPipes, message: Message): boolean {
  if (!('method' in message) || message.method !== 'notifications/cancelled') return false
  const id = message.params?.requestId as RequestId
  if (!pipes.unanswered.isHeld(id)) return false
  pipes.answer(id, undefined)
  return true
}

function beforeSession(state: StdioServer, request: JsonRpcRequest): unknown {
  const answer = answerEarly(request)
  return answer === undefined ? open(state, request) : state.pipes.write(answer)
}

/** Lines that follow wait in the mailbox until the session is open. */
async function open(state: StdioServer, request: JsonRpcRequest): Promise<void> {
  const { pipes, server } = state
  pipes.take(request.id, 0, undefined, () => {})
  try {
    const { sessionId, response } = await server.open(request, peer)
    // the client was told meanwhile that it failed
    if (!pipes.unanswered.has(request.id)) return void (sessionId && (await server.close(sessionId)))
    pipes.sessionId = sessionId
    pipes.batches = speaksBatches(response)
    pipes.answer(request.id, response)
  } catch (error) {
    state.report(error)
    pipes.answer(request.id, buildError(request.id, internal))
  }
  await attach(state)
}

/** The session's actor is new, or is brought back now: what belongs to no request comes through us again. */
async function attach(state: StdioServer): Promise<void> {
  const { pipes, server, reader } = state
  if (pipes.sessionId === undefined) return
  try {
    await server.attach(pipes.sessionId, reader)
  } catch (error) {
    lost(state, error)
  }
}

/** Not awaited: the next line is read while this one is worked on. */
function deliver(state: StdioServer, message: Message, id: RequestId | undefined): void {
  const { pipes, server, outlet } = state
  if (pipes.sessionId === undefined) return
  server.deliver(pipes.sessionId, message, outlet, peer).then(
    (response) => {
      if (id !== undefined) pipes.answer(id, response)
    },
    (error) => {
      if (id !== undefined) pipes.answer(id, buildError(id, internal))
      lost(state, error)
    },
  )
}

/** This pipe has one session: when that has ended for good, there is nothing left to serve. */
function lost({ scope, report }: StdioServer, error: unknown): void {
  if (error instanceof TransportError && error.code === 'SESSION_NOT_FOUND') scope.finished()
  else report(error)
}

function reportStray(tree: number, error: unknown): void {
  emit('stray', () => ({ tree, error, kind: 'rejection', owner: 'stdio_listener', outcome: 'reported' }))
}

function refuse({ pipes }: StdioServer, { id }: JsonRpcRequest, message: string): void {
  pipes.write(buildError(id, { code: errorCodes.invalidRequest, message }))
}

async function end(state: StdioServer, ctx: ActorContext): Promise<void> {
  if (state.ending) return
  state.ending = true
  state.server.endSubscriptions?.()
  await state.pipes.whenAnswered(state.pipes.settings.endTimeout, ctx.clock)
  state.scope.finished()
}
