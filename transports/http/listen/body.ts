import type { IncomingMessage } from 'node:http'
import { errorCodes } from '../../../protocol/wire/errors.js'
import { buildError } from '../../../protocol/wire/jsonrpc.js'
import { describeLong, keptOfLong } from '../../../protocol/wire/long-message.js'
import type { ByteAccount } from '../../connections/byte-budget.js'
import { optionError, TransportError } from '../../base/errors.js'
import { HttpRefusal } from './refusal.js'

const newDecoder = () => new TextDecoder('utf-8', { fatal: true })
const utf8 = newDecoder()

type Decoder = typeof utf8

interface BodyLimits {
  readonly messageBytes: number
  /** Counts its bytes; the caller gives them back. */
  readonly bytes: ByteAccount
}

/**
 * Reads the body of a POST. Rejects with HttpRefusal: 413, or 400 for what is no UTF-8; with
 * TransportError BYTES_LIMIT; with TransportError BAD_OPTION for a body that a web server around us has read
 * and not handed over, which is no fault of the client.
 */
export async function readText(request: IncomingMessage, limits: BodyLimits): Promise<string> {
  const body = await readBody(request, limits)
  return decoded(() => body.end())
}

function decoded<T>(decode: () => T): T {
  try {
    return decode()
  } catch {
    const problem = { code: errorCodes.parseError, message: 'the body is not UTF-8' }
    throw new HttpRefusal(400, buildError(undefined, problem))
  }
}

/** Throws HttpRefusal 415 for a body that is no JSON, or compressed. */
export function checkContent({ headers }: IncomingMessage): void {
  const encoding = headers['content-encoding']
  if (encoding !== undefined && encoding !== 'identity')
    throw new HttpRefusal(415, 'Content-Encoding: compressed bodies are not taken', {
      'accept-encoding': 'identity',
    })
  const given = headers['content-type'] ?? ''
  if (given === 'application/json') return
  const [type = ''] = given.split(';', 1)
  if (type.trim().toLowerCase() !== 'application/json')
    throw new HttpRefusal(415, 'Content-Type: expected application/json')
}

function readBody(
  request: IncomingMessage,
  { messageBytes: maxBytes, bytes }: BodyLimits,
): Promise<BodyText> {
  return new Promise((resolve, reject) => {
    if (request.readableDidRead) return reject(readAlready())
    if (request.destroyed) return reject(new HttpRefusal(400, 'the body was cut off'))
    if (Number(request.headers['content-length']) > maxBytes) return reject(tooLarge(maxBytes, ''))
    let body = new BodyText()
    let size = 0
    const refuse = (refusal: unknown): void => {
      bytes.release()
      body = new BodyText()
      request.off('data', take)
      request.pause()
      reject(refusal)
    }
    const take = (piece: Buffer | string): void => {
      // text where middleware has set an encoding
      const chunk = typeof piece === 'string' ? Buffer.from(piece) : piece
      size += chunk.length
      try {
        decoded(() => body.add(chunk))
      } catch (error) {
        return refuse(error)
      }
      const full = size > maxBytes ? tooLarge(maxBytes, body.start) : bytes.add(chunk.length)
      if (full !== undefined) refuse(full)
    }
    request.on('data', take)
    request.on('end', () => resolve(body))
    // a client may break off; a TransportError is a fault of the web server around us
    request.on('error', (error) =>
      reject(error instanceof TransportError ? error : new HttpRefusal(400, 'the body was cut off')),
    )
    request.on('close', () => {
      if (!request.complete) reject(new HttpRefusal(400, 'the body was cut off'))
    })
    // middleware may have paused it, to look at something else first
    if (request.isPaused()) request.resume()
  })
}

/** The error for a body that somebody else has read: its end would never come. */
export function readAlready(): TransportError {
  const problem =
    'the body of a mounted request: expected it unread, or handed over as `body`; it has been read already'
  return optionError('body', problem)
}

/** Answers the request that it is, where the beginning of it says so. */
function tooLarge(maxBytes: number, start: string): HttpRefusal {
  const message = `a message may have ${maxBytes} bytes (limits.messageBytes), the body has more`
  const { about, id } = describeLong(start.slice(0, keptOfLong), '')
  const of = about === 'request' ? id : undefined
  return new HttpRefusal(413, buildError(of, { code: errorCodes.invalidRequest, message }))
}

/** A body that is decoded as it comes: a long one, at once, would take the time of others. Throws TypeError. */
class BodyText {
  /** The first piece, which is all of most bodies. */
  #first: Buffer | undefined
  #decoder: Decoder | undefined
  readonly #pieces: string[] = []
  #start = ''

  add(chunk: Buffer): void {
    const first = this.#first
    if (this.#decoder !== undefined) return this.#decode(chunk, this.#decoder)
    if (first === undefined) {
      this.#first = chunk
      return
    }
    this.#first = undefined
    this.#decoder = newDecoder()
    this.#decode(first, this.#decoder)
    this.#decode(chunk, this.#decoder)
  }

  end(): string {
    if (this.#decoder === undefined) return utf8.decode(this.#first)
    this.#pieces.push(this.#decoder.decode())
    // one text: to be put together by its reader would take the turn of that, too
    return this.#pieces.join('')
  }

  /** What says whose answer a refusal is. */
  get start(): string {
    return this.#first?.toString('utf8', 0, keptOfLong) ?? this.#start
  }

  #decode(chunk: Buffer, decoder: Decoder): void {
    const text = decoder.decode(chunk, { stream: true })
    this.#pieces.push(text)
    if (this.#start.length < keptOfLong) this.#start += text
  }
}
