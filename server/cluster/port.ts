import { outside } from '../../runtime/faults/containment.js'
import { TurnoverMap } from '../../runtime/base/turnover.js'
import { isRequest, type JsonRpcRequest, type Message } from '../../protocol/wire/jsonrpc.js'
import type { World } from '../../runtime/time/world.js'
import { pause } from '../../runtime/time/wait.js'
import { textOf } from '../../transports/base/encoded.js'
import { TransportError } from '../../transports/base/errors.js'
import {
  type Outcome,
  over,
  type Peer,
  type Response,
  type Sink,
} from '../../transports/contract/contract.js'
import type { OpenedSession, Services } from '../../transports/inbound/services.js'
import { type Cluster, OwnedElsewhere, type ClusterListener, type ClusterNews } from './cluster.js'
import {
  type NodeAnswer,
  type NodeRequest,
  answerOf,
  type PortMessage,
  errorOf,
  messageOf,
  type Problem,
  plainPeer,
  problemOf,
  responsesOf,
} from './message.js'
import { RetryQueue } from './retry-queue.js'

/**
 * The port of this node alone: `deliver` and the like reject with OwnedElsewhere for a session of another
 * node.
 */
export interface LocalPort extends Services {
  admit(sessionId: string, peer: Peer): Promise<string>
  /** Lets go of the sessions, each once it is idle. */
  retire(signal: AbortSignal): Promise<void>
  hear(news: ClusterNews): void
  lost(sessionIds: readonly string[]): void
  /** What a session has told a reader on another node, which has ended, may not have reached its client. */
  missed(sessionId: string): void
}

/** Reads the messages of a session that belong to no request. Its connection is here, the session on any node. */
interface AttachedReader {
  readonly sessionId: string
  readonly sink: Sink
  readonly peer: Peer | undefined
  isOver: boolean
  detach(): void
}

/** A request that was sent to another node, and who waits here for the answer. */
interface PendingRequest {
  readonly node: string
  readonly sink: Sink | undefined
  /** Who may hear more after the answer. */
  readonly reader: AttachedReader | undefined
  readonly isAnswered: boolean
  resolve(answer: NodeAnswer): void
  reject(error: unknown): void
}

/** A request that is about to be sent to another node. */
interface Question {
  readonly node: string
  readonly ask: NodeRequest
  readonly peer: Peer | undefined
  readonly sink: Sink | undefined
  readonly reader: AttachedReader | undefined
}

/** Milliseconds between two looks whether all answers have left. */
const settlePause = 20
/** How often a message is sent after a session that moves. */
const maxMoves = 5
/** Requests to other nodes in flight at once. */
const maxAsked = 10_000
/** Sessions of other nodes whose owner is remembered. */
const maxKnown = 10_000
/** Milliseconds that a reader waits until the session that has moved is found. */
const searchTime = 15_000
const searchPause = 250
/** Readers whose sessions are looked for at once. */
const searches = 64

/**
 * The port of a node: serves the sessions that run here, passes on what is for those of other nodes, and
 * serves what they pass on.
 */
export function clusterPort(
  local: LocalPort,
  cluster: Cluster,
  world: World,
): Services & ClusterListener & { problem(): TransportError | undefined; abandon(): void } {
  const routes = new Routes(local, cluster, world)
  return Object.freeze({
    ...local,
    streams: cluster.streams,
    values: cluster.values,
    open: (request, peer) => routes.open(request, peer),
    deliver: (id, message, sink, peer) => routes.deliver(id, message, sink, peer),
    attach: (id, sink, peer) => routes.attach(id, sink, peer),
    close: (id, peer) => routes.close(id, peer),
    admit: (id, peer) => routes.admit(id, peer),
    problem: () => cluster.problem,
    handOver: (signal) => routes.handOver(signal),
    knows: (id) => local.knows?.(id) === true || routes.ownerOf(id) !== undefined,
    receive: (from, message) => routes.receive(from, message),
    gone: (node) => routes.gone(node),
    settled: () => routes.settled(),
    abandon: () => routes.abandon(),
  } satisfies ReturnType<typeof clusterPort>)
}

