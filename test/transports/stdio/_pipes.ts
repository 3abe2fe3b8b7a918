import type { Message } from 'caduceus/protocol'
import { createFakeClock } from 'caduceus/runtime'
import { type LinkScope, memory, type ServerTransport, serveStdio, serveWebSocket } from 'caduceus/transports'
import { PassThrough } from 'node:stream'
import { WebSocket } from 'ws'
import { worldOn } from '../../support/world.js'
import { type Heard, heard } from '../../support/heard.js'
import type { TestContext } from '../../support/suite.js'

/** An answer, or a notification, as it came. */
export type Line = {
  readonly id?: number | string
  readonly method?: string
  readonly params?: Record<string, unknown>
  readonly result?: Record<string, unknown>
  readonly error?: { code: number; message: string; data?: unknown }
}

/** The client's end of a connection on which everything goes both ways. */
export type Pipe = {
  /** Sends them together, as far as the transport can. */
  write(...messages: readonly (Message | object)[]): void
  readonly lines: Heard<Line>
  /** Resolves with the next one. */
  next(): Promise<Line>
  /** The client goes. */
  leave(): void
}

/** What a test has started on a transport. */
type Started = { readonly url?: string | undefined }

/** Has the test start something on a transport, and connects to it. */
export type OpenPipe = <S extends Started>(
  t: TestContext,
  start: (transport: ServerTransport) => Promise<S>,
) => Promise<Pipe & { readonly listener: S }>

/** The transports that have such connections. */
export const pipes: { readonly [name: string]: OpenPipe } = {
  async stdio(_t, start) {
    const input = new PassThrough()
    const output = new PassThrough()
    const listener = await start(serveStdio({ input, output }))
    const lines = heard<Line>()
    let rest = ''
    output.setEncoding('utf8').on('data', (chunk: string) => {
      const all = (rest + chunk).split('\n')
      rest = all.pop() ?? ''
      for (const line of all) lines.add(JSON.parse(line))
    })
    return {
      listener,
      write: (...messages) =>
        void input.write(messages.map((message) => `${JSON.stringify(message)}\n`).join('')),
      lines,
      next: () => lines.next(),
      leave: () => void input.end(),
    }
  },
  async websocket(t, start) {
    const listener = await start(serveWebSocket())
    const socket = new WebSocket(String(listener.url), ['mcp'])
    const lines = heard<Line>()
    const closed = new Promise((resolve) => socket.once('close', resolve))
    socket.on('message', (data: Buffer) => lines.add(JSON.parse(data.toString())))
    t.after(() => {
      socket.terminate()
      return closed
    })
    await new Promise<void>((resolve, reject) => {
      socket.once('open', resolve)
      socket.once('error', reject)
    })
    return {
      listener,
      write(...messages) {
        for (const message of messages) socket.send(JSON.stringify(message))
      },
      lines,
      next: () => lines.next(),
      leave: () => socket.terminate(),
    }
  },
  async memory(t, start) {
    const { serve, connect } = memory()
    const listener = await start(serve)
    const lines = heard<Line>()
    const nothing = (): void => {}
    const scope: LinkScope = {
      signal: t.signal,
      clock: createFakeClock(),
      world: worldOn(createFakeClock()),
      own: (resource) => resource,
      bind: (fn) => fn,
    }
    const link = await connect.connect(
      {
        opened: nothing,
        message: (text) => lines.add(JSON.parse(text)),
        lost: nothing,
        missed: nothing,
        room: () => undefined,
        trouble: nothing,
        closed: nothing,
      },
      scope,
    )
    return {
      listener,
      write(...messages) {
        for (const message of messages) link.send(JSON.stringify(message), message as Message)
      },
      lines,
      next: () => lines.next(),
      leave: () => link.close(),
    }
  },
}
