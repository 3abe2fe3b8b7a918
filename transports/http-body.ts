import type { IncomingMessage } from 'node:http'
import { type Batch, decode } from '../protocol/codec.js'
import { errorCodes, ProtocolError } from '../protocol/errors.js'
import { answerInvalid, buildError, type Message } from '../protocol/jsonrpc.js'
import { type TransportError, optionError } from './errors.js'
import { HttpRefusal } from './http-refusal.js'

/** Bytes of a body over the limit that are thrown away, so that the client gets to read the answer; then it is cut off. */
const patience = 16 * 1024 * 1024
const utf8 = new TextDecoder('utf-8', { fatal: true })

/**
 * The message or batch in the body of a POST. Rejects with HttpRefusal: 413, or 400 with the JSON-RPC error; with TransportError
 * BAD_OPTION for a body that a web server around us has read and not handed over, which is no fault of the client.
 */
export function readMessageBody(request: IncomingMessage, maxBytes: number): Promise<Message | Batch> {
  return new Promise((resolve, reject) => {
    if (request.readableDidRead) return reject(readAlready())
    if (request.destroyed) return reject(new HttpRefusal(400, 'the body was cut off'))
    const chunks: Buffer[] = []
    let size = 0
    request.on('data', (piece: Buffer | string) => {
      // text where middleware has set an encoding
      const chunk = typeof piece === 'string' ? Buffer.from(piece) : piece
      size += chunk.length
      if (size <= maxBytes) return void chunks.push(chunk)
      chunks.length = 0
      reject(tooLarge(maxBytes))
      if (size > maxBytes + patience) request.destroy()
    })
    request.on('end', () => {
      if (size > maxBytes) return
      try {
        resolve(decode(utf8.decode(chunks.length === 1 ? chunks[0] : Buffer.concat(chunks))))
      } catch (error) {
        reject(new HttpRefusal(400, explain(error)))
      }
    })
    request.on('error', reject)
    request.on('close', () => {
      if (!request.complete) reject(new HttpRefusal(400, 'the body was cut off'))
    })
    if (Number(request.headers['content-length']) > maxBytes) reject(tooLarge(maxBytes))
    // middleware may have paused it, to look at something else first
    if (request.isPaused()) request.resume()
  })
}

/** What becomes of a request whose body has gone to somebody else: nobody would ever be told of its end. */
export function readAlready(): TransportError {
  const problem =
    'the body of a mounted request: expected it unread, or handed over as `body`; it has been read already'
  return optionError('body', problem)
}

/** Whether the body was an array: only 2025-03-26 has batches. */
export function isBatch(decoded: Message | Batch): decoded is Batch {
  return Array.isArray(decoded)
}

function explain(error: unknown) {
  if (error instanceof ProtocolError) return answerInvalid(error) ?? `${error.message}`
  return buildError(undefined, { code: errorCodes.parseError, message: 'the body is not UTF-8' })
}

function tooLarge(maxBytes: number): HttpRefusal {
  return new HttpRefusal(413, `the body may have ${maxBytes} bytes`)
}
