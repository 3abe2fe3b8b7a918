import { isRequest, type Message, type RequestId } from '../../../protocol/wire/jsonrpc.js'
import type { Clock } from '../../../runtime/time/clock.js'
import type { LinkEnd, LinkEvents } from '../../contract/contract.js'
import type { TransportError } from '../../base/errors.js'
import type { HttpCalls } from './calls.js'
import { notBegun } from './errors.js'
import { endingError, judgeStatus } from './status.js'
import type { HttpRequests } from './requests.js'
import { createSessionCheck } from './session-check.js'
import { discard, type HttpRequest, type HttpResponse } from '../outgoing/dispatcher.js'

/** Milliseconds that a server which has forgotten the session has to say so to all that it was sent. */
const refusalTime = 500
/** Milliseconds for the end of a session. */
const partingTime = 2_000

/** What the end of a session needs of its connection. */
export interface SessionPort {
  readonly calls: HttpCalls
  readonly events: LinkEvents
  readonly clock: Clock
  readonly requests: HttpRequests
  /** The address that the transport was given. */
  readonly url: URL
  /** Sends a request that does not wait behind others. */
  send(request: HttpRequest): Promise<HttpResponse>
  end(end: LinkEnd): void
}

/** Knows by the refusals of a server when a session is over. */
export class SessionEnd {
  readonly #port: SessionPort
  readonly #isKnown: () => Promise<boolean>
  #isForgotten = false
  #isOver = false

  constructor(port: SessionPort) {
    this.#port = port
    this.#isKnown = createSessionCheck((text, signal) => {
      const body = { text, headers: undefined }
      return port.send(port.requests.post(body, signal))
    }, port.clock)
  }

  /** Whether the server has forgotten the session: nothing more is sent in it. */
  get isForgotten(): boolean {
    return this.#isForgotten
  }

  /** The connection is over, for whatever reason. */
  over(): void {
    this.#isOver = true
  }

  /**
   * Whether a response that is a refusal, maybe of the request with this id, ends the connection; it is told
   * then.
   */
  async ends(response: HttpResponse, id?: RequestId): Promise<boolean> {
    const { clock, requests, url } = this.#port
    // somebody else, whom a redirect of this one request led to, knows nothing of our session
    if (requests.home !== undefined && response.origin !== requests.home) return false
    let verdict = judgeStatus(response.status, requests.sessionId !== undefined)
    if (verdict === 'session_doubtful' && !this.#isOver && !(await this.#isKnown())) verdict = 'session_gone'
    if (verdict !== 'session_gone' && verdict !== 'unauthorized') return false
    discard(response, clock)
    const error = endingError(verdict, url, response)
    if (verdict === 'unauthorized') this.#port.end({ error, fatal: true })
    else this.#forgotten(error, id)
    return true
  }

  /** A message of a session that the server has forgotten stays here. */
  refuse(message: Message): void {
    const { events } = this.#port
    if (isRequest(message)) events.lost(message.id, notBegun(undefined))
    else events.trouble(notBegun(undefined))
  }

  /**
   * Tells the server that we are done, if there is a session; it may refuse (405), and that is all the same
   * to us. Never rejects.
   */
  async part(): Promise<void> {
    const { clock, requests, send } = this.#port
    if (requests.sessionId === undefined) return
    const controller = new AbortController()
    const timer = clock.setTimeout(() => controller.abort(), partingTime)
    try {
      discard(await send(requests.delete(controller.signal)), clock)
    } catch {
      // the session ends by itself one day
    } finally {
      clock.clearTimeout(timer)
    }
  }

  /** Whatever else the server was sent will hear the same in a moment: it did not act on that either. */
  #forgotten(error: TransportError, id: RequestId | undefined): void {
    const { calls, events, clock } = this.#port
    if (id !== undefined && !this.#isOver) events.lost(id, error)
    if (this.#isForgotten) return
    this.#isForgotten = true
    void calls.settled(refusalTime, clock).then(() => this.#port.end({ error }))
  }
}
