import type { SendOptions } from '../../contract/contract.js'
import { TransportError } from '../../base/errors.js'
import type { HttpSettings } from './options.js'
import type { Departure, HttpRequest, HttpResponse } from '../outgoing/dispatcher.js'

/** What is posted: the message, and the headers that go with it alone. */
export interface Body {
  readonly text: string
  readonly headers: SendOptions['headers']
}

const accepted = { accept: 'application/json, text/event-stream', 'content-type': 'application/json' }

/** Makes the requests of one session: what all of them have in common is put together once. */
export class HttpRequests {
  readonly #own: Readonly<Record<string, string>>
  readonly #path: string
  #sessionId: string | undefined
  /** Where the session is, if a redirect led there. */
  #sessionOrigin: string | undefined
  #home: string | undefined
  #revision: string | undefined
  #common: Readonly<Record<string, string>>
  #posting: Readonly<Record<string, string>>

  constructor({ headers, url }: HttpSettings) {
    this.#own = headers
    this.#path = url.pathname + url.search
    this.#common = headers
    this.#posting = { ...headers, ...accepted }
  }

  /** The session that they are of from now on. */
  get sessionId(): string | undefined {
    return this.#sessionId
  }

  /** The origin of the server, wherever a redirect led to: who gave the first answer. */
  get home(): string | undefined {
    return this.#home
  }

  /** An answer has come from there. */
  answeredBy(origin: string): void {
    this.#home ??= origin
  }

  /** The revision that they name from now on. */
  get revision(): string | undefined {
    return this.#revision
  }

  /**
   * The answer to `initialize` may name the session, which they name, too, from now on. Throws BAD_RESPONSE.
   */
  begin({ headers, origin }: Pick<HttpResponse, 'headers' | 'origin'>): void {
    const sessionId = headers['mcp-session-id']
    if (sessionId === undefined) return
    if (typeof sessionId !== 'string' || !/^[\x21-\x7e]+$/.test(sessionId)) {
      throw new TransportError('BAD_RESPONSE', 'Mcp-Session-Id: expected visible ASCII characters')
    }
    this.#sessionId = sessionId
    this.#sessionOrigin = origin
    this.#compose()
  }

  /** They name a revision from now on. */
  negotiated(revision: string): void {
    this.#revision = revision
    this.#compose()
  }

  /** A message for the server. */
  post({ text: body, headers: own }: Body, signal: AbortSignal, departure?: Departure): HttpRequest {
    const headers = own === undefined ? this.#posting : { ...this.#common, ...own, ...accepted }
    return this.#request('POST', headers, { signal, body, departure })
  }

  /** A wish for an event stream, from the beginning or from where another one ended. */
  get(signal: AbortSignal, lastEventId: string | undefined, own: SendOptions['headers']): HttpRequest {
    const resume = lastEventId === undefined ? {} : { 'last-event-id': lastEventId }
    const headers = { ...this.#common, ...own, accept: 'text/event-stream', ...resume }
    return this.#request('GET', headers, { signal })
  }

  /** The end of the session. */
  delete(signal: AbortSignal): HttpRequest {
    return this.#request('DELETE', this.#common, { signal })
  }

  #request(
    method: HttpRequest['method'],
    headers: HttpRequest['headers'],
    { signal, body, departure }: Pick<HttpRequest, 'signal' | 'body' | 'departure'>,
  ): HttpRequest {
    return { method, path: this.#path, headers, body, signal, departure, sessionOrigin: this.#sessionOrigin }
  }

  #compose(): void {
    this.#common = {
      ...this.#own,
      ...(this.#sessionId === undefined ? {} : { 'mcp-session-id': this.#sessionId }),
      ...(this.#revision === undefined ? {} : { 'mcp-protocol-version': this.#revision }),
    }
    this.#posting = { ...this.#common, ...accepted }
  }
}
