import { Agent, type IncomingMessage, request } from 'node:http'
import type { TestContext } from '../support/suite.js'

/** A JSON-RPC message as it came, to be looked into by a test. */
export type Wire = {
  readonly id?: number | string
  readonly method?: string
  readonly params?: Record<string, unknown>
  readonly result?: {
    readonly content?: readonly { readonly text: string }[]
    readonly isError?: boolean
    readonly tools?: readonly { readonly name: string }[]
    [key: string]: unknown
  }
  readonly error?: {
    readonly code: number
    readonly message: string
    readonly data?: Record<string, unknown>
  }
}

/** One HTTP answer, read to its end. */
export type Answer = {
  readonly status: number
  readonly headers: IncomingMessage['headers']
  readonly body: string
  /** The messages in it, from a JSON body or from an event stream. */
  readonly messages: readonly Wire[]
}

/** A GET stream that is open. */
export type Stream = {
  readonly status: number
  /** The next message; rejects when the stream ends first. */
  next(): Promise<Wire>
  /** Resolves when the stream has ended. */
  readonly ended: Promise<void>
  /** Every comment so far. */
  readonly comments: () => number
  /** Reads no more. */
  pause(): void
  close(): void
}

const both = 'application/json, text/event-stream'

/** A raw client of one server, without a session until `open`. */
export class RawClient {
  readonly url: URL
  readonly #agent = new Agent({ keepAlive: true })
  /** Clients of one session begin at different numbers. */
  lastId = 0
  sessionId: string | undefined
  revision = '2025-11-25'
  /** Headers that every request has. */
  own: Record<string, string> = {}

  constructor(t: Pick<TestContext, 'after'>, url: string | undefined) {
    this.url = new URL(String(url))
    t.after(() => this.#agent.destroy())
  }

  /** Sends bytes as they are and reads the answer to its end. */
  send(
    method: string,
    body: string | Buffer | undefined,
    headers: Record<string, string> = {},
  ): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const sent = request(this.url, { method, agent: this.#agent, headers }, (response) => {
        const chunks: Buffer[] = []
        response.on('data', (chunk: Buffer) => chunks.push(chunk))
        response.on('error', reject)
        response.on('end', () => resolve(readAnswer(response, Buffer.concat(chunks).toString())))
      })
      sent.on('error', reject)
      sent.end(body)
    })
  }

  /** Posts one message in this client's session. */
  post(message: object, headers: Record<string, string> = {}): Promise<Answer> {
    return this.send('POST', JSON.stringify(message), { ...this.headers(), ...headers })
  }

  headers(): Record<string, string> {
    return {
      accept: both,
      'content-type': 'application/json',
      ...this.own,
      ...(this.sessionId === undefined
        ? {}
        : { 'mcp-session-id': this.sessionId, 'mcp-protocol-version': this.revision }),
    }
  }

  /** Opens a session as a good client does. */
  async open(client = 'raw', revision = '2025-11-25', capabilities: object = { roots: {} }): Promise<this> {
    const answer = await this.post(initialize(client, revision, capabilities))
    if (answer.status !== 200) throw new Error(`initialize: ${answer.status} ${answer.body}`)
    this.sessionId = String(answer.headers['mcp-session-id'])
    this.revision = String(answer.messages[0]?.result?.protocolVersion)
    await this.post({ jsonrpc: '2.0', method: 'notifications/initialized' })
    return this
  }

  /** Sends a request and resolves with its answer, whatever came before it. */
  async ask(method: string, params?: object, id: number | string = ++this.lastId): Promise<Wire> {
    const answer = await this.post({ jsonrpc: '2.0', id, method, ...(params && { params }) })
    const response = answer.messages.find((message) => message.id === id)
    if (response === undefined) throw new Error(`${method}: ${answer.status} ${answer.body}`)
    return response
  }

  /** Calls a tool and resolves with the whole answer. */
  call(name: string, args: object = {}, id?: number | string): Promise<Wire> {
    return this.ask('tools/call', { name, arguments: args }, id)
  }

  /** Calls a tool and resolves with the text of its result. */
  async text(name: string, args: object = {}): Promise<string> {
    const { result, error } = await this.call(name, args)
    if (error !== undefined) throw new Error(`${error.code} ${error.message}`)
    return String(result?.content?.[0]?.text)
  }

  /** The names on the first page of the list, or on the one at `cursor`. */
  async list(cursor?: unknown): Promise<string[]> {
    const { result } = await this.ask('tools/list', cursor === undefined ? undefined : { cursor })
    return (result?.tools ?? []).map(({ name }) => name)
  }

  tell(method: string, params?: object): Promise<Answer> {
    return this.post({ jsonrpc: '2.0', method, ...(params && { params }) })
  }

  /** Posts one message and hands out its event stream as it comes; answer and all. */
  stream(message: object): Promise<Stream> {
    return new Promise((resolve, reject) => {
      const sent = request(this.url, { method: 'POST', headers: this.headers(), agent: false }, (response) =>
        resolve(toStream(response)),
      )
      sent.on('error', reject)
      sent.end(JSON.stringify(message))
    })
  }

  /** Opens a GET stream; resolves when the headers are there. */
  listen(headers: Record<string, string> = {}): Promise<Stream> {
    return new Promise((resolve, reject) => {
      const all = { ...this.headers(), accept: 'text/event-stream', ...headers }
      const sent = request(this.url, { method: 'GET', headers: all, agent: false }, (response) =>
        resolve(toStream(response)),
      )
      sent.on('error', reject)
      sent.end()
    })
  }
}

