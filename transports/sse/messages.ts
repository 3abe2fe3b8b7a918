import type { IncomingMessage, ServerResponse } from 'node:http'
import { textOf } from '../base/encoded.js'
import { type BodyLimits, readMessageText } from '../http/listen/body.js'
import { answerEarly } from '../http/listen/linger.js'
import { HttpRefusal } from '../http/listen/refusal.js'

/** Writes a refusal, unless something has been written already; the connection is not used again. */
export function answer(request: IncomingMessage, response: ServerResponse, refusal: HttpRefusal): void {
  if (response.headersSent) return void response.destroy()
  const text = textOf(refusal.body)
  const length = String(Buffer.byteLength(text))
  const headers = { 'content-type': 'application/json', 'content-length': length, ...refusal.headers }
  answerEarly(request, response, { status: refusal.status, headers, text })
}

/** The text of a POST, which is a message, or a batch. Rejects with HttpRefusal: 413, 415 or 400. */
export async function readPost(request: IncomingMessage, limits: BodyLimits): Promise<string> {
  checkContent(request)
  return readMessageText(request, limits)
}

function checkContent({ headers }: IncomingMessage): void {
  const { 'content-encoding': encoding = 'identity', 'content-type': type = '' } = headers
  if (encoding !== 'identity') throw new HttpRefusal(415, 'Content-Encoding: compressed bodies are not taken')
  if (type.split(';', 1)[0]?.trim().toLowerCase() !== 'application/json')
    throw new HttpRefusal(415, 'Content-Type: expected application/json')
}
