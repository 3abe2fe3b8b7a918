import { setImmediate as turn } from 'node:timers/promises'
import {
  encode,
  type Envelope,
  type JsonObject,
  type Message,
  type RequestId,
  writeEnvelope,
} from 'caduceus/protocol'
import { defineActor } from 'caduceus/runtime'
import {
  defineServer,
  type Server,
  type ServerDefinitionOptions,
  type ServerOptions,
  startServer,
} from 'caduceus/server'
import type { Binding, Peer, ServerPort, ServerTransport } from 'caduceus/transports'
import type { ExchangeAnswer } from '../../support/ports.js'
import { type Posted, post } from '../_port.js'
import type { TreeWideOptions } from '../_servers.js'
import type { TestContext } from '../../support/suite.js'
import type { Wire } from '../_client.js'

/** A server without a network: its port is asked directly, as a listener would. */
export type PortServer = {
  readonly server: Server
  /** The port of the group that runs now. */
  port(): ServerPort
  /** Sends one request of 2026-07-28. */
  send(method: string, params?: JsonObject, how?: SendHow): Sent
  /** The answer to a request, as it goes over the wire. */
  ask(method: string, params?: JsonObject, how?: SendHow): Promise<Wire>
  /** Calls a tool, like `ask`. */
  call(name: string, args?: JsonObject, how?: SendHow): Promise<Wire>
}

/** What a request is sent with. */
export type SendHow = Partial<Envelope> & {
  readonly id?: RequestId
  readonly progressToken?: RequestId
  /** Headers beyond those that every request has. */
  readonly headers?: Peer['headers']
  readonly principal?: Peer['principal']
  readonly isPiped?: boolean
}

/** A request on its way. */
export type Sent = {
  readonly answer: Promise<ExchangeAnswer>
  /** The answer as it goes over the wire; undefined when there is none. */
  readonly wire: Promise<Wire | undefined>
  /** What came before the answer, in order. */
  readonly told: readonly Wire[]
  /** The client goes away. */
  abort(): void
}

const listening = defineActor({ name: 'port', init: () => null })

/** Starts a server whose port the test asks itself, and stops it with the test. */
export async function startPort(
  t: Pick<TestContext, 'after'>,
  parts: Partial<ServerDefinitionOptions>,
  options: Partial<ServerOptions> & TreeWideOptions = {},
): Promise<PortServer> {
  let current: ServerPort | undefined
  const binding: Binding = {
    url: undefined,
    port: undefined,
    start(ctx, port, { name }) {
      current = port
      return ctx.start(listening, { name })
    },
  }
  const transport: ServerTransport = { name: 'port', bind: async () => binding }
  const definition = defineServer({ name: 'test', version: '1', ...parts })
  const server = await startServer(definition, { transport, logger: false, ...options })
  t.after(() => server.stop())
  const port = (): ServerPort => {
    if (current === undefined) throw new Error('the group has not started')
    return current
  }
  let lastId = 0
  const send: PortServer['send'] = (method, params = {}, how = {}) => {
    lastId += 1
    return sendTo(port(), method, params, { id: lastId, ...how })
  }
  const ask: PortServer['ask'] = async (method, params, how) => {
    const wire = await send(method, params, how).wire
    if (wire === undefined) throw new Error(`${method} was not answered`)
    return wire
  }
  return {
    server,
    port,
    send,
    ask,
    call: (name, args = {}, how) => ask('tools/call', { name, arguments: args }, how),
  }
}

function sendTo(
  port: ServerPort,
  method: string,
  params: JsonObject,
  how: SendHow & { id: RequestId },
): Sent {
  const {
    id,
    revision = '2026-07-28',
    clientCapabilities = {},
    clientInfo,
    logLevel,
    progressToken,
    headers,
    principal,
    isPiped,
  } = how
  const envelope: Envelope = { revision, clientCapabilities, clientInfo, logLevel }
  const controller = new AbortController()
  const told: Wire[] = []
  const meta = { ...writeEnvelope(envelope), ...(progressToken !== undefined && { progressToken }) }
  const posted = {
    request: {
      jsonrpc: '2.0',
      id,
      method,
      params: { ...params, _meta: { ...(params._meta as object), ...meta } },
    },
    envelope,
    sink: { send: (message: Message) => told.push(wireOf(message)) > 0 },
    peer: { transport: 'test', headers: headers ?? {}, remoteAddress: undefined, principal },
    signal: controller.signal,
    ...(isPiped !== undefined && { isPiped }),
  } satisfies Posted
  const answer = post(port, posted)
  answer.catch(() => {}) // whoever awaits it hears of it
  const wire = answer.then(({ response }) => response && wireOf(response))
  wire.catch(() => {})
  return { answer, wire, told, abort: () => controller.abort() }
}

/** Lets everything that is ready run. */
export async function settle(turns = 3): Promise<void> {
  for (let left = turns; left > 0; left -= 1) await turn()
}

/** What is sent of a message: the text that it carries under a symbol of its transport, or its own. */
function wireOf(message: Message): Wire {
  const fields = message as unknown as { readonly [name: symbol]: unknown }
  const carried = Object.getOwnPropertySymbols(message)
    .map((name) => fields[name])
    .find((value) => typeof value === 'string')
  return JSON.parse(carried ?? encode(message)) as Wire
}