class Routes {
  readonly #local: LocalPort
  readonly #cluster: Cluster
  readonly #asked = new Map<string, PendingRequest>()
  /** Readers and requests of other nodes that are served here. */
  readonly #served = new Map<string, RemoteSink>()
  /** What is being answered to other nodes. */
  readonly #working = new Set<Promise<void>>()
  /** Answers and the like: sent again while their node has no room. */
  readonly #retries: RetryQueue<PortMessage>
  readonly #world: World
  /** No other port has it: an answer to an earlier one of this node must not be taken for one to this. */
  readonly #name: string
  /**
   * Where sessions of other nodes were found last. A node that is asked for a session that it has not says whose
   * it is, so this may be out of date.
   */
  readonly #owners = new TurnoverMap<string, string>()
  #last = 0
  /** Readers whose sessions are to be looked for. */
  #searching: AttachedReader[] = []
  #searches = 0
  #hasEnded = false

  constructor(local: LocalPort, cluster: Cluster, world: World) {
    this.#local = local
    this.#cluster = cluster
    this.#world = world
    this.#name = world.randomBytes(9).toString('base64url')
    this.#retries = new RetryQueue((node, message) => cluster.send(node, message), world)
  }

  open(request: JsonRpcRequest, peer: Peer): Promise<OpenedSession> {
    return this.#where(
      undefined,
      () => this.#local.open(request, peer),
      async (node) => {
        const answer = await this.#ask(node, { do: 'open', text: textOf(request) }, peer)
        return {
          sessionId: answer.sessionId,
          response: responsesOf(answer)[0] as Response,
        }
      },
    )
  }

  deliver(sessionId: string, message: Message, sink: Sink, peer: Peer): Promise<Response | undefined> {
    return this.#where(
      sessionId,
      () => this.#local.deliver(sessionId, message, sink, peer),
      async (node) => {
        const mayRelease = sink.release !== undefined
        const ask = {
          do: 'deliver',
          sessionId,
          text: textOf(message),
          mayRelease,
        } as const
        return responsesOf(await this.#ask(node, ask, peer, sink))[0]
      },
      !isRequest(message),
    ).catch((error) => {
      if (!isRequest(message) || !isLost(error)) throw error
      return lostAnswer(message, error)
    })
  }

  async attach(sessionId: string, sink: Sink, peer?: Peer): Promise<() => void> {
    const reader: AttachedReader = { sessionId, sink, peer, isOver: false, detach: () => {} }
    reader.detach = await this.#attach(reader)
    return () => {
      reader.isOver = true
      reader.detach()
    }
  }

  #attach(reader: AttachedReader): Promise<() => void> {
    const { sessionId, sink, peer } = reader
    return this.#where(
      sessionId,
      () => this.#local.attach(sessionId, sink, peer),
      async (node) => {
        const id = this.#nextId()
        const ask = { do: 'attach', sessionId, isDeaf: sink.isDeaf === true } as const
        await this.#askAs(id, { node, ask, peer, sink, reader })
        return () => {
          if (this.#asked.delete(id)) this.#retries.send(node, { type: 'detach', id })
        }
      },
    )
  }

  /** Attaches the reader of a moved session where that goes on; the client's connection stays. */
  #follow(reader: AttachedReader): void {
    this.#searching.push(reader)
    // of no process: what ends may be what has heard of it
    if (this.#searches < searches) outside(() => void this.#search())
  }

  async #search(): Promise<void> {
    this.#searches += 1
    for (let reader = this.#searching.shift(); reader !== undefined; reader = this.#searching.shift())
      await this.#find(reader)
    this.#searches -= 1
  }

  async #find(reader: AttachedReader): Promise<void> {
    const deadline = this.#world.now() + searchTime
    for (;;) {
      if (reader.isOver) return
      if (this.#hasEnded) return reader.sink.end?.(over(false))
      try {
        reader.detach = await this.#attach(reader)
        if (reader.isOver) reader.detach()
        return
      } catch (error) {
        const { retryable } = error as Partial<TransportError>
        if (retryable !== true || this.#world.now() >= deadline) return reader.sink.end?.(over(false))
        await pause(searchPause, this.#world)
      }
    }
  }

  async admit(sessionId: string, peer: Peer): Promise<string> {
    this.#check()
    return this.#local.admit(sessionId, peer)
  }

  close(sessionId: string, peer?: Peer): Promise<void> {
    return this.#where(
      sessionId,
      () => this.#local.close(sessionId, peer),
      async (node) => void (await this.#ask(node, { do: 'close', sessionId }, peer)),
    )
  }

  receive(from: string, message: PortMessage): void {
    const { id } = message
    switch (message.type) {
      case 'ask':
        return this.#work(this.#serve(from, id, message.ask, message.peer))
      case 'detach':
        return this.#served.get(id)?.detach()
      case 'answer':
        return this.#settle(id, (asked) => {
          // a reader hears more
          if (asked.reader !== undefined) this.#asked.set(id, { ...asked, isAnswered: true })
          asked.resolve(message.answer)
        })
      case 'failed':
        return this.#settle(id, (asked) => asked.reject(failureOf(message.problem, from)))
      case 'undelivered':
        return this.#settle(id, (asked) => asked.reject(new OwnedElsewhere(from)))
      default:
        return this.#tell(id, message)
    }
  }

  gone(node: string): void {
    this.#retries.forget(node)
    for (const [id, asked] of this.#asked) if (asked.node === node) this.#lose(id, asked)
    for (const sink of this.#served.values()) if (sink.node === node) this.#bereave(sink)
  }

  /** Its node has ended, perhaps before it passed on the last messages. */
  #bereave(sink: RemoteSink): void {
    const { readsOf, hasSent } = sink
    sink.detach()
    if (readsOf !== undefined && hasSent) this.#local.missed(readsOf)
  }

  #lose(id: string, asked: PendingRequest): void {
    this.#asked.delete(id)
    asked.reject(nodeGone(asked.node))
    if (!asked.isAnswered || asked.reader === undefined) return
    if (this.#hasEnded) asked.sink?.end?.(over(false))
    else this.#follow(asked.reader)
  }

  async settled(): Promise<void> {
    await Promise.allSettled(this.#working)
    while (!this.#retries.isEmpty) await pause(settlePause, this.#world)
  }

  /** This node is about to end. */
  async handOver(signal: AbortSignal): Promise<void> {
    this.#cluster.retire()
    await this.#local.retire(signal)
    await this.settled()
  }

  /** This port ends: it waits for other nodes no more, and their readers hear nothing more of it here. */
  abandon(): void {
    this.#hasEnded = true
    for (const [id, asked] of this.#asked) {
      this.#lose(id, asked)
      this.#retries.send(asked.node, { type: 'detach', id })
    }
    for (const sink of this.#served.values()) sink.end(over(true))
    this.#retries.close()
  }

  /** Who a session of another node was found with last. */
  ownerOf(sessionId: string): string | undefined {
    const owner = this.#owners.get(sessionId)
    if (owner === undefined || this.#local.knows?.(sessionId) !== true) return owner
    this.#owners.delete(sessionId)
    return undefined
  }

  #remember(sessionId: string, owner: string): void {
    if (this.#owners.size >= maxKnown) {
      const [oldest] = this.#owners.entries().next().value ?? ['']
      this.#owners.delete(oldest)
    }
    this.#owners.set(sessionId, owner)
  }

  /** Here, or where the session is; it may move meanwhile. What is `harmless` may be asked for twice. */
  async #where<Value>(
    sessionId: string | undefined,
    here: () => Promise<Value>,
    there: (node: string) => Promise<Value>,
    harmless = true,
  ): Promise<Value> {
    for (let moves = 0; ; moves += 1) {
      this.#check()
      const known = sessionId === undefined ? undefined : this.ownerOf(sessionId)
      const answer = known === undefined ? await here().catch(orOwnedElsewhere) : undefined
      if (known === undefined && !(answer instanceof OwnedElsewhere)) return answer as Value
      const owner = known ?? (answer as OwnedElsewhere).owner
      try {
        const value = await there(owner)
        if (known === undefined && sessionId !== undefined) this.#remember(sessionId, owner)
        return value
      } catch (error) {
        if (sessionId !== undefined) this.#owners.delete(sessionId)
        if (!(error instanceof OwnedElsewhere || (harmless && isLost(error)))) throw error
        if (moves === maxMoves) throw restless()
      }
    }
  }

  /** Throws why no session may be served at the moment, by whoever asks: not even one that runs here. */
  #check(): void {
    const { problem } = this.#cluster
    if (problem !== undefined) throw problem
  }

  #ask(node: string, ask: NodeRequest, peer: Peer | undefined, sink?: Sink): Promise<NodeAnswer> {
    return this.#askAs(this.#nextId(), { node, ask, peer, sink, reader: undefined })
  }

  #nextId(): string {
    this.#last += 1
    return `${this.#name}.${this.#last}`
  }

  #askAs(id: string, { node, ask, peer, sink, reader }: Question): Promise<NodeAnswer> {
    if (this.#asked.size >= maxAsked) return Promise.reject(outOfReach(node))
    return new Promise((resolve, reject) => {
      this.#asked.set(id, { node, sink, reader, isAnswered: false, resolve, reject })
      if (this.#cluster.send(node, { type: 'ask', id, ask, peer: peer && plainPeer(peer) })) return
      this.#asked.delete(id)
      reject(outOfReach(node))
    })
  }

  #settle(id: string, settle: (asked: PendingRequest) => void): void {
    const asked = this.#asked.get(id)
    if (asked === undefined) return
    this.#asked.delete(id)
    settle(asked)
  }

  #tell(id: string, message: PortMessage): void {
    const asked = this.#asked.get(id)
    const sink = asked?.sink
    if (message.type === 'message') sink?.send(messageOf(message.text))
    else if (message.type === 'negotiated') sink?.negotiated?.(message.revision)
    else if (message.type === 'released') sink?.release?.()
    else if (message.type === 'over' && asked?.reader !== undefined) {
      this.#asked.delete(id)
      if (message.goesOn === true && asked.isAnswered) return this.#follow(asked.reader)
      sink?.end?.(over(false))
      // a session may end before it has said that the reader is attached
      asked.resolve({ texts: [] })
    }
  }

  #work(serving: Promise<void>): void {
    const work = serving.finally(() => this.#working.delete(work))
    this.#working.add(work)
  }

  async #serve(node: string, id: string, ask: NodeRequest, peer: Peer | undefined): Promise<void> {
    const sink = new RemoteSink(this.#cluster, this.#retries, node, id)
    this.#served.set(id, sink)
    try {
      const answer = await this.#do(ask, peer as Peer, sink)
      sink.finish({ type: 'answer', id, answer })
      if (ask.do === 'attach' && sink.isOpen) return sink.whenOver(() => this.#served.delete(id))
    } catch (error) {
      const problem: Problem = error instanceof OwnedElsewhere ? { type: 'elsewhere' } : problemOf(error)
      sink.finish({ type: 'failed', id, problem })
    }
    this.#served.delete(id)
    sink.detach()
  }

  async #do(ask: NodeRequest, peer: Peer, sink: RemoteSink): Promise<NodeAnswer> {
    this.#check()
    const local = this.#local
    switch (ask.do) {
      case 'open': {
        const { sessionId, response } = await local.open(messageOf<JsonRpcRequest>(ask.text), peer)
        return answerOf([response], sessionId)
      }
      case 'deliver': {
        const { sessionId, text, mayRelease } = ask
        const taken = mayRelease ? sink.releasable() : sink
        return answerOf([await local.deliver(sessionId, messageOf(text), taken, peer)])
      }
      case 'attach':
        sink.isDeaf = ask.isDeaf
        sink.readsOf = ask.sessionId
        sink.onDetach(await local.attach(ask.sessionId, sink, peer))
        return answerOf([])
      case 'close':
        await local.close(ask.sessionId, peer)
        return answerOf([])
    }
  }
}

