import type { JsonObject } from '../../protocol/wire/json.js'
import type { JsonRpcRequest, Message } from '../../protocol/wire/jsonrpc.js'
import { isSupported, latestHandshake } from '../../protocol/dialects/versions.js'
import type { ClientTransport, Link, LinkEvents } from '../contract/contract.js'
import { TransportError } from '../base/errors.js'
import { badOption } from '../base/read-option.js'
import { type Script, ScriptedPeer } from './peer.js'

/** Options of a scripted server. */
export interface ScriptedServerOptions {
  /** Connections that fail before the first that opens. Default 0. */
  readonly refuse?: number
}

/**
 * A server for tests of clients: answers as its script says, over connections in memory, one at a time.
 * Without an `initialize` in the script it accepts the client's revision, with the capabilities that the
 * methods of the script need. Throws BAD_OPTION.
 */
export function scriptedServer(
  script: Script<ScriptedServer> = {},
  options: ScriptedServerOptions = {},
): ScriptedServer {
  return new ScriptedServer(script, options)
}

/** A server that sends what a test says. */
export class ScriptedServer extends ScriptedPeer {
  /** For `startClient`. */
  readonly transport: ClientTransport
  #connections = 0
  #refusals: number
  #cut: (() => void) | undefined

  constructor(script: Script<ScriptedServer>, { refuse = 0 }: ScriptedServerOptions) {
    super('the scripted server', script)
    this.#refusals = readCount(refuse)
    this.transport = Object.freeze({
      name: 'scripted',
      connect: (events: LinkEvents) => this.#connect(events),
    })
  }

  /** Connections opened so far. */
  get connections(): number {
    return this.#connections
  }

  /** Ends the open connection as a network failure does: the client may come back. */
  drop(): void {
    this.#cut?.()
  }

  /** Fails so many of the next connections; Infinity: all. Throws BAD_OPTION. */
  refuse(count = 1): void {
    this.#refusals = readCount(count)
  }

  protected override answerUnscripted(request: JsonRpcRequest): object | undefined {
    if (request.method !== 'initialize') return super.answerUnscripted(request)
    const asked = request.params?.protocolVersion
    return {
      protocolVersion: typeof asked === 'string' && isSupported(asked) ? asked : latestHandshake.revision,
      capabilities: capabilitiesFor(this.methods),
      serverInfo: { name: 'scripted', version: '1.0.0' },
    }
  }

  #connect(events: LinkEvents): Link {
    if (this.#refusals > 0) {
      this.#refusals -= 1
      const error = new TransportError('CONNECT_FAILED', 'the script refuses this connection', {
        retryable: true,
      })
      events.closed({ error })
      return { send: () => {}, close: () => {} }
    }
    this.#cut?.()
    this.#connections += 1
    let over = false
    const end = (why: string): boolean => {
      if (over) return false
      over = true
      if (this.#cut === cut) this.#cut = undefined
      this.detach(why)
      return true
    }
    const cut = (): void => {
      const why = 'the scripted server dropped the connection'
      if (end(why)) events.closed({ error: new TransportError('CONNECTION_LOST', why, { retryable: true }) })
    }
    this.#cut = cut
    this.attach((text) => events.message(text))
    events.opened()
    return {
      send: (text: string, _message: Message) => {
        if (!over) this.take(text)
      },
      close: () => {
        if (end('the client ended the connection')) events.closed({})
      },
    }
  }
}

function capabilitiesFor(methods: readonly string[]): JsonObject {
  const areas = new Set(methods.map((method) => method.split('/')[0]))
  return {
    ...(areas.has('tools') && { tools: { listChanged: true } }),
    ...(areas.has('resources') && { resources: { listChanged: true, subscribe: true } }),
    ...(areas.has('prompts') && { prompts: { listChanged: true } }),
    ...(areas.has('completion') && { completions: {} }),
    ...(areas.has('logging') && { logging: {} }),
  }
}

function readCount(count: unknown): number {
  if (typeof count === 'number' && count >= 0) return count
  throw badOption('refuse', 'a number of 0 or more', count)
}
