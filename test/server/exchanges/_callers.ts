import { type ClientOptions, startClient } from 'caduceus/client'
import { http, sse, stdio, websocket } from 'caduceus/transports'
import type { TestContext } from '../../support/suite.js'

/** Whose client it is: ours, or that of the official SDK 1 or 2. */
export const makes = ['ours', 'sdk1', 'sdk2'] as const
export type Make = (typeof makes)[number]

/** How it reaches its server. */
export type Way = 'stdio' | 'http' | 'sse' | 'websocket'

/** Where a server is: an address, or a program that is started. */
export type Place = { readonly url: string } | { readonly args: readonly string[] }

/** What tests ask of any client. */
export interface Caller {
  readonly revision: string | undefined
  /** The names of the tools. */
  tools(): Promise<string[]>
  /** The first text of the answer; rejects with the client's own error. */
  call(name: string, args?: object): Promise<string | undefined>
  close(): Promise<unknown>
}

/** How a client is made. */
export interface CallerOptions {
  /** Of SDK 2 and ours: whether it asks for the era first. Default: it begins with a handshake. */
  readonly mode?: 'auto' | 'legacy'
  readonly client?: Partial<ClientOptions>
}

/** Connects a client, which is closed with the test. */
export async function connectCaller(
  t: Pick<TestContext, 'after'>,
  make: Make,
  { way, place }: { readonly way: Way; readonly place: Place },
  options: CallerOptions = {},
): Promise<Caller> {
  const caller =
    make === 'ours'
      ? await connectOurs(way, place, options)
      : await connectOfficial(make, way, place, options)
  t.after(() => caller.close())
  return caller
}

async function connectOurs(way: Way, place: Place, { mode, client: own }: CallerOptions): Promise<Caller> {
  const client = startClient({
    name: 'caller',
    logger: false,
    era: mode === 'auto' ? 'auto' : 'handshake',
    ...own,
    transport: ourTransport(way, place),
  })
  await client.ready()
  return {
    revision: client.server?.revision,
    tools: async () => (await client.listTools()).tools.map(({ name }) => name),
    call: async (name, args = {}) => (await client.callTool(name, { ...args })).text,
    close: () => client.close(),
  }
}

function ourTransport(way: Way, place: Place) {
  if ('args' in place) return stdio({ command: process.execPath, args: [...place.args] })
  if (way === 'sse') return sse(place.url)
  return way === 'websocket' ? websocket(place.url) : http(place.url)
}

const first = '@modelcontextprotocol/sdk/client'
const second = '@modelcontextprotocol/client'

async function connectOfficial(
  make: 'sdk1' | 'sdk2',
  way: Way,
  place: Place,
  { mode }: CallerOptions,
): Promise<Caller> {
  const { Client } = await import(make === 'sdk1' ? `${first}/index.js` : second)
  const about = { name: make, version: '1' }
  const client = new Client(
    about,
    make === 'sdk2' && mode !== undefined ? { versionNegotiation: { mode } } : {},
  )
  await client.connect(await officialTransport(make, way, place))
  const options = { timeout: 60_000 }
  return {
    revision: make === 'sdk2' ? client.getNegotiatedProtocolVersion() : undefined,
    tools: async () => (await client.listTools()).tools.map(({ name }: { name: string }) => name),
    async call(name, args = {}) {
      const params = { name, arguments: args }
      const result = await (make === 'sdk1'
        ? client.callTool(params, undefined, options)
        : client.callTool(params, options))
      return result.content[0]?.text
    },
    close: () => client.close(),
  }
}

async function officialTransport(make: 'sdk1' | 'sdk2', way: Way, place: Place): Promise<object> {
  if ('args' in place) {
    const { StdioClientTransport } = await import(make === 'sdk1' ? `${first}/stdio.js` : `${second}/stdio`)
    return new StdioClientTransport({ command: process.execPath, args: [...place.args], env: process.env })
  }
  const url = new URL(place.url)
  if (way === 'http') {
    const { StreamableHTTPClientTransport } = await import(
      make === 'sdk1' ? `${first}/streamableHttp.js` : second
    )
    return new StreamableHTTPClientTransport(url)
  }
  if (way === 'sse') {
    const { SSEClientTransport } = await import(make === 'sdk1' ? `${first}/sse.js` : second)
    return new SSEClientTransport(url)
  }
  const { WebSocket } = await import('ws')
  Object.assign(globalThis, { WebSocket: globalThis.WebSocket ?? WebSocket })
  // SDK 2 has none of its own, and takes that of SDK 1
  const { WebSocketClientTransport } = await import(`${first}/websocket.js`)
  return new WebSocketClientTransport(url)
}
