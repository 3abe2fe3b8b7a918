import { connect, type Socket } from 'node:net'
import type { Answer } from './messages.js'

/** One answer of the server; `head` is its status line and headers, as they came. */
export interface HttpAnswer {
  readonly status: number
  readonly head: string
  readonly body: Buffer
}

interface Waiting {
  resolve(answer: HttpAnswer): void
  reject(error: Error): void
}

const nothing = Buffer.alloc(0)
const headEnd = Buffer.from('\r\n\r\n')
const lineEnd = Buffer.from('\r\n')

/** A kept connection that takes one request at a time; written on a bare socket, so that the load costs less than any server. */
export class Connection {
  readonly #socket: Socket
  #received: Buffer = nothing
  #waiting: Waiting | null = null

  constructor(socket: Socket) {
    this.#socket = socket
    socket.on('data', (chunk) => this.#take(chunk))
    socket.on('error', (error) => this.#fail(error))
    socket.on('close', () => this.#fail(new Error('the server has closed the connection')))
  }

  /** Sends a whole request as text and resolves with its answer. */
  ask(request: string): Promise<HttpAnswer> {
    if (this.#socket.destroyed) return Promise.reject(new Error('the connection is closed'))
    return new Promise((resolve, reject) => {
      this.#waiting = { resolve, reject }
      this.#socket.write(request)
    })
  }

  close(): void {
    this.#waiting = null
    this.#socket.destroy()
  }

  #take(chunk: Buffer): void {
    this.#received = this.#received.length === 0 ? chunk : Buffer.concat([this.#received, chunk])
    const found = readAnswer(this.#received)
    if (found === undefined) return
    this.#received = this.#received.subarray(found.end)
    const waiting = this.#waiting
    this.#waiting = null
    waiting?.resolve(found)
  }

  #fail(error: Error): void {
    this.#waiting?.reject(error)
    this.#waiting = null
  }
}

/** Resolves once the connection is open; rejects after 2 s. */
export function openConnection(port: number): Promise<Connection> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: '127.0.0.1', noDelay: true, timeout: 2_000 })
    socket.once('error', reject)
    socket.once('timeout', () => socket.destroy(new Error(`port ${port} does not answer`)))
    socket.once('connect', () => {
      socket.setTimeout(0)
      socket.off('error', reject)
      resolve(new Connection(socket))
    })
  })
}

/** A POST to `/mcp` up to the value of its last header, the length of the body, which belongs behind it. */
export function postHead(port: number, headers: Readonly<Record<string, string>> = {}): string {
  const all = {
    host: `127.0.0.1:${port}`,
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
    ...headers,
  }
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`)
  return `POST /mcp HTTP/1.1\r\n${lines.join('')}content-length: `
}

/** The whole POST; the body is ASCII. */
export function post(head: string, body: string): string {
  return `${head}${body.length}\r\n\r\n${body}`
}

/** The value of a header of an answer, whose name is given in lower case. */
export function headerOf({ head }: HttpAnswer, name: string): string | undefined {
  const lines = head.split('\r\n').map((line) => /^([^:]+): *(.*)$/.exec(line))
  return lines.find((line) => line?.[1]?.toLowerCase() === name)?.[2]
}

/** The JSON-RPC answer in a body of JSON, or in the one event with data of an event stream. */
export function messageOf({ head, body }: HttpAnswer): Answer {
  const text = body.toString('utf8')
  if (!head.includes('text/event-stream')) return JSON.parse(text)
  for (let start = text.indexOf('data: '); start >= 0; start = text.indexOf('data: ', start + 6)) {
    const end = text.indexOf('\n', start)
    const data = text.slice(start + 6, end < 0 ? undefined : end).trim()
    const message: Answer = data === '' ? {} : JSON.parse(data)
    if (message.id !== undefined && message.method === undefined) return message
  }
  throw new Error(`an event stream without an answer: ${text.slice(0, 300)}`)
}

/** The answer at the beginning of the bytes and where it ends; undefined when a part is still missing. */
function readAnswer(bytes: Buffer): (HttpAnswer & { readonly end: number }) | undefined {
  const headLength = bytes.indexOf(headEnd)
  if (headLength < 0) return undefined
  const head = bytes.toString('latin1', 0, headLength)
  const status = Number(head.slice(9, 12))
  const start = headLength + headEnd.length
  const length = /\r\ncontent-length: *(\d+)/i.exec(head)?.[1]
  if (length === undefined && /\r\ntransfer-encoding: *chunked/i.test(head)) {
    const chunked = readChunks(bytes, start)
    return chunked && { status, head, ...chunked }
  }
  const end = start + Number(length ?? 0)
  return bytes.length < end ? undefined : { status, head, body: bytes.subarray(start, end), end }
}

function readChunks(bytes: Buffer, start: number): { body: Buffer; end: number } | undefined {
  const parts: Buffer[] = []
  for (let at = start; ; ) {
    const line = bytes.indexOf(lineEnd, at)
    if (line < 0) return undefined
    const size = Number.parseInt(bytes.toString('latin1', at, line), 16)
    const end = line + 2 + size + 2
    if (bytes.length < end) return undefined
    if (size === 0) return { body: parts.length === 1 && parts[0] ? parts[0] : Buffer.concat(parts), end }
    parts.push(bytes.subarray(line + 2, line + 2 + size))
    at = end
  }
}