/** An `initialize` request. */
export function initialize(
  client = 'raw',
  protocolVersion = '2025-11-25',
  capabilities: object = { roots: {} },
): object {
  const params = { protocolVersion, capabilities, clientInfo: { name: client, version: '1' } }
  return { jsonrpc: '2.0', id: 'init', method: 'initialize', params }
}

function readAnswer(response: IncomingMessage, body: string): Answer {
  const { statusCode: status = 0, headers } = response
  return { status, headers, body, messages: readMessages(headers['content-type'] ?? '', body) }
}

function readMessages(type: string, body: string): Wire[] {
  if (type.startsWith('application/json')) return [JSON.parse(body)].flat()
  if (!type.startsWith('text/event-stream')) return []
  return body.split('\n\n').flatMap(readEvent)
}

function readEvent(event: string): Wire[] {
  const data = event.split('\n').find((line) => line.startsWith('data: '))
  return data === undefined || data === 'data: ' ? [] : [JSON.parse(data.slice(6))]
}

function toStream(response: IncomingMessage): Stream {
  const messages: Wire[] = []
  const waiting: { resolve(message: Wire): void; reject(error: Error): void }[] = []
  let rest = ''
  let comments = 0
  const ended = new Promise<void>((resolve) => response.once('close', resolve))
  response.on('error', () => {})
  response.setEncoding('utf8')
  response.on('data', (chunk: string) => {
    const events = (rest + chunk).split('\n\n')
    rest = events.pop() ?? ''
    comments += events.filter((event) => event.startsWith(':')).length
    messages.push(...events.flatMap(readEvent))
    while (waiting.length > 0 && messages.length > 0) waiting.shift()?.resolve(messages.shift() as Wire)
  })
  void ended.then(() => {
    for (const { reject } of waiting) reject(new Error('the stream has ended'))
  })
  return {
    status: response.statusCode ?? 0,
    ended,
    comments: () => comments,
    pause: () => void response.pause(),
    close: () => response.destroy(),
    next: () => {
      const message = messages.shift()
      if (message !== undefined) return Promise.resolve(message)
      return new Promise((resolve, reject) => waiting.push({ resolve, reject }))
    },
  }
}
