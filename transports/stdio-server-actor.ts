import { openBatch } from '../protocol/batch.js'
import { type Batch, decode } from '../protocol/codec.js'
import { dialect20250326 } from '../protocol/dialects/2025-03-26.js'
import { errorCodes, ProtocolError } from '../protocol/errors.js'
import {
  answerInvalid,
  buildError,
  buildResult,
  isRequest,
  type JsonRpcRequest,
  type Message,
  type RequestId,
} from '../protocol/jsonrpc.js'
import { defineActor } from '../runtime/behaviour.js'
import type { ActorContext } from '../runtime/context.js'
import { emit } from '../runtime/events.js'
import { describe } from '../runtime/inspect.js'
import { processOf } from '../runtime/ref.js'
import { isBatch, speaksBatches } from './connection-answers.js'
import type { ListenScope, Outlet, Peer, ServerPort } from './contract.js'
import { TransportError } from './errors.js'
import type { PipeItem, StdioPipes } from './stdio-server-pipes.js'

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
  ending: boolean
  /** Tells of an error that is nobody's request. */
  report(error: unknown): void
  [describe](): string
}

const peer: Peer = Object.freeze({ transport: 'stdio', headers: Object.freeze({}), remoteAddress: undefined })
/** News for the mailbox: something has arrived; the session's actor has ended. */
const arrived = Symbol('arrived')
const detached = Symbol('detached')
const restarting = 'The server is starting again: try once more'

/** Serves the one client behind standard input, in the order of its lines; ends the server with the end of the input. */
export const stdioServer = defineActor({
  name: 'stdio_listener',
  trapExit: true,
  stray: 'report',
  init({ pipes, server, scope }: StdioServerInput, ctx: ActorContext): StdioServer {
    const self = ctx.self
    const send = (message: Message): boolean => {
      if (pipes.isStalled) return false
      pipes.write(message)
      return true
    }
    const reader = { send, end: () => void self.send(detached) }
    ctx.own(() => pipes.failUnanswered(restarting))
    if (pipes.sessionId !== undefined) self.send(detached)
    ctx.own(pipes.attach(() => void self.send(arrived)))
    const about = () => `${pipes.unanswered.size} unanswered`
    const report = (error: unknown) => reportStray(processOf(self).tree.id, error)
    return { pipes, server, scope, outlet: { send }, reader, ending: false, report, [describe]: about }
  },
  info: {
    message: (state, news, ctx) => (news === detached ? attach(state) : takeAll(state, ctx)),
  },
  terminate: ({ scope, pipes, ending }, _reason, ctx) =>
    scope.stopping() && !ending ? pipes.whenAnswered(scope.drainTimeout, ctx.clock) : undefined,
})

/** Takes what has arrived in order; what has to be waited for holds up the rest, which stays where it outlives this actor. */
function takeAll(state: StdioServer, ctx: ActorContext): Promise<void> | undefined {
  if (!ctx.self.alive) return undefined // the next incarnation takes the rest
  for (let item = state.pipes.take(); item !== undefined; item = state.pipes.take()) {
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
      state.pipes.write(answerInvalid(item.error) ?? buildError(undefined, unreadable))
      return end(state, ctx)
    case 'end':
      return end(state, ctx)
    default:
      return item satisfies never
  }
}

const internal = Object.freeze({ code: errorCodes.internalError, message: 'Internal error' })
const unreadable = Object.freeze({ code: errorCodes.parseError, message: 'a line that cannot be read' })

function takeLine(state: StdioServer, text: string): unknown {
  try {
    const decoded = decode(text)
    return isBatch(decoded) ? takeBatch(state, decoded) : takeMessage(state, decoded)
  } catch (error) {
    if (!(error instanceof ProtocolError)) throw error
    const answer = answerInvalid(error)
    return answer === undefined ? undefined : state.pipes.write(answer)
  }
}

/** Revision 2025-03-26 alone has batches; each answer goes back as soon as it is there (specification: basic, batching). */
function takeBatch(state: StdioServer, batch: Batch): void {
  const { pipes } = state
  const { messages, refusals } = openBatch(batch, pipes.batches ? dialect20250326 : undefined)
  for (const refusal of refusals) pipes.write(refusal)
  for (const message of messages) void takeMessage(state, message)
}

function takeMessage(state: StdioServer, message: Message): unknown {
  if (state.pipes.sessionId === undefined) return beforeSession(state, message)
  if (!isRequest(message)) return deliver(state, message, undefined)
  if (state.pipes.unanswered.has(message.id))
    return refuse(state, message, 'a request with this id is in flight')
  state.pipes.unanswered.add(message.id)
  return deliver(state, message, message.id)
}

function beforeSession(state: StdioServer, message: Message): unknown {
  if (!isRequest(message)) return undefined
  if (message.method === 'initialize') return open(state, message)
  if (message.method === 'ping') return state.pipes.write(buildResult(message.id, {}))
  return refuse(state, message, 'expected initialize first')
}

/** Lines that follow wait in the mailbox until the session is open. */
async function open(state: StdioServer, request: JsonRpcRequest): Promise<void> {
  const { pipes, server } = state
  pipes.unanswered.add(request.id)
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
  await state.pipes.whenAnswered(state.pipes.settings.endTimeout, ctx.clock)
  state.scope.finished()
}
