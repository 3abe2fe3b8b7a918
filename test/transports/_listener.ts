import { type ClientRequest, type IncomingMessage, request } from 'node:http'
import { connect } from 'node:net'
import {
  buildResult,
  createEventDecoder,
  isRequest,
  type JsonRpcRequest,
  type SseItem,
} from 'caduceus/protocol'
import {
  type ActorContext,
  type ActorRef,
  type Clock,
  defineActor,
  type ProcessRef,
  startActor,
} from 'caduceus/runtime'
import {
  type Binding,
  type HttpServeOptions,
  type ListenScope,
  type Sink,
  type Peer,
  type Response,
  serveHttp,
  type ServerTransport,
} from 'caduceus/transports'
import { serverPort, type Services } from '../support/ports.js'
import { type Heard, heard } from '../support/heard.js'
import type { TestContext } from '../support/suite.js'

/** A listener in a tree of its own, in front of a server that does what the test says. */
export type Listening = {
  readonly url: string
  readonly port: number
  readonly binding: Binding
  /** The listener that serves now. */
  readonly listener: () => ProcessRef
  /** Kills the listener and starts another on the same port. */
  restart(): Promise<void>
  /** Stops for good. */
  stop(): Promise<void>
}

/** Starts a listener; sessions are there unless the server port says otherwise. */
export async function startListener(
  t: Pick<TestContext, 'after'>,
  port: Partial<Services> = {},
  options: HttpServeOptions = {},
  {
    clock,
    transport = serveHttp(options),
    ...given
  }: Partial<ListenScope> & { readonly clock?: Clock; readonly transport?: ServerTransport } = {},
): Promise<Listening> {
  const server = serverPort({ ...politePort, ...port })
  let stops = false
  const scope = {
    name: 'listener',
    drainTimeout: 1_000,
    stopping: () => stops,
    finished: () => {},
    ...given,
  }
  const holder = defineActor({
    name: 'holder',
    trapExit: true,
    // as the holdings of a server
    stray: 'report',
    async init(_: undefined, ctx: ActorContext) {
      const binding = await transport.bind(ctx)
      return { binding, listener: await binding.start(ctx, server, scope) }
    },
    call: {
      parts: (state) => ({ ...state }),
      async restart(state, _: undefined, ctx) {
        state.listener.kill()
        state.listener = await state.binding.start(ctx, server, scope)
      },
    },
  })
  const root = await startActor(holder, undefined, { logger: false, ...(clock && { clock }) })
  t.after(() => root.alive && root.stop())
  const parts = await root.call('parts')
  let { listener } = parts
  return {
    url: String(parts.binding.url),
    port: Number(parts.binding.port),
    binding: parts.binding,
    listener: () => listener,
    async restart() {
      await root.call('restart', undefined)
      listener = (await root.call('parts')).listener
    },
    async stop() {
      stops = true
      await (listener as ActorRef).stop()
      await root.stop()
    },
  }
}

const politePort: Services = {
  open: async (initialize) => ({ sessionId: 's', response: buildResult(initialize.id, {}) }),
  deliver: async (_id, message) => (isRequest(message) ? buildResult(message.id, {}) : undefined),
  attach: async () => () => {},
  close: async () => {},
}

/** One request that a server port was given, to be worked on by the test. */
export type Held = {
  readonly request: JsonRpcRequest
  readonly sink: Sink
  answer(result?: object): void
}

/** A server that leaves every request and every reader to the test. */
export function holding(): {
  readonly port: Partial<Services>
  readonly requests: Heard<Held>
  readonly readers: Heard<{ readonly sessionId: string; readonly sink: Sink }>
  readonly detached: Heard<Sink>
} {
  const requests = heard<Held>()
  const readers = heard<{ readonly sessionId: string; readonly sink: Sink }>()
  const detached = heard<Sink>()
  const port: Partial<Services> = {
    deliver: (_id, message, sink, peer) => {
      tellRevision(sink, peer)
      if (!isRequest(message)) return Promise.resolve(undefined)
      return new Promise<Response>((resolve) => {
        const answer = (result: object = {}): void => resolve(buildResult(message.id, { ...result }))
        requests.add({ request: message, sink, answer })
      })
    },
    attach: async (sessionId, sink, peer) => {
      tellRevision(sink, peer)
      readers.add({ sessionId, sink })
      return () => detached.add(sink)
    },
  }
  return { port, requests, readers, detached }
}

