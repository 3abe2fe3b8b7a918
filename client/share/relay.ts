import { hasCapability } from '../../protocol/dialects/capabilities.js'
import { dialectOf, latestHandshake } from '../../protocol/dialects/versions.js'
import type { InitializeResult } from '../../protocol/messages/lifecycle.js'
import { isWantedLevel, type LoggingLevel } from '../../protocol/messages/logging.js'
import { notifications } from '../../protocol/messages/methods.js'
import type { JsonObject } from '../../protocol/wire/json.js'
import {
  buildNotification,
  isNotification,
  isRequest,
  type JsonRpcNotification,
  type Message,
  type RequestId,
} from '../../protocol/wire/jsonrpc.js'
import { normal } from '../../runtime/base/exit.js'
import { outside } from '../../runtime/faults/containment.js'
import { type Deferred, defineActor } from '../../runtime/process/behaviour.js'
import type { ActorContext } from '../../runtime/process/context.js'
import { describe } from '../../runtime/watch/inspect.js'
import type { Sink, Response } from '../../transports/contract/contract.js'
import type { ClientState, ServerFacts } from '../base/state.js'
import { Client } from '../handle/client.js'
import type { Wisher } from '../holdings/wishes.js'
import type { ClientParts } from '../requests/parts.js'
import { Requests } from '../requests/requests.js'
import { Wishing } from '../requests/wishing.js'
import type { ShareDesk, SharePeer } from './desk.js'
import { relayCall } from './relay-calls.js'

/** `sink`: where progress goes before the answer. */
interface RelayDelivery {
  readonly message: Message
  readonly sink: Sink
}

/** The process of one program that uses a shared client: what it does costs no other program. */
export const relayActor = defineActor({
  name: 'relay',
  stray: 'report',
  mailboxLimit: 10_000,
  init(input: RelayInput, ctx: ActorContext): Relay {
    const { self } = ctx
    const relay = new Relay(input, () => void self.stop(normal))
    ctx.own(() => relay.end())
    return relay
  },
  call: {
    welcome: (relay): InitializeResult => relay.welcome(),
    /** A call is answered when its server has. */
    deliver(relay, { message, sink }: RelayDelivery, ctx): Deferred<Response | undefined> | undefined {
      if (isNotification(message)) relay.takeNotification(message)
      // programs are asked nothing, so a response answers nothing
      if (!isRequest(message)) return undefined
      const reply = ctx.defer<Response | undefined>()
      void relayCall(relay, message, sink).then((response) => reply.resolve(response))
      return reply
    },
    attach(relay, reader: Sink): undefined {
      relay.reader = reader
    },
  },
  cast: {
    detach(relay, reader: Sink) {
      if (relay.reader === reader) relay.reader = undefined
    },
  },
})

interface RelayInput {
  readonly desk: ShareDesk
  readonly parts: ClientParts
  readonly program: string
}

const lists = [
  ['notifications/tools/list_changed', 'tools.listChanged'],
  ['notifications/prompts/list_changed', 'prompts.listChanged'],
  ['notifications/resources/list_changed', 'resources.listChanged'],
] as const
const passedOn: readonly string[] = Object.freeze([
  ...lists.map(([method]) => method),
  'notifications/resources/updated',
  'notifications/message',
])

/** One program: its calls, wishes, and where its notifications go. */
export class Relay {
  readonly client: Client
  readonly desk: ShareDesk
  readonly wishing: Wishing
  readonly calls = new Map<RequestId, AbortController>()
  reader: Sink | undefined
  readonly #program: string
  readonly #parts: ClientParts
  readonly #wisher: Wisher = { level: undefined, uris: new Set() }
  readonly #undos: (() => void)[]
  /** The server that its handshake told of. */
  readonly #facts: string
  #session: number
  #isReady = false

  /** `end`: the client has ended, or has another server. */
  constructor({ desk, parts, program }: RelayInput, end: () => void) {
    const { holdings } = parts
    const client = new Client(parts)
    this.client = client
    this.desk = desk
    this.#parts = parts
    this.#program = program
    this.wishing = new Wishing(parts, new Requests(parts), this.#wisher)
    this.#facts = factsOf(holdings.server)
    this.#session = holdings.counts.sessions
    holdings.wishes.others.add(this.#wisher)
    desk.relays.add(this)
    this.#undos = [
      client.onState((state) => this.#look(state, end)),
      ...passedOn.map((method) =>
        client.onNotification<string>(method, (params: JsonObject) => this.#tell(method, params)),
      ),
    ]
  }

  /** The answer to `initialize`: as the owner got it. */
  welcome(): InitializeResult {
    const { info, capabilities, instructions, revision } = this.#server()
    return {
      protocolVersion: (dialectOf(revision) ?? latestHandshake).revision,
      capabilities,
      serverInfo: info,
      ...(instructions !== undefined && { instructions }),
    }
  }

  /** Those of the protocol are not passed on: the owner sends its own. */
  takeNotification({ method, params }: JsonRpcNotification): void {
    if (method === 'notifications/initialized') this.#isReady = true
    else if (method === 'notifications/cancelled') this.calls.get(params?.requestId as RequestId)?.abort()
    // not kept for a server that is away: their number would have no bound
    else if (!Object.hasOwn(notifications, method) && this.client.state.phase === 'ready')
      this.client.notify<string>(method, params).catch(() => {})
  }

  /** Cancels its calls, and takes back wishes that no other has. */
  end(): void {
    for (const undo of this.#undos) undo()
    for (const controller of this.calls.values()) controller.abort(new Error('its program has gone'))
    this.calls.clear()
    this.desk.relays.delete(this)
    outside(() => this.wishing.leave())
  }

  snapshot(): SharePeer {
    const { settings } = this.#parts
    return {
      client: settings.name,
      program: this.#program,
      calls: this.calls.size,
      subscriptions: this.#wisher.uris.size,
    }
  }

  [describe](): string {
    const { client, program, calls, subscriptions } = this.snapshot()
    return `${program} uses ${client}, ${calls} calls, ${subscriptions} subscriptions`
  }

  #server(): ServerFacts {
    const { server } = this.#parts.holdings
    if (server === undefined) throw new Error('a relay is started for a client that has had a server')
    return server
  }

  /** Another server needs another handshake; with the same one, changes may have been missed. */
  #look({ phase }: ClientState, end: () => void): void {
    const { holdings } = this.#parts
    if (phase === 'closed' || phase === 'failed') return end()
    if (phase !== 'ready' || holdings.counts.sessions === this.#session) return
    this.#session = holdings.counts.sessions
    if (factsOf(holdings.server) !== this.#facts) return end()
    for (const [method, capability] of lists)
      if (hasCapability(this.#server().capabilities, capability)) this.#tell(method, {})
  }

  #tell(method: string, params: JsonObject): void {
    if (this.#isReady && this.#wants(method, params)) this.reader?.send(buildNotification(method, params))
  }

  #wants(method: string, params: JsonObject): boolean {
    const { level, uris } = this.#wisher
    if (method === 'notifications/message')
      return isWantedLevel(params.level as LoggingLevel, level ?? 'info')
    if (method !== 'notifications/resources/updated') return true
    const uri = String(params.uri)
    // it may be a part of the one that was subscribed to (specification: resources, subscriptions)
    return (
      uris.has(uri) || [...uris].some((whole) => uri.startsWith(whole.endsWith('/') ? whole : `${whole}/`))
    )
  }
}

function factsOf(server: ServerFacts | undefined): string {
  return JSON.stringify(server)
}
