import type { Server } from 'node:net'
import type { Random } from '../../soak/random.js'
import { chanceOf, happens } from '../world/chance.js'
import type { Program } from '../world/program.js'
import { Lane, type Simulator } from '../world/simulator.js'
import { type Segment, SimulatedSocket } from './socket.js'

/** How one direction between two addresses behaves. */
export interface WayQuality {
  /** Shortest and longest ms of a segment. */
  readonly delay: readonly [number, number]
  /** Share of segments that are lost and sent again by the system, 200 ms or more later. */
  readonly loss: number
  /** Bytes per ms. */
  readonly rate: number
}

const goodWay: WayQuality = { delay: [0.1, 2], loss: 0, rate: 100_000 }
/** ms after which the system gives a connection up on which nothing is confirmed. */
const giveUp = 60_000

/** One direction between two addresses. */
interface Way {
  readonly to: string
  readonly chance: Random
  quality: WayQuality
  isCut: boolean
  /** Bytes after which the connection that carries them ends. */
  snip: number | undefined
  /** Those whose segments came to the cut. */
  readonly stuck: Set<SimulatedSocket>
}

interface Listener {
  readonly program: Program
  readonly server: Server
}

/**
 * Connections between programs as TCP has them: bytes come in order or not at all, ends may not know of each
 * other's end, and nobody is told of a cut.
 */
export class Network {
  readonly #simulator: Simulator
  readonly #lane = new Lane('network')
  readonly #ways = new Map<string, Way>()
  readonly #listeners = new Map<string, Listener>()
  readonly #open = new Set<SimulatedSocket>()
  readonly #lost = new Set<SimulatedSocket>()
  readonly #servers = new Set<Server>()
  /** Addresses whose machine lost its power: nobody there answers for it. */
  readonly #dark = new Set<string>()
  /** Addresses that let nobody new in. */
  readonly #closed = new Set<string>()
  readonly #appetites = new Map<string, number>()
  /** Who stands behind an address that several share. */
  readonly #shared = new Map<string, readonly string[]>()
  readonly #balance: Random
  /** How many requests a connection to an address may carry. */
  readonly requests = new Map<string, number>()
  #lastPort = 40_000

  constructor(simulator: Simulator) {
    this.#simulator = simulator
    this.#balance = chanceOf(simulator.seed, 'shared addresses')
  }

