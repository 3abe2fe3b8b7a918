import { isRequest, buildResult, type JsonRpcRequest, type Message } from '../../protocol/wire/jsonrpc.js'
import { readParams } from '../../protocol/messages/params.js'
import { childSpec } from '../../runtime/supervision/child-spec.js'
import { DynamicSupervisor } from '../../runtime/supervision/dynamic.js'
import type { World } from '../../runtime/time/world.js'
import { RuntimeError } from '../../runtime/base/errors.js'
import { normal } from '../../runtime/base/exit.js'
import { type ActorRef, forever, type RefOf } from '../../runtime/process/ref.js'
import {
  over,
  type Peer,
  type Response,
  type ServerPort,
  type Sink,
} from '../../transports/contract/contract.js'
import { serverPort } from '../../transports/inbound/port.js'
import type { OpenedSession, Services } from '../../transports/inbound/services.js'
import { TransportError } from '../../transports/base/errors.js'
import { Client } from '../handle/client.js'
import { relayActor } from './relay.js'
import { refusalOf } from './relay-calls.js'
import type { ShareDesk, ShareSession } from './desk.js'

/** Milliseconds that a relay may take to stop. */
const shutdownTime = 1_000

/** What a listener serves; `relays` is the dynamic supervisor of relays. */
export function sharePort(desk: ShareDesk, relays: ActorRef, world: World): ServerPort {
  return serverPort(new SharePort(desk, relays, world))
}

/** Each connection is a session with a relay. */
class SharePort implements Services {
  readonly #desk: ShareDesk
  readonly #relays: DynamicSupervisor
  readonly #world: World

  constructor(desk: ShareDesk, relays: ActorRef, world: World) {
    this.#desk = desk
    this.#world = world
    this.#relays = new DynamicSupervisor(relays)
  }

  async open(request: JsonRpcRequest, peer: Peer): Promise<OpenedSession> {
    try {
      const { clientInfo } = readParams('initialize', request.params)
      const ref = await this.#start(String(peer.assigns?.client), clientInfo.name)
      const response = buildResult(request.id, await ref.call('welcome'))
      const sessionId = this.#world.id()
      this.#keep(sessionId, { ref, reader: undefined })
      return { sessionId, response }
    } catch (error) {
      return { sessionId: undefined, response: refusalOf(request, error) }
    }
  }

  async deliver(sessionId: string, message: Message, sink: Sink): Promise<Response | undefined> {
    const { ref } = this.#session(sessionId)
    try {
      return await ref.call('deliver', { message, sink }, forever)
    } catch (error) {
      if (!(error instanceof RuntimeError)) throw error
      return isRequest(message) ? refusalOf(message, error) : undefined
    }
  }

  async attach(sessionId: string, sink: Sink): Promise<() => void> {
    const session = this.#session(sessionId)
    await session.ref.call('attach', sink)
    session.reader = sink
    return () => void session.ref.cast('detach', sink)
  }

  async close(sessionId: string): Promise<void> {
    const { ref } = this.#session(sessionId)
    await ref.stop(normal)
  }

  async #start(name: string, program: string): Promise<RefOf<typeof relayActor>> {
    const desk = this.#desk
    const parts = await desk.find(name)
    await new Client(parts).ready({ timeout: desk.settings.readyTimeout })
    const how = { id: `${program} at ${name}`, restart: 'temporary', shutdown: shutdownTime } as const
    const { ref } = await this.#relays.startChild(childSpec(relayActor, { desk, parts, program }, how))
    return ref as RefOf<typeof relayActor>
  }

  /** The connection ends with its relay. */
  #keep(sessionId: string, session: ShareSession): void {
    const { sessions } = this.#desk
    sessions.set(sessionId, session)
    session.ref.onExit(() => {
      sessions.delete(sessionId)
      session.reader?.end?.(over(false))
    })
  }

  #session(sessionId: string): ShareSession {
    const session = this.#desk.sessions.get(sessionId)
    if (session?.ref.alive === true) return session
    throw new TransportError('SESSION_NOT_FOUND', 'the client is not shared any more')
  }
}
