import type { IncomingMessage } from 'node:http'
import { errorCodes } from '../../../protocol/wire/errors.js'
import { buildError } from '../../../protocol/wire/jsonrpc.js'
import { describeLong, keptOfLong } from '../../../protocol/wire/long-message.js'
import type { ByteAccount } from '../../connections/byte-budget.js'
import { optionError, TransportError } from '../../base/errors.js'
import { HttpRefusal } from './refusal.js'

const utf8 = new TextDecoder('utf-8', { fatal: true })

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
  try {
    return utf8.decode(body)
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
): Promise<Uint8Array> {
  return new Promise((resolve, reject) => {
    if (request.readableDidRead) return reject(readAlready())
    if (request.destroyed) return reject(new HttpRefusal(400, 'the body was cut off'))
    if (Number(request.headers['content-length']) > maxBytes) return reject(tooLarge(maxBytes))
    const chunks: Buffer[] = []
    let size = 0
    const refuse = (refusal: Error | HttpRefusal): void => {
      chunks.length = 0
      request.off('data', take)
      request.pause()
      reject(refusal)
    }
    const take = (piece: Buffer | string): void => {
      // text where middleware has set an encoding
      const chunk = typeof piece === 'string' ? Buffer.from(piece) : piece
      size += chunk.length
      chunks.push(chunk)
      const full = size > maxBytes ? tooLarge(maxBytes, chunks) : bytes.add(chunk.length)
      if (full === undefined) return
      bytes.release()
      refuse(full)
    }
    request.on('data', take)
    request.on('end', () => {
      const [first] = chunks
      if (size <= maxBytes)
        resolve(chunks.length === 1 && first !== undefined ? first : Buffer.concat(chunks))
    })
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
function tooLarge(maxBytes: number, chunks: readonly Buffer[] = []): HttpRefusal {
  const message = `a message may have ${maxBytes} bytes (limits.messageBytes), the body has more`
  const head = chunks.length === 0 ? '' : Buffer.concat(chunks.slice(0, 2)).toString('utf8', 0, keptOfLong)
  const { about, id } = describeLong(head, '')
  const of = about === 'request' ? id : undefined
  return new HttpRefusal(413, buildError(of, { code: errorCodes.invalidRequest, message }))
}
