import { isRequest, type JsonRpcRequest, type Message } from 'caduceus/protocol'
import { type ClientTransport, type Link, type LinkEvents, TransportError } from 'caduceus/transports'

/** What becomes of a call that a transport is given. Of those with a star the server never hears. */
export const fates = [
  'answered',
  'refused',
  'refused for now',
  'asks',
  'silent',
  'lost',
  'lost with the server',
  'dies of it',
  'dies before*',
  'forgotten',
  'unreachable*',
  'redirected to nobody',
  'not open*',
  'not sent*',
  'no token*',
  'busy',
  'bad request',
  'crash of the client',
  'crash of the transport',
  'ends for good',
] as const

export type Fate = (typeof fates)[number]

/** What a server knows of a call. */
export interface Entry {
  /** How often it arrived. */
  seen: number
  /** How often it was acted on. */
  done: number
  /** How often it was answered with a wish for another round. */
  asked: number
}

/** A server in memory whose calls fare as the test says, one after the other, and the book that it keeps of them. */
export class LedgerServer {
  readonly entries = new Map<string, Entry>()
  readonly transport: ClientTransport
  /** Connections that fail before the next that comes about. */
  refusals = 0
  /** Has an actor of the client die. */
  kill: (which: 'client' | 'transport') => void = () => {}
  readonly #fates: Fate[]
  #drop: (() => void) | undefined

  constructor(given: readonly Fate[], era: 'modern' | 'handshake') {
    this.#fates = [...given]
    this.transport = {
      name: 'ledger',
      modern: era === 'modern' ? 'pipe' : 'none',
      connect: (events) => this.#connect(events),
    }
  }

  entry(key: string): Entry {
    const entry = this.entries.get(key) ?? { seen: 0, done: 0, asked: 0 }
    this.entries.set(key, entry)
    return entry
  }

  /** The connection breaks. */
  drop(): void {
    this.#drop?.()
  }

  #connect(events: LinkEvents): Link {
    let over = false
    const close = (error?: TransportError, fatal = false): void => {
      if (over) return
      over = true
      events.closed(error === undefined ? {} : { error, fatal })
    }
    if (this.refusals > 0) {
      this.refusals -= 1
      close(failure('CONNECT_FAILED'))
    } else events.opened()
    this.#drop = () => close(failure('CONNECTION_LOST'))
    return {
      send: (_text, message) => {
        if (!over) this.#take(message, events, close)
      },
      close: () => close(),
    }
  }

  #take(
    message: Message,
    events: LinkEvents,
    close: (error?: TransportError, fatal?: boolean) => void,
  ): void {
    if (!isRequest(message)) return
    const { id, method } = message
    const answer = (body: object): void => events.message(JSON.stringify({ jsonrpc: '2.0', id, ...body }))
    const known = answers[method]
    if (known !== undefined) return answer({ result: known })
    const key = keyOf(message)
    const fate = this.#fates.shift() ?? 'answered'
    const entry = this.entry(key)
    if (!fate.endsWith('*')) entry.seen += 1
    const done = { result: { ...complete, content: [], contents: [] } }
    const lose = (error: TransportError): void => events.lost(id, error)
    switch (fate) {
      case 'answered':
        entry.done += 1
        return answer(done)
      case 'refused':
        return answer({ error: { code: -32602, message: 'no' } })
      case 'refused for now':
        return answer({
          error: { code: -32000, message: 'later', data: { retryable: true } },
        })
      case 'asks':
        entry.asked += 1
        return answer({
          result: { resultType: 'input_required', requestState: 'more' },
        })
      case 'silent':
        entry.done += 1
        return
      case 'lost':
        entry.done += 1
        return lose(failure('CONNECTION_LOST'))
      case 'lost with the server':
        entry.done += 1
        return lose(failure('CONNECTION_LOST', { gone: true }))
      case 'dies of it':
        entry.done += 1
        return close(failure('PROCESS_EXITED'))
      case 'dies before*':
        return close(failure('PROCESS_EXITED'))
      case 'forgotten':
        lose(failure('SESSION_NOT_FOUND'))
        return close(failure('SESSION_NOT_FOUND'))
      case 'unreachable*':
        return lose(failure('CONNECT_FAILED'))
      case 'redirected to nobody':
        return lose(failure('CONNECT_FAILED', { sent: true }))
      case 'not open*':
        lose(failure('NOT_OPEN'))
        return close(failure('CONNECTION_LOST'))
      case 'not sent*':
        return lose(failure('SEND_FAILED'))
      case 'no token*':
        return lose(failure('AUTHORIZATION_UNAVAILABLE', { sent: false }))
      case 'busy':
        return lose(failure('HTTP_STATUS', { status: 503, retryAfter: '1' }))
      case 'bad request':
        return lose(new TransportError('HTTP_STATUS', 'no', { data: { status: 400 } }))
      case 'crash of the client':
        entry.done += 1
        return this.kill('client')
      case 'crash of the transport':
        entry.done += 1
        return this.kill('transport')
      case 'ends for good':
        entry.done += 1
        return close(new TransportError('UNAUTHORIZED', 'no more'), true)
      default:
        return fate satisfies never
    }
  }
}

/** The tool that is listed as one that changes nothing. */
export const looks = 'looks'

const complete = { resultType: 'complete', ttlMs: 0, cacheScope: 'private' }
const capabilities = { tools: {}, resources: {} }
const tools = [
  {
    name: looks,
    inputSchema: { type: 'object' },
    annotations: { readOnlyHint: true },
  },
]

const answers: Readonly<Record<string, object>> = {
  initialize: {
    protocolVersion: '2025-11-25',
    capabilities,
    serverInfo: { name: 'ledger', version: '1' },
  },
  'server/discover': {
    ...complete,
    supportedVersions: ['2026-07-28'],
    capabilities,
  },
  'tools/list': { ...complete, tools },
  ping: complete,
}

function keyOf({ params }: JsonRpcRequest): string {
  const { uri, arguments: args } = (params ?? {}) as {
    uri?: string
    arguments?: { key?: string }
  }
  return String(uri ?? args?.key)
}

function failure(code: TransportError['code'], data?: object): TransportError {
  return new TransportError(code, 'no luck', { retryable: true, data })
}