/** Where messages go whose reader is on another node. */
class RemoteSink implements Sink {
  readonly node: string
  readonly #id: string
  readonly #cluster: Cluster
  readonly #retries: RetryQueue<PortMessage>
  #undo: (() => void) | undefined
  #onOver: (() => void) | undefined
  /** Whether it has ended on its own: the answer may still be awaited. */
  #hasEnded = false
  isOpen = true
  isDeaf = false
  /** The session whose messages that belong to no request come here. */
  readsOf: string | undefined
  hasSent = false

  constructor(cluster: Cluster, retries: RetryQueue<PortMessage>, node: string, id: string) {
    this.#cluster = cluster
    this.#retries = retries
    this.node = node
    this.#id = id
  }

  send(message: Message): boolean {
    if (!this.isOpen || this.isDeaf) return false
    const isTaken = this.#tell({ type: 'message', id: this.#id, text: textOf(message) })
    this.hasSent ||= isTaken
    return isTaken
  }

  negotiated(revision: string): void {
    if (this.isOpen) this.#retries.send(this.node, { type: 'negotiated', id: this.#id, revision })
  }

  end(outcome: Outcome): void {
    if (!this.isOpen) return
    const goesOn = outcome.type === 'over' && outcome.goesOn
    this.#retries.send(this.node, { type: 'over', id: this.#id, ...(goesOn && { goesOn }) })
    this.#hasEnded = true
    this.detach()
  }

