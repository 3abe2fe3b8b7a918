import { mkdtempSync, rmSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  type Client,
  type ClientState,
  type Share,
  type Shareable,
  shareClients,
  type ShareOptions,
  startClient,
  type StartClientOptions,
} from 'caduceus/client'
import { shared } from 'caduceus/transports'
import { type Heard, heard } from '../../support/heard.js'
import type { TestContext } from '../../support/suite.js'
import { type Watched, watch, watchNear } from '../_raw.js'

/** A path for a socket in a folder of its own, which is removed with the test. */
export function socketPath(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'share-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  return join(folder, 's')
}

/** A client `files` of a raw server, shared at a path. */
export interface Owner extends Watched {
  readonly share: Share
  readonly path: string
}

/** Starts the client `files` of a raw server in this process and shares it; both end with the test. */
export function own(
  t: TestContext,
  options: Partial<ShareOptions> = {},
  client: Partial<StartClientOptions> = {},
): Promise<Owner> {
  return shareWatched(t, watchNear(t, { name: 'files', ...client }), options)
}

/** As `own`; the raw server is a program. */
export function ownProgram(t: TestContext): Promise<Owner> {
  return shareWatched(t, watch(t, { name: 'files' }))
}

async function shareWatched(
  t: TestContext,
  watched: Watched,
  { path = socketPath(t), ...options }: Partial<ShareOptions> = {},
): Promise<Owner> {
  const share = await startShare(t, watched.client, { path, ...options })
  return { ...watched, share, path }
}

/** Shares clients until the test ends. */
export async function startShare(t: TestContext, clients: Shareable, options: ShareOptions): Promise<Share> {
  const share = await shareClients(clients, { logger: false, ...options })
  t.after(() => share.close())
  return share
}

/** A client of another program, as far as a socket can tell. */
export interface Peer {
  readonly client: Client
  readonly states: Heard<ClientState>
}

/** Uses the client `files`, or another, that is shared at a path; it is closed with the test. */
export function usePeer(
  t: TestContext,
  path: string,
  { shares = 'files', ...options }: Partial<StartClientOptions> & { readonly shares?: string } = {},
): Peer {
  const client = startClient({
    transport: shared(shares, { path }),
    logger: false,
    backoff: { base: 1, cap: 1 },
    ...options,
  })
  t.after(() => client.close())
  const states = heard<ClientState>()
  client.onState(states.add)
  return { client, states }
}

/** A bare socket, and the messages that come on it. */
export interface Bare {
  readonly socket: Socket
  readonly lines: Heard<{ id?: unknown; result?: unknown; error?: { code: number; message: string } }>
  readonly closed: Promise<void>
  say(...messages: readonly (object | string)[]): void
}

/** Connects to a socket without knowing how to behave. */
export function bare(t: TestContext, path: string): Bare {
  const socket = connect(path)
  t.after(() => socket.destroy())
  const lines: Bare['lines'] = heard()
  const closed = new Promise<void>((resolve) => void socket.once('close', () => resolve()))
  let rest = ''
  socket.setEncoding('utf8')
  socket.on('error', () => {})
  socket.on('data', (chunk: string) => {
    const whole = (rest + chunk).split('\n')
    rest = whole.pop() ?? ''
    for (const line of whole) lines.add(JSON.parse(line))
  })
  const say = (...messages: readonly (object | string)[]): void => {
    const texts = messages.map((message) => (typeof message === 'string' ? message : JSON.stringify(message)))
    socket.write(`${texts.join('\n')}\n`)
  }
  return { socket, lines, closed, say }
}

/** What a program has to say to use a client. */
export const greetings: readonly object[] = [
  { jsonrpc: '2.0', id: 'hello', method: 'caduceus/open', params: { client: 'files' } },
  {
    jsonrpc: '2.0',
    id: 1,
    method: 'initialize',
    params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'bare', version: '1' } },
  },
  { jsonrpc: '2.0', method: 'notifications/initialized' },
]
