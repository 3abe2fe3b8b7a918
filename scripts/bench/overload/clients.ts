import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { WebSocket } from 'ws'
import { type Connection, headerOf, messageOf, openConnection, post, postHead } from '../peers/connection.js'
import { type Answer, checkInitialize, initialize, initialized } from '../peers/messages.js'
import type { Fate } from './figures.js'

export type Kind = 'http' | 'modern' | 'websocket' | 'stdio'

/** A call of a tool. */
export interface Call {
  readonly name: string
  readonly arguments: object
}

/** One client of the server, at an address of its own. */
export interface Client {
  /** Never rejects; any number at once. With `patience`, its user leaves after so many ms, and says so. */
  call(call: Call, patience?: number): Promise<Fate>
  close(): void
}

/** Rejects with a `Refused` where the server lets in no more. */
export function openClient(kind: Kind, port: number, address: string): Promise<Client> {
  if (kind === 'stdio') throw new Error('the one client of standard input starts its server')
  if (kind === 'websocket') return openSocket(port, address)
  return kind === 'http' ? openHttp(port, address) : openModern(port, address)
}

/** A refusal of a client, with the status. */
export class Refused extends Error {
  override readonly name = 'Refused'
}

async function openHttp(port: number, address: string): Promise<Client> {
  const connection = await openConnection(port)
  try {
    const from = { 'x-forwarded-for': address }
    const opened = await connection.ask(post(postHead(port, from), initialize))
    if (opened.status !== 200) throw new Refused(`status ${opened.status}`)
    checkInitialize(messageOf(opened))
    const session = String(headerOf(opened, 'mcp-session-id'))
    const more = { ...from, 'mcp-session-id': session, 'mcp-protocol-version': '2025-11-25' }
    const head = postHead(port, more)
    await connection.ask(post(head, initialized))
    const leave = (id: number): string => post(head, cancelled(id))
    return new HttpClient(port, connection, (id, call) => post(head, textOf(id, call)), leave)
  } catch (error) {
    connection.close()
    throw error
  }
}

async function openModern(port: number, address: string): Promise<Client> {
  const _meta = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientInfo': { name: 'bench', version: '1.0.0' },
    'io.modelcontextprotocol/clientCapabilities': {},
  }
  const headOf = (name: string): string =>
    postHead(port, {
      'x-forwarded-for': address,
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': 'tools/call',
      'mcp-name': name,
    })
  const connection = await openConnection(port)
  return new HttpClient(port, connection, (id, call) =>
    post(headOf(call.name), textOf(id, { ...call, _meta } as Call)),
  )
}

/** A client over HTTP: each call has a connection of its own while it lasts, as no two fit on one. */
class HttpClient implements Client {
  readonly #port: number
  readonly #requestOf: (id: number, call: Call) => string
  /** What says that a request is not waited for; without, its connection is closed. */
  readonly #leaveOf: ((id: number) => string) | undefined
  readonly #idle: Connection[]
  readonly #all: Set<Connection>
  #isClosed = false
  #last = 0

  constructor(
    port: number,
    connection: Connection,
    requestOf: (id: number, call: Call) => string,
    leaveOf?: (id: number) => string,
  ) {
    this.#port = port
    this.#requestOf = requestOf
    this.#leaveOf = leaveOf
    this.#idle = [connection]
    this.#all = new Set([connection])
  }

  async call(call: Call, patience?: number): Promise<Fate> {
    const id = ++this.#last
    let connection: Connection | undefined
    const answered = this.#ask(this.#requestOf(id, call), (one) => {
      connection = one
    })
    return unlessLeft(answered, patience, () => {
      if (this.#leaveOf !== undefined) void this.#ask(this.#leaveOf(id))
      else if (connection !== undefined) this.#drop(connection)
    })
  }

  async #ask(request: string, uses: (connection: Connection) => void = () => {}): Promise<Fate> {
    let connection: Connection | undefined
    try {
      connection = this.#idle.pop() ?? (await this.#open())
      uses(connection)
      const got = await connection.ask(request)
      if (/\r\nconnection: *close/i.test(got.head)) this.#drop(connection)
      else if (!this.#isClosed) this.#idle.push(connection)
      if (got.status === 200) return fateOf(messageOf(got))
      const isRefused = headerOf(got, 'retry-after') !== undefined && [429, 503].includes(got.status)
      return isRefused ? 'refused' : 'failed'
    } catch {
      if (connection !== undefined) this.#drop(connection)
      return 'failed'
    }
  }

  close(): void {
    this.#isClosed = true
    for (const connection of this.#all) connection.close()
  }

  async #open(): Promise<Connection> {
    const connection = await openConnection(this.#port)
    this.#all.add(connection)
    return connection
  }

  #drop(connection: Connection): void {
    this.#all.delete(connection)
    connection.close()
  }
}