  /** Sends the answer or the failure, unless the reader has gone. */
  finish(message: PortMessage): void {
    if (this.isOpen || this.#hasEnded) this.#retries.send(this.node, message)
  }

  /** The same, of a connection that can be ended early. */
  releasable(): Sink {
    return {
      send: (message) => this.send(message),
      negotiated: (revision) => this.negotiated(revision),
      end: (outcome) => this.end(outcome),
      release: () => this.isOpen && this.#tell({ type: 'released', id: this.#id }),
    }
  }

  /** `undo` is called when the reader has gone, at once if it has. */
  onDetach(undo: () => void): void {
    this.#undo = undo
    if (!this.isOpen) undo()
  }

  whenOver(fn: () => void): void {
    this.#onOver = fn
  }

  /** Nobody reads any more. */
  detach(): void {
    if (!this.isOpen) return
    this.isOpen = false
    this.#undo?.()
    this.#onOver?.()
  }

  #tell(message: PortMessage): boolean {
    return this.#cluster.send(this.node, message)
  }
}

function orOwnedElsewhere(error: unknown): OwnedElsewhere {
  if (error instanceof OwnedElsewhere) return error
  throw error
}

function failureOf(problem: Problem, node: string): Error {
  return problem.type === 'elsewhere' ? new OwnedElsewhere(node) : errorOf(problem)
}

/** Data of the error of a request whose node has ended while it worked on it. */
const lost = Object.freeze({ retryable: true })

function nodeGone(node: string): TransportError {
  const message = 'the node that the session ran on has ended'
  return new TransportError('CONNECTION_LOST', message, {
    retryable: true,
    data: { node },
  })
}

function outOfReach(node: string): TransportError {
  const message = 'the node that the session runs on cannot be reached'
  return new TransportError('SEND_FAILED', message, {
    retryable: true,
    data: { node },
  })
}

function restless(): TransportError {
  return new TransportError('SEND_FAILED', 'the session moves between nodes: try again', {
    retryable: true,
  })
}

function isLost(error: unknown): error is TransportError {
  return error instanceof TransportError && ['CONNECTION_LOST', 'SEND_FAILED'].includes(error.code)
}

function lostAnswer({ id }: JsonRpcRequest, { message }: TransportError): Response {
  return {
    jsonrpc: '2.0',
    id,
    error: { code: -32603, message: `Internal error: ${message}`, data: lost },
  }
}
