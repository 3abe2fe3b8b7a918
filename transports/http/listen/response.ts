import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http'
import type { Clock } from '../../../runtime/time/clock.js'
import { queuedBelowTls } from '../../connections/unread.js'
import { nodeMs } from '../../base/node-ms.js'

/** Of an event stream that no proxy is to hold back. */
export const streamHeaders = Object.freeze({
  'content-type': 'text/event-stream',
  'cache-control': 'no-cache, no-transform',
  'x-accel-buffering': 'no',
})

/** Bytes, and ms, of an unwanted body that are thrown away so that the client reads the answer. */
const mostUnwantedBytes = 16 * 1024 * 1024
const unwantedBodyTimeout = 2_000

/** Statuses that a body is refused with before it has ended. */
const early: ReadonlySet<number> = new Set([413, 429, 503])

interface HttpAnswer {
  readonly status: number
  readonly headers: OutgoingHttpHeaders
  readonly text: string | Buffer
}

/** Writes an answer, unless the client has gone; one that refuses a body does not wait for its end. */
export function writeAnswer(
  request: IncomingMessage,
  response: ServerResponse,
  answer: HttpAnswer,
  clock: Clock,
): void {
  const { status, headers, text } = answer
  if (response.destroyed) return
  if (early.has(status) && !request.complete) return refuseBody(request, response, answer, clock)
  response.writeHead(status, headers).end(text)
  if (status >= 400) boundBody(request, response, clock)
}

/**
 * The body of a request that is answered already: Node would read it to its end, however long that is. The
 * connection is kept for the next request if it ends soon.
 */
export function boundBody(request: IncomingMessage, response: ServerResponse, clock: Clock): void {
  // a response without a socket of its own is somebody else's to end
  if (request.complete || request.destroyed || response.socket === null) return
  const timer = clock.setTimeout(() => request.destroy(), unwantedBodyTimeout)
  countDown(request, () => request.destroy())
  const { socket } = request
  const over = (): void => {
    clock.clearTimeout(timer)
    socket.off('close', over)
  }
  request.once('end', over).once('close', over)
  // of a request that is answered Node tells nothing more when the connection ends
  socket.once('close', over)
  request.resume()
}

/** A body of tiny chunks costs what its connection carries, and not what is in them. */
function countDown(request: IncomingMessage, cut: () => void): void {
  const { socket } = request
  const most = socket.bytesRead + mostUnwantedBytes
  request.on('data', () => {
    if (socket.bytesRead > most) cut()
  })
}

/**
 * Answers a request whose body is still coming, and is not wanted. A connection that is closed with bytes
 * unread takes the answer with it (RFC 9112, section 9.6): it is closed once the body has come, or has had
 * its time.
 */
export function refuseBody(
  request: IncomingMessage,
  response: ServerResponse,
  answer: HttpAnswer,
  clock: Clock,
): void {
  const { status, headers, text } = answer
  response.writeHead(status, { ...headers, connection: 'close' })
  // a response without a socket of its own is somebody else's to end
  if (request.complete || response.socket === null) return void response.end(text)
  response.write(text)
  const timer = clock.setTimeout(() => response.end(), unwantedBodyTimeout)
  countDown(request, () => request.destroy())
  request.once('end', () => response.end())
  response.once('close', () => clock.clearTimeout(timer))
  request.resume()
}

/** Calls `cut` when nothing of a finished answer is taken for `timeout` ms. Node alone sees parts of it. */
export function expectReader(response: ServerResponse, timeout = 15_000, cut: () => void): void {
  if (response.listenerCount('timeout') > 0) return
  let before = queuedBelowTls(response.socket)
  response.setTimeout(nodeMs(timeout), () => {
    const left = queuedBelowTls(response.socket)
    if (left === before) return cut()
    before = left
    response.setTimeout(nodeMs(timeout))
  })
}

/**
 * Calls `fn` when the response is with the client or the client has gone; more than once, perhaps. A response
 * that waits behind others of its connection hears of nothing while it has no socket (Node 20): then the
 * connection itself tells, and what it calls is made by `bind`, in the scope of an owner.
 */
export function whenClosed(
  { socket }: IncomingMessage,
  response: ServerResponse,
  bind: (fn: () => void) => () => void,
  fn: () => void,
): void {
  response.on('close', fn)
  if (response.destroyed) return fn()
  if (response.socket !== null) return
  if (socket.destroyed) return fn()
  const gone = bind(fn)
  // as many as the client sends ahead: without this Node would warn of a leak
  socket.setMaxListeners(0)
  socket.once('close', gone)
  response.once('close', () => void socket.off('close', gone))
}