  /** Sockets of a program that are open, besides those to these addresses. */
  socketsOf(program: Program, others: readonly string[] = []): number {
    let count = 0
    for (const socket of this.#open)
      if (socket.program === program && !others.includes(socket.remote.address)) count += 1
    return count
  }

  /** The connections that a server has accepted, in this order. */
  socketsOn(server: Server): SimulatedSocket[] {
    return [...this.#open].filter((socket) => socket.server === server)
  }

  connect(program: Program, host: string, port: number, allowHalfOpen: boolean): SimulatedSocket {
    this.#lastPort += 1
    const remote = { address: this.#memberOf(host, port), port }
    const place = { network: this, program, port: this.#lastPort, remote }
    const socket = new SimulatedSocket(place, true, allowHalfOpen)
    this.#own(socket)
    this.#dial(socket, 0)
    return socket
  }

  /** Connections to this address go to any of these: to one that listens, if there is one. */
  share(address: string, members: readonly string[]): void {
    this.#shared.set(address, members)
  }

  #dial(socket: SimulatedSocket, attempt: number): void {
    const { address, port } = socket.remote
    const there = this.#way(socket.program.address, address)
    const back = this.#way(address, socket.program.address)
    this.#simulator.after(
      this.#delay(there, 64),
      this.#lane,
      `${socket.label} dials ${address}:${port}`,
      () => {
        if (socket.destroyed || socket.program.phase === 'dead') return
        if (there.isCut || back.isCut || this.#dark.has(address)) return this.#dialAgain(socket, attempt)
        const listener = this.#listeners.get(`${address}:${port}`)
        if (listener === undefined || this.#closed.has(address)) {
          return this.tell(socket, 'is refused', () => {
            const { address: host } = socket.remote
            socket.fail('ECONNREFUSED', `connect ECONNREFUSED ${host}:${port}`)
          })
        }
        this.#accept(socket, listener)
      },
    )
  }

  #memberOf(shared: string, port: number): string {
    const members = this.#shared.get(shared)
    if (members === undefined) return shared
    const open = members.filter((each) => this.#listeners.has(`${each}:${port}`) && !this.#closed.has(each))
    return this.#balance.pick(open.length > 0 ? open : members) ?? shared
  }

  #dialAgain(socket: SimulatedSocket, attempt: number): void {
    if (attempt < 6) {
      const again = (): void => this.#dial(socket, attempt + 1)
      this.#simulator.after(1_000 * 2 ** attempt, this.#lane, `${socket.label} dials again`, again)
    } else this.tell(socket, 'gives up', () => socket.fail('ETIMEDOUT', 'connect ETIMEDOUT'))
  }

  #accept(socket: SimulatedSocket, { program, server }: Listener): void {
    const remote = { address: socket.program.address, port: socket.localPort }
    const place = { network: this, program, port: socket.remote.port, remote }
    const accepted = new SimulatedSocket(place, false, true)
    accepted.peer = socket
    socket.peer = accepted
    this.#own(accepted)
    this.#simulator.soon(program.lane, `accepts ${socket.label}`, () => {
      if (program.phase === 'dead') return
      program.enter(() => acceptOn(server, accepted))
    })
    this.tell(socket, 'is connected', () => socket.established())
  }

  /** Reads what goes from one address to another. */
  tap: ((from: string, to: string, bytes: Buffer) => void) | undefined

  /** Sends what the system of `from` has to send, as far as the way goes. */
  send(from: SimulatedSocket, segment: Segment): void {
    if (from.peer === undefined) return
    if (segment.type === 'data') this.tap?.(from.program.address, from.remote.address, segment.bytes)
    const way = this.#way(from.program.address, from.remote.address)
    const size = segment.type === 'data' ? segment.bytes.length : 64
    const { now } = this.#simulator
    const arrival = Math.max(from.lastArrival, now + this.#delay(way, size))
    from.lastArrival = arrival
    const departure = { segment, isThere: false }
    from.sent.push(departure)
    const label = segment.type === 'data' ? `${segment.bytes.length} bytes` : segment.type
    this.#simulator.after(arrival - now, this.#lane, `${from.label} sends ${label}`, () => {
      departure.isThere = true
      this.#deliver(way, from)
    })
  }

  /** Has the program of a socket do something, as soon as word of it has come from the other end. */
  tell(socket: SimulatedSocket, label: string, fn: () => void): void {
    const way = this.#way(socket.remote.address, socket.program.address)
    this.#simulator.after(this.#delay(way, 64), socket.program.lane, `${socket.label} ${label}`, () => {
      if (!socket.destroyed && socket.program.phase !== 'dead') socket.program.enter(fn)
    })
  }

  /** None overtakes another, not even one that waited at a cut. */
  #deliver(way: Way, from: SimulatedSocket): void {
    for (let first = from.sent[0]; first?.isThere; first = from.sent[0]) {
      if (way.isCut || this.#dark.has(from.remote.address)) return this.#holdUp(way, from, first)
      from.sent.shift()
      this.#pass(way, from, first.segment)
    }
  }

  #holdUp(way: Way, from: SimulatedSocket, first: unknown): void {
    if (way.stuck.has(from)) return
    way.stuck.add(from)
    // what Node keeps at a closed one is garbage there, and not kept by a system that may yet give up
    const held = new WeakRef(from)
    this.#simulator.after(giveUp, this.#lane, `${from.label} gives up`, () => {
      const socket = held.deref()
      if (socket !== undefined && socket.sent[0] === first) this.#abandon(socket)
    })
  }

  #pass(way: Way, from: SimulatedSocket, segment: Segment): void {
    if (way.snip === undefined || segment.type !== 'data') return this.#arrive(from, segment)
    way.snip -= segment.bytes.length
    if (way.snip > 0) return this.#arrive(from, segment)
    const bytes = segment.bytes.subarray(0, segment.bytes.length + way.snip)
    way.snip = undefined
    from.sent.length = 0
    if (bytes.length > 0) this.#arrive(from, { type: 'data', bytes })
    this.#arrive(from, { type: 'rst' })
    this.tell(from, 'is reset', () => from.arrive({ type: 'rst' }))
  }

  #arrive(from: SimulatedSocket, segment: Segment): void {
    const { peer } = from
    if (peer === undefined) return
    const { program } = peer
    if (program.phase === 'dead') {
      // the system of its machine answers for a connection that it does not know
      if (segment.type === 'data') this.tell(from, 'is reset', () => from.arrive({ type: 'rst' }))
      return
    }
    this.#simulator.soon(program.lane, `${peer.label} gets ${segment.type}`, () => {
      if (program.phase !== 'dead') program.enter(() => peer.arrive(segment))
    })
  }

  #abandon(from: SimulatedSocket): void {
    from.sent.length = 0
    if (from.destroyed || from.program.phase === 'dead') return
    const fail = (): void => from.fail('ETIMEDOUT', 'read ETIMEDOUT')
    this.#simulator.soon(from.program.lane, `${from.label} times out`, () => from.program.enter(fail))
  }

  /** One direction carries nothing from now on; what is on it is kept until it is healed. */
  cut(from: string, to: string): void {
    this.#way(from, to).isCut = true
  }

  heal(from: string, to: string): void {
    const way = this.#way(from, to)
    way.isCut = false
    this.#goOn(way)
  }

  #goOn(way: Way): void {
    const stuck = [...way.stuck]
    way.stuck.clear()
    for (const socket of stuck)
      this.#simulator.after(this.#delay(way, 64), this.#lane, `${socket.label} sends again`, () =>
        this.#deliver(way, socket),
      )
  }

  setQuality(from: string, to: string, quality: Partial<WayQuality>): void {
    this.#way(from, to).quality = { ...goodWay, ...quality }
  }

  /** The next connection that carries so many bytes this way ends after them, as by a proxy between them. */
  snip(from: string, to: string, bytes: number | undefined): void {
    this.#way(from, to).snip = bytes
  }

  /** Whether connections to an address are refused. */
  refuse(address: string, isClosed: boolean): void {
    if (isClosed) this.#closed.add(address)
    else this.#closed.delete(address)
  }

  /** How many bytes per ms programs of an address read; undefined as many as there are. */
  appetiteOf(address: string): number | undefined {
    return this.#appetites.get(address)
  }

  setAppetite(address: string, bytes: number | undefined): void {
    if (bytes === undefined) this.#appetites.delete(address)
    else this.#appetites.set(address, bytes)
  }

  /** Every connection between two addresses ends with an error at both ends, as by a proxy between them. */
  reset(one: string, other: string): void {
    const hit = [...this.#open].filter(({ program, remote }) =>
      [
        [one, other],
        [other, one],
      ].some(([a, b]) => program.address === a && remote.address === b),
    )
    for (const socket of hit) this.tell(socket, 'is reset', () => socket.arrive({ type: 'rst' }))
  }

  /** The program's machine loses its power, if `isSilent`; else the system closes what the program had. */
  lose(program: Program, isSilent: boolean): void {
    if (isSilent) this.#dark.add(program.address)
    for (const [place, listener] of this.#listeners)
      if (listener.program === program) this.#listeners.delete(place)
    for (const socket of [...this.#open]) if (socket.program === program) socket.vanish(isSilent)
  }

  /** A machine is there again. */
  light(address: string): void {
    if (!this.#dark.delete(address)) return
    for (const way of this.#ways.values()) if (way.to === address) this.#goOn(way)
  }

  /** False if somebody listens there already. */
  listen(listener: Listener, host: string, port: number): (() => void) | undefined {
    const place = `${host}:${port}`
    if (this.#listeners.has(place)) return undefined
    this.#listeners.set(place, listener)
    this.#servers.add(listener.server)
    return () => {
      if (this.#listeners.get(place) === listener) this.#listeners.delete(place)
      this.#servers.delete(listener.server)
    }
  }

  freePort(): number {
    this.#lastPort += 1
    return this.#lastPort
  }

  closed(socket: SimulatedSocket): void {
    this.#open.delete(socket)
    const { peer } = socket
    // what Node keeps at a closed one is garbage there, and not kept by the end that was lost, or is closed, too
    if (peer === undefined || !(peer.destroyed || this.#lost.has(peer))) return
    peer.peer = undefined
    if (peer.destroyed) socket.peer = undefined
  }

  /** Its program is gone, and knows nothing of its end. */
  lost(socket: SimulatedSocket): void {
    this.#open.delete(socket)
    this.#lost.add(socket)
    if (socket.peer?.destroyed === true) socket.peer = undefined
  }

  /** Nothing goes over it any more. What Node holds for connections and servers of dead programs is given back. */
  end(): void {
    for (const socket of [...this.#open, ...this.#lost]) socket.program.enter(() => socket.discard())
    this.#lost.clear()
    for (const server of this.#servers) endChecks(server)
    this.#servers.clear()
  }

  #own(socket: SimulatedSocket): void {
    this.#open.add(socket)
  }

  #way(from: string, to: string): Way {
    const name = `${from} ${to}`
    let way = this.#ways.get(name)
    if (way === undefined) {
      const chance = chanceOf(this.#simulator.seed, `way ${name}`)
      way = { to, chance, quality: goodWay, isCut: false, snip: undefined, stuck: new Set() }
      this.#ways.set(name, way)
    }
    return way
  }

  #delay({ chance, quality }: Way, bytes: number): number {
    const [low, high] = quality.delay
    const again = happens(chance, quality.loss) ? 200 * 2 ** chance.between(0, 3) : 0
    return low + chance.next() * (high - low) + again + bytes / quality.rate
  }
}

interface Accepting {
  _connections: number
  maxConnections?: number
  _emitCloseIfDrained(): void
  emit(event: string, ...args: unknown[]): boolean
}

/** As `net.Server` does it. */
function acceptOn(server: Server, socket: SimulatedSocket): void {
  const accepting = server as unknown as Accepting
  if (accepting.maxConnections !== undefined && accepting._connections >= accepting.maxConnections) {
    accepting.emit('drop', { remoteAddress: socket.remoteAddress })
    return void socket.destroy()
  }
  accepting._connections += 1
  socket.server = server
  socket.once('close', () => {
    accepting._connections -= 1
    accepting._emitCloseIfDrained()
  })
  accepting.emit('connection', socket)
}

/** node:http looks at the connections of a server by the real clock, as long as the server is not closed. */
function endChecks(server: Server): void {
  const symbols = Object.getOwnPropertySymbols(server)
  const key = symbols.find(({ description }) => description === 'http.server.connectionsCheckingInterval')
  const timer = key && (server as unknown as Record<symbol, NodeJS.Timeout | undefined>)[key]
  timer?.[Symbol.dispose]()
}
