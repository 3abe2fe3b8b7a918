import type { IncomingMessage } from 'node:http'
import { type Batch, decode } from '../protocol/codec.js'
import { errorCodes, ProtocolError } from '../protocol/errors.js'
import { answerInvalid, buildError, type Message } from '../protocol/jsonrpc.js'
import { HttpRefusal } from './http-response.js'

/** Bytes of a body over the limit that are thrown away, so that the client gets to read the answer; then it is cut off. */
const patience = 16 * 1024 * 1024
const utf8 = new TextDecoder('utf-8', { fatal: true })

/** The one message in the body of a POST. Rejects with HttpRefusal: 413, or 400 with the JSON-RPC error. */
export async function readMessageBody(request: IncomingMessage, maxBytes: number): Promise<Message> {
  const bytes = await readBody(request, maxBytes)
  try {
    const message = decode(utf8.decode(bytes))
    if (!isBatch(message)) return message
  } catch (error) {
    throw new HttpRefusal(400, explain(error))
  }
  throw new HttpRefusal(400, 'a batch: this revision takes one message at a time')
}

function isBatch(decoded: Message | Batch): decoded is Batch {
  return Array.isArray(decoded)
}

function explain(error: unknown) {
  if (error instanceof ProtocolError) return answerInvalid(error) ?? `${error.message}`
  return buildError(undefined, { code: errorCodes.parseError, message: 'the body is not UTF-8' })
}

function readBody(request: IncomingMessage, maxBytes: number): Promise<Uint8Array> {
  const tooLarge = () => new HttpRefusal(413, `the body may have ${maxBytes} bytes`)
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    let size = 0
    request.on('data', (chunk: Buffer) => {
      size += chunk.length
      if (size <= maxBytes) return void chunks.push(chunk)
      chunks.length = 0
      reject(tooLarge())
      if (size > maxBytes + patience) request.destroy()
    })
    request.once('end', () => resolve(chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks)))
    request.once('error', reject)
    request.once('close', () => {
      if (!request.complete) reject(new HttpRefusal(400, 'the body was cut off'))
    })
    if (Number(request.headers['content-length']) > maxBytes) reject(tooLarge())
  })
}
