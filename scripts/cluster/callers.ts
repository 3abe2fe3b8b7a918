import {
  CaduceusError,
  type CallOptions,
  type Client,
  ClientError,
  clientSpec,
  McpError,
  type Supervisor,
} from 'caduceus'
import { http } from 'caduceus/transports'
import { answerTo, type Callable, callTimeout, type Calling } from '../soak/calls.js'
import type { HistoryLog } from '../soak/history-log.js'
import { ownUri } from '../soak/members.js'
import type { Place } from './plan.js'

/** A client of a run, whoever wrote it. */
export interface Participant extends Calling {
  /** Changes of its own resource that it was told of. */
  readonly updates: number
  /** Whether it goes on with its event stream whatever happens to that: others give up. */
  readonly listens: boolean
  close(): Promise<void>
}

/** Brings in a client of its kind, ready and subscribed to its own resource. */
export async function joinCluster(
  place: Place,
  url: string,
  tree: Supervisor,
  history: HistoryLog,
): Promise<Participant> {
  if (place.kind === 'ours') return joinOurs(place, url, tree, history)
  const official = new Official(place, url)
  await official.listTools({})
  return {
    name: place.name,
    style: 'official',
    era: place.era,
    client: official,
    updates: 0,
    listens: false,
    close: () => official.close(),
  }
}

async function joinOurs(
  { name, era }: Place,
  url: string,
  tree: Supervisor,
  history: HistoryLog,
): Promise<Participant> {
  const spec = clientSpec({
    name,
    transport: http(url),
    era: era === 'session' ? 'handshake' : 'modern',
    timeout: callTimeout,
    handshakeTimeout: 10_000,
    onElicit: ({ message }) => ({ action: 'accept', content: { word: answerTo(message) } }),
  })
  const { extra } = await tree.startChild(spec)
  const client = extra as Client
  const told = { updates: 0 }
  client.onNotification('notifications/resources/updated', ({ uri }) => {
    if (uri === ownUri(name)) told.updates += 1
  })
  await client.ready({ timeout: 60_000 })
  await client.subscribe(ownUri(name))
  history.add(name, { type: 'phase', program: 'soak', client: name, phase: 'ready' })
  client.onState(({ phase, reason }) => {
    const code = reason instanceof CaduceusError ? { code: reason.code } : {}
    history.add(name, { type: 'phase', program: 'soak', client: name, phase, ...code })
  })
  return {
    name,
    style: 'own',
    era,
    client,
    get updates() {
      return told.updates
    },
    listens: true,
    close: () => client.close(),
  }
}

/** What is used of the official clients, of which both have nearly the same. */
interface Connection {
  callTool(params: object, ...rest: unknown[]): Promise<{ content: { text: string }[]; isError?: boolean }>
  listTools(params: undefined, options: object): Promise<{ tools: { name: string }[] }>
  readResource(params: object, options: object): Promise<{ contents: { text: string }[] }>
  setRequestHandler(what: unknown, fn: (request: { params: { message: string } }) => unknown): void
  connect(transport: object): Promise<void>
  close(): Promise<void>
  onerror?: (error: Error) => void
}

/** A client of the official SDK. It is connected anew when its session has ended, as a host has to. */
class Official implements Callable {
  readonly #place: Place
  readonly #url: string
  #connection: Promise<Connection> | undefined

  constructor(place: Place, url: string) {
    this.#place = place
    this.#url = url
  }

  async callTool(name: string, args: Record<string, unknown>, options: CallOptions) {
    const { isError, content } = await this.#use(options, (connection, rest) =>
      this.#place.kind === 'v1'
        ? connection.callTool({ name, arguments: args }, undefined, rest)
        : connection.callTool({ name, arguments: args }, rest),
    )
    return { ...(isError !== undefined && { isError }), text: content[0]?.text ?? '' }
  }

  listTools(options: CallOptions) {
    return this.#use(options, (connection, rest) => connection.listTools(undefined, rest))
  }

  async readResource(uri: string, options: CallOptions) {
    const { contents } = await this.#use(options, (connection, rest) =>
      connection.readResource({ uri }, rest),
    )
    return { text: contents[0]?.text ?? '' }
  }

  async close(): Promise<void> {
    await (await this.#connection?.catch(() => undefined))?.close()
  }

  async #use<T>(
    { signal, timeout = callTimeout, onProgress }: CallOptions,
    work: (connection: Connection, rest: object) => Promise<T>,
  ): Promise<T> {
    this.#connection ??= this.#connect()
    const connection = this.#connection
    try {
      return await work(await connection, {
        timeout,
        ...(signal && { signal }),
        ...(onProgress && { onprogress: onProgress }),
      })
    } catch (error) {
      const failure = failureOf(error, signal)
      const isOver = failure instanceof ClientError && endings.has(failure.code)
      const isOpen = await connection.then(
        () => true,
        () => false,
      )
      if ((isOver || !isOpen) && this.#connection === connection) {
        this.#connection = undefined
        if (isOpen) void connection.then((one) => one.close()).catch(() => {})
      }
      throw failure
    }
  }

  async #connect(): Promise<Connection> {
    const { kind, era, name } = this.#place
    const place: string = kind === 'v1' ? '@modelcontextprotocol/sdk/client' : '@modelcontextprotocol/client'
    const { Client } = await import(kind === 'v1' ? `${place}/index.js` : place)
    const { StreamableHTTPClientTransport } = await import(
      kind === 'v1' ? `${place}/streamableHttp.js` : place
    )
    const connection: Connection = new Client(
      { name, version: '1' },
      {
        capabilities: { elicitation: {} },
        ...(kind === 'v2' && {
          versionNegotiation: { mode: era === 'modern' ? { pin: '2026-07-28' } : 'legacy' },
        }),
      },
    )
    connection.setRequestHandler(await elicitation(kind), ({ params }) => ({
      action: 'accept',
      content: { word: answerTo(params.message) },
    }))
    connection.onerror = () => {}
    try {
      await connection.connect(new StreamableHTTPClientTransport(new URL(this.#url)))
    } catch (error) {
      await connection.close().catch(() => {})
      throw error
    }
    return connection
  }
}

/** After these the connection is of no use. */
const endings: ReadonlySet<string> = new Set(['SESSION_NOT_FOUND', 'CLOSED'])

async function elicitation(kind: Place['kind']): Promise<unknown> {
  if (kind === 'v2') return 'elicitation/create'
  const { ElicitRequestSchema } = await import('@modelcontextprotocol/sdk/types.js' as string)
  return ElicitRequestSchema
}

/** What an official client throws, in our words. */
function failureOf(error: unknown, signal: AbortSignal | undefined): Error {
  const { code, status, message } = error as { code?: unknown; status?: unknown; message: string }
  const data = { sent: true }
  if (signal?.aborted === true) return new ClientError('CANCELLED', message, { data })
  if (code === 'REQUEST_TIMEOUT' || code === -32001) return new ClientError('TIMEOUT', message, { data })
  if (code === 'CONNECTION_CLOSED' || code === 'NOT_CONNECTED' || message === 'Not connected')
    return new ClientError('CLOSED', message, { data })
  const http = typeof status === 'number' ? status : typeof code === 'number' && code > 0 ? code : undefined
  if (http === 404) return new ClientError('SESSION_NOT_FOUND', message, { data })
  if (http !== undefined) return new ClientError('REQUEST_FAILED', `HTTP ${http}: ${message}`, { data })
  if (typeof code === 'number') return new McpError(code, message)
  return new ClientError('CONNECTION_LOST', message, { data })
}
