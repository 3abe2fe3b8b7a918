import type { IncomingMessage, ServerResponse } from 'node:http'
import { decode } from '../protocol/codec.js'
import { errorCodes, ProtocolError } from '../protocol/errors.js'
import { answerInvalid, buildError, type Message } from '../protocol/jsonrpc.js'
import { textOf } from './encoded.js'

/** Why a request is answered with an error status. */
export class SseRefusal extends Error {
  override readonly name = 'SseRefusal'
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: Message

  constructor(status: number, problem: string | Message, headers: Readonly<Record<string, string>> = {}) {
    super(typeof problem === 'string' ? problem : `status ${status}`)
    this.status = status
    this.headers = headers
    this.body =
      typeof problem === 'string'
        ? buildError(undefined, { code: errorCodes.invalidRequest, message: problem })
        : problem
  }
}

/** Writes a refusal, unless something has been written already; the connection is not used again. */
export function answer(response: ServerResponse, { status, headers, body }: SseRefusal): void {
  if (response.headersSent) return void response.destroy()
  const text = textOf(body)
  const length = String(Buffer.byteLength(text))
  const all = {
    'content-type': 'application/json',
    'content-length': length,
    connection: 'close',
    ...headers,
  }
  response.writeHead(status, all).end(text)
}

/** Bytes beyond the limit that are thrown away, so that the client gets to read the answer; then it is cut off. */
const patience = 16 * 1024 * 1024
const utf8 = new TextDecoder('utf-8', { fatal: true })

/** The body of a POST, which is a message, or a batch. Rejects with SseRefusal: 413, 415 or 400. */
export async function readMessageText(request: IncomingMessage, maxBytes: number): Promise<string> {
  checkContent(request)
  const bytes = await readBody(request, maxBytes)
  try {
    const text = utf8.decode(bytes)
    decode(text)
    return text
  } catch (error) {
    const unreadable = buildError(undefined, {
      code: errorCodes.parseError,
      message: 'the body is not UTF-8',
    })
    throw new SseRefusal(
      400,
      error instanceof ProtocolError ? (answerInvalid(error) ?? error.message) : unreadable,
    )
  }
}

function checkContent({ headers }: IncomingMessage): void {
  const { 'content-encoding': encoding = 'identity', 'content-type': type = '' } = headers
  if (encoding !== 'identity') throw new SseRefusal(415, 'Content-Encoding: compressed bodies are not taken')
  if (type.split(';', 1)[0]?.trim().toLowerCase() !== 'application/json')
    throw new SseRefusal(415, 'Content-Type: expected application/json')
}

function readBody(request: IncomingMessage, maxBytes: number): Promise<Buffer> {
  const tooLarge = () => new SseRefusal(413, `the body may have ${maxBytes} bytes`)
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
    request.once('end', () => resolve(Buffer.concat(chunks)))
    request.once('close', () => reject(new SseRefusal(400, 'the body was cut off')))
    if (Number(request.headers['content-length']) > maxBytes) reject(tooLarge())
  })
}
