import type { Message } from '../../../protocol/wire/jsonrpc.js'
import { bindTo } from '../../../runtime/faults/containment.js'
import type { ServerPort, Sink } from '../../contract/contract.js'
import { textOf } from '../../base/encoded.js'
import { TransportError } from '../../base/errors.js'
import type { EventLog, ForeignPosition, LoggedStream, Position } from '../streams/event-log.js'
import type { Found } from '../streams/followed-stream.js'
import { HttpRefusal, unavailable } from '../listen/refusal.js'
import type { HttpExchange } from './exchange.js'

interface StreamSurroundings {
  readonly server: ServerPort
  readonly log: EventLog
}

/** A GET stream that ends with its connection. Rejects with TransportError SESSION_NOT_FOUND. */
export async function listen(exchange: HttpExchange, sessionId: string, server: ServerPort): Promise<void> {
  exchange.isListening = true
  const detach = await server.subscribe(sessionId, exchange, exchange.peer)
  if (exchange.isOver) return detach()
  exchange.onGone(detach)
  exchange.openStream()
}

/**
 * A GET stream: a new one, or with `Last-Event-ID` the rest of the one that the id names, however that began
 * (specification: transports, resumability). Rejects with TransportError SESSION_NOT_FOUND, and HttpRefusal
 * 400 for an id that is none to go on from.
 */
export async function listenOrResume(
  exchange: HttpExchange,
  sessionId: string,
  around: StreamSurroundings,
): Promise<void> {
  const id = exchange.request.headers['last-event-id']
  if (id === undefined || id === '') return begin(exchange, sessionId, around)
  const position = around.log.find(sessionId, String(id))
  if (position.type === 'foreign' && around.log.shared !== undefined)
    return takeUp(exchange, sessionId, position, around)
  // the log did not outlive the process: what came meanwhile is lost, what will come is not
  if (position.type === 'foreign' && position.kind === 'listen') return begin(exchange, sessionId, around)
  if (position.type === 'found' && position.stream.kind === 'listen')
    return follow(exchange, position.stream, position.after, around)
  const detach = await around.server.subscribe(sessionId, withoutMessages(exchange), exchange.peer)
  const why = problemOf(position)
  if (why === undefined && position.type === 'found' && !exchange.isOver)
    return resume(exchange, position, detach)
  detach()
  throw new HttpRefusal(400, `Last-Event-ID: ${why}`)
}

/** One stream more than are kept costs an older one: first the session is asked whether it is theirs. */
async function begin(exchange: HttpExchange, sessionId: string, around: StreamSurroundings): Promise<void> {
  if (around.log.isFull(sessionId))
    (await around.server.subscribe(sessionId, withoutMessages(exchange), exchange.peer))()
  await follow(exchange, around.log.open(sessionId, 'listen'), null, around)
}

/** Through all of its connections, the stream is one reader of the session. */
async function follow(
  exchange: HttpExchange,
  stream: LoggedStream,
  after: number | null,
  { server }: StreamSurroundings,
): Promise<void> {
  const isNew = after === null
  exchange.isListening = true
  if (isNew) exchange.follow(stream, after)
  try {
    const sink = new StreamSink(stream, exchange)
    stream.attach(await server.subscribe(stream.sessionId, sink, exchange.peer))
  } catch (error) {
    if (isNew) stream.leave(exchange)
    throw error
  }
  if (exchange.isOver) return stream.leave(exchange)
  if (!isNew) exchange.follow(stream, after)
  exchange.openStream()
}

/** A stream as the reader of a session, which has it for longer than the connection that began it. */
class StreamSink implements Sink {
  readonly #stream: LoggedStream
  /** Null once it is told the revision: then nothing here leads to its socket. */
  #exchange: HttpExchange | null

  constructor(stream: LoggedStream, exchange: HttpExchange) {
    this.#stream = stream
    this.#exchange = exchange
  }

  negotiated(revision: string): void {
    this.#exchange?.negotiated(revision)
    this.#exchange = null
  }

  send(message: Message): boolean {
    return this.#stream.send(textOf(message))
  }

  end(): void {
    this.#stream.detached()
  }
}

/** The rest of a stream that a request began: nothing else of the session comes here. */
function resume(
  exchange: HttpExchange,
  { stream, after }: { readonly stream: LoggedStream; readonly after: number },
  detach: () => void,
): void {
  exchange.onGone(detach)
  exchange.follow(stream, after)
  if (stream.ended) exchange.conclude()
  else exchange.openStream()
}

/**
 * The rest of a stream that another process began. Where that has ended, a GET stream goes on as one of ours.
 */
async function takeUp(
  exchange: HttpExchange,
  sessionId: string,
  position: ForeignPosition,
  around: StreamSurroundings,
): Promise<void> {
  const { shared } = around.log
  const isListen = position.kind === 'listen'
  const detach = await around.server.subscribe(sessionId, withoutMessages(exchange), exchange.peer)
  if (exchange.isOver || shared === undefined) return detach()
  const stream = shared.follow(
    sessionId,
    position,
    bindTo(exchange.token, (fn: () => void) => fn()),
  )
  const undo = (): void => {
    exchange.onGone(undefined)
    stream.stop()
    detach()
  }
  exchange.onGone(undo)
  const found = await stream.found
  if (exchange.isOver) return
  if (found.type === 'unknown' && isListen) {
    undo()
    return begin(exchange, sessionId, around)
  }
  if (found.type === 'unreachable') throw unavailable(undefined, 'the stream cannot be reached now')
  if (found.type !== 'followed') throw new HttpRefusal(400, `Last-Event-ID: ${whyNot(found)}`)
  exchange.isListening = isListen
  exchange.follow(stream, position.after)
  if (stream.ended) return exchange.conclude()
  exchange.openStream()
  stream.start(() => {
    undo()
    void goOn(exchange, sessionId, around)
  })
}

/** Never rejects. */
async function goOn(exchange: HttpExchange, sessionId: string, around: StreamSurroundings): Promise<void> {
  try {
    await begin(exchange, sessionId, around)
  } catch (error) {
    if (error instanceof TransportError) exchange.finish(200)
    else exchange.fail(error, 'throw')
  }
}

function whyNot(found: Exclude<Found, { readonly type: 'followed' }>): string {
  return found.type === 'refused' ? found.why : notKept
}

const notKept = 'the stream is not kept any more'

function problemOf(position: Position): string | undefined {
  if (position.type === 'refused') return position.why
  if (position.type === 'foreign') return notKept
  const { stream, after } = position
  return stream.ended && stream.last === after ? 'nothing comes after this event' : undefined
}

/** Asks whether the session is there, and keeps it, without taking messages from other readers. */
function withoutMessages(exchange: HttpExchange): Sink {
  return { isDeaf: true, negotiated: (revision) => exchange.negotiated(revision), send: () => false }
}
