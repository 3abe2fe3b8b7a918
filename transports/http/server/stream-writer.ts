import type { ServerResponse } from 'node:http'
import { comment, encodeEvent } from '../../../protocol/wire/sse-events.js'
import type { TransportError } from '../../base/errors.js'
import type { ByteAccount, ByteBudget } from '../../connections/byte-budget.js'
import type { Peer } from '../../contract/contract.js'
import { bytesOf, uncounted } from '../../contract/message-sizes.js'
import type { LoggedEvent } from '../streams/event-log.js'

interface Account {
  readonly budget: ByteBudget
  readonly peer: Peer
}

/** Writes an event stream to a response, and counts what its reader has not taken. */
export class StreamWriter {
  readonly #response: ServerResponse
  readonly #budget: ByteBudget
  readonly #peer: Peer
  /** Bytes that may wait for the reader; what a client has missed is on top of them. */
  #allowed: number
  /** Where what waits is counted, once it is much. */
  #unread: ByteAccount | undefined
  /** The last of the events that the stream began with: it may come again, from the log. */
  #begunWith: LoggedEvent | undefined
  #hasWritten = false
  #isClosed = false

  constructor(response: ServerResponse, allowed: number, { budget, peer }: Account) {
    this.#response = response
    this.#allowed = allowed
    this.#budget = budget
    this.#peer = peer
  }

  get isSlow(): boolean {
    return this.#response.writableLength > this.#allowed
  }

  /** Takes room for a part of the stream, and for what waits already; answers why there is none. */
  takeRoom(bytes: number): TransportError | undefined {
    const all = this.#response.writableLength + bytes
    if (this.#unread === undefined) {
      if (all <= uncounted) return undefined
      this.#unread = this.#budget.account(this.#peer)
      this.#response.on('drain', () => this.#count())
    }
    return this.#unread.set(all)
  }

  /** Writes the head, then a mark, which says where the stream is, then what the client has missed. */
  begin(
    headers: Readonly<Record<string, string>>,
    mark: string | undefined,
    missed: readonly LoggedEvent[],
  ): void {
    this.#response.writeHead(200, headers)
    if (mark === undefined && missed.length === 0) return this.#response.flushHeaders()
    if (mark !== undefined) this.#response.write(mark)
    for (const event of missed) this.put(encodeLogged(event))
    this.#hasWritten = true
    this.#begunWith = missed.at(-1)
    this.#allowed += this.#response.writableLength
  }

  put(text: string): void {
    this.#hasWritten = true
    this.#response.write(bytesOf(text))
    this.#count()
  }

  write(event: LoggedEvent): void {
    if (event !== this.#begunWith) this.put(encodeLogged(event))
  }

  /** Ends the stream, after this event if there is one. */
  end(event?: LoggedEvent): void {
    const isDue = event !== undefined && event !== this.#begunWith
    this.#response.end(isDue ? bytesOf(encodeLogged(event)) : '')
  }

  /** Called now and then: keeps a quiet stream from being taken for dead. */
  keepAlive(): void {
    this.#count()
    if (!this.isSlow && !this.#hasWritten) this.#response.write(comment())
    this.#hasWritten = false
  }

  /** The response is closed: gives back what was counted. */
  close(): void {
    this.#isClosed = true
    this.#unread?.release()
  }

  #count(): void {
    if (!this.#isClosed) this.#unread?.set(this.#response.writableLength)
  }
}

/** A message that has no id, as it is written to a reader. */
export function encodeMessage(data: string): string {
  return encodeEvent({ event: 'message', data })
}

/** An event without data, which only says where the stream is, and when to come back. */
export function encodeMark(id: string, retry: number | undefined): string {
  return encodeEvent({ id, ...(retry !== undefined && { retry }), data: '' })
}

function encodeLogged({ id, data }: LoggedEvent): string {
  return encodeEvent({ event: 'message', id, data })
}