async function openSocket(port: number, address: string): Promise<Client> {
  const headers = { 'x-forwarded-for': address }
  const socket = new WebSocket(`ws://127.0.0.1:${port}/mcp`, 'mcp', { headers, perMessageDeflate: false })
  await new Promise<void>((resolve, reject) => {
    socket.once('open', resolve)
    socket.once('unexpected-response', (_request, { statusCode }) => {
      socket.terminate()
      reject(new Refused(`status ${statusCode}`))
    })
    socket.once('error', reject)
  })
  const client = new LineClient((text) => socket.send(text))
  socket.on('message', (data) => client.take(String(data)))
  socket.on('close', () => client.lose()).on('error', () => {})
  await client.begin()
  client.onClose = () => socket.terminate()
  return client
}

/** Starts the server of the one client that standard input has. */
export async function startPiped(
  own: readonly string[],
): Promise<{ readonly client: Client; readonly pid: number }> {
  const module = fileURLToPath(new URL('./server.js', import.meta.url))
  const server = spawn(process.execPath, [module, 'stdio', ...own], { stdio: ['pipe', 'pipe', 'inherit'] })
  await once(server, 'spawn')
  const client = new LineClient((text) => server.stdin.write(`${text}\n`))
  createInterface({ input: server.stdout }).on('line', (line) => client.take(line))
  server.once('exit', () => client.lose())
  client.onClose = () => server.stdin.end()
  await client.begin()
  return { client, pid: Number(server.pid) }
}

/** A client whose messages go one after the other: on a socket, or on a pipe. */
class LineClient implements Client {
  onClose: () => void = () => {}
  readonly #send: (text: string) => void
  readonly #waiting = new Map<unknown, (answer: Answer | undefined) => void>()
  #last = 0

  constructor(send: (text: string) => void) {
    this.#send = send
  }

  async begin(): Promise<void> {
    const answer = await this.#ask('open', initialize)
    if (answer !== undefined) checkInitialize(answer)
    this.#send(initialized)
  }

  call(call: Call, patience?: number): Promise<Fate> {
    const id = ++this.#last
    const answered = this.#ask(id, textOf(id, call)).then((answer) =>
      answer === undefined ? 'failed' : fateOf(answer),
    )
    return unlessLeft(answered, patience, () => {
      this.#waiting.delete(id)
      this.#send(cancelled(id))
    })
  }

  take(text: string): void {
    const message: Answer = JSON.parse(text)
    const resolve = this.#waiting.get(message.id)
    this.#waiting.delete(message.id)
    resolve?.(message)
  }

  lose(): void {
    for (const resolve of this.#waiting.values()) resolve(undefined)
    this.#waiting.clear()
  }

  close(): void {
    this.onClose()
  }

  #ask(id: unknown, text: string): Promise<Answer | undefined> {
    return new Promise((resolve) => {
      this.#waiting.set(id, resolve)
      this.#send(text)
    })
  }
}

/** What becomes of a call whose user leaves after so many ms. */
async function unlessLeft(
  answered: Promise<Fate>,
  patience: number | undefined,
  leave: () => void,
): Promise<Fate> {
  if (patience === undefined) return answered
  let timer: NodeJS.Timeout | undefined
  const left = new Promise<Fate>((resolve) => {
    timer = setTimeout(() => {
      leave()
      resolve('left')
    }, patience)
  })
  return Promise.race([answered, left]).finally(() => clearTimeout(timer))
}

function cancelled(id: number): string {
  const params = { requestId: id, reason: 'timeout' }
  return JSON.stringify({ jsonrpc: '2.0', method: 'notifications/cancelled', params })
}

function textOf(id: number, call: Call): string {
  return JSON.stringify({ jsonrpc: '2.0', id, method: 'tools/call', params: call })
}

/** Answers of the tools are right by their kind: what they say is tested elsewhere. */
function fateOf(answer: Answer & { readonly error?: { readonly data?: unknown } }): Fate {
  if (typeof answer.result?.content?.[0]?.text === 'string') return 'served'
  const { data } = answer.error ?? {}
  const isRefused =
    typeof data === 'object' && data !== null && 'retryable' in data && data.retryable === true
  return isRefused ? 'refused' : 'failed'
}