/** The sessions of this server have all negotiated what the request says. */
function tellRevision(sink: Sink, peer: Peer | undefined): void {
  const revision = peer?.headers['mcp-protocol-version']
  if (typeof revision === 'string') sink.negotiated?.(revision)
}

/** One event as a client reads it. */
export type Event = Extract<SseItem, { type: 'event' }>

/** An exchange whose answer is read while it comes. */
export type Reading = {
  readonly status: number
  readonly headers: IncomingMessage['headers']
  /** Events and retry times in order, the end of the stream not among them. */
  readonly items: Heard<SseItem>
  /** The next event with an id that has not been taken yet. */
  next(): Promise<Event>
  /** Resolves with what came that was no event stream when the answer has ended. */
  readonly ended: Promise<string>
  /** Cuts the connection. */
  cut(): void
  readonly response: IncomingMessage
}

/**
 * The first data after the event `id`. A stream that ends early, as where the machine stood still, is taken up again
 * by `resume`.
 */
export async function firstData(
  id: string | undefined,
  resume: (id: string | undefined) => Promise<Reading>,
): Promise<string> {
  for (let after = id; ; ) {
    const reading = await resume(after)
    await reading.ended
    const events = reading.items.all.flatMap((item) => (item.type === 'event' ? [item] : []))
    const found = events.find(({ data }) => data !== '')
    if (found !== undefined) return found.data
    after = events.at(-1)?.id ?? after
  }
}

/** The headers that a good client sends. */
export const goodHeaders = Object.freeze({
  accept: 'application/json, text/event-stream',
  'content-type': 'application/json',
  'mcp-session-id': 's',
  'mcp-protocol-version': '2025-11-25',
})

/** Sends one request on a connection of its own; resolves when the head of the answer is there. An undefined header is left out. */
export function exchange(
  t: Pick<TestContext, 'after'>,
  url: string,
  {
    method = 'POST',
    body,
    headers = {},
  }: {
    readonly method?: string
    readonly body?: object | string
    readonly headers?: Readonly<Record<string, string | undefined>>
  } = {},
): Promise<Reading> {
  const all = Object.fromEntries(
    Object.entries({ ...goodHeaders, ...headers }).filter(([, value]) => value !== undefined),
  ) as Record<string, string>
  return new Promise((resolve, reject) => {
    const sent = request(url, { method, headers: all, agent: false }, (response) =>
      resolve(read(sent, response)),
    )
    t.after(() => sent.destroy())
    sent.on('error', reject)
    const ping = { jsonrpc: '2.0', id: 1, method: 'ping' }
    const content = method === 'POST' ? (body ?? ping) : undefined
    sent.end(typeof content === 'object' ? JSON.stringify(content) : content)
  })
}

function read(sent: ClientRequest, response: IncomingMessage): Reading {
  const items = heard<SseItem>()
  const decoder = createEventDecoder()
  const isStream = response.headers['content-type'] === 'text/event-stream'
  let text = ''
  response.on('error', () => {})
  response.on('data', (chunk: Buffer) => {
    if (!isStream) text += chunk.toString()
    else for (const item of decoder.push(chunk)) items.add(item)
  })
  const ended = new Promise<string>((resolve) => response.once('close', () => resolve(text)))
  return {
    status: response.statusCode ?? 0,
    headers: response.headers,
    items,
    next: async () => (await items.next(({ type }) => type === 'event')) as Event,
    ended,
    cut: () => sent.destroy(),
    response,
  }
}

/** Sends bytes as they are and reads until the server closes. */
export function raw(port: number, ...pieces: readonly string[]): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1', () => {
      for (const piece of pieces) socket.write(piece)
    })
    let answer = ''
    socket.setEncoding('utf8')
    socket.on('data', (chunk) => {
      answer += chunk
    })
    socket.on('error', (error: Error & { code?: string }) =>
      error.code === 'ECONNRESET' || error.code === 'EPIPE' ? resolve(answer) : reject(error),
    )
    socket.on('close', () => resolve(answer))
  })
}
