import { Duplex } from 'node:stream'
import type { Program } from '../world/program.js'
import type { Step } from '../world/simulator.js'
import type { Network } from './network.js'

/** Bytes that may be under way, or unread, before a writer has to wait: as the buffers of a system. */
const windowSize = 64 * 1024

/** ms between two reads of a slow reader. */
const slowPace = 50

export type Segment =
  | { readonly type: 'data'; readonly bytes: Buffer }
  | { readonly type: 'fin' }
  | { readonly type: 'rst' }

export interface SocketPlace {
  readonly network: Network
  readonly program: Program
  readonly port: number
  readonly remote: { readonly address: string; readonly port: number }
}

/** One end of a connection, with as much of `net.Socket` as node:http, undici and ws use. */
export class SimulatedSocket extends Duplex {
  readonly program: Program
  readonly remote: { readonly address: string; readonly port: number }
  readonly localPort: number
  readonly #network: Network
  readonly #arrived: Buffer[] = []
  peer: SimulatedSocket | undefined
  connecting: boolean
  server: unknown = null
  timeout = 0
  bytesRead = 0
  bytesWritten = 0
  #unread = 0
  #isReading = false
  #isChewing = false
  #hasEnded = false
  #hasFinished = false
  #isSilent = false
  #waiting: (() => void) | undefined
  #idle: Step | undefined
  /** When the last segment that was sent arrives: none overtakes another. */
  lastArrival = 0
  /** What is under way, in order, and whether it would be there if nothing was before it. */
  readonly sent: { readonly segment: Segment; isThere: boolean }[] = []

  constructor({ network, program, port, remote }: SocketPlace, connecting: boolean, allowHalfOpen = false) {
    super({ allowHalfOpen, emitClose: true, autoDestroy: true, decodeStrings: true })
    this.#network = network
    this.program = program
    this.localPort = port
    this.remote = remote
    this.connecting = connecting
  }

  get remoteAddress(): string | undefined {
    return this.destroyed ? undefined : this.remote.address
  }

  get remotePort(): number | undefined {
    return this.destroyed ? undefined : this.remote.port
  }

  get remoteFamily(): string {
    return 'IPv4'
  }

  get localAddress(): string {
    return this.program.address
  }

  get pending(): boolean {
    return this.connecting
  }

  get readyState(): string {
    if (this.connecting) return 'opening'
    if (this.readable && this.writable) return 'open'
    return this.readable ? 'readOnly' : this.writable ? 'writeOnly' : 'closed'
  }

  get label(): string {
    return `${this.program.name}:${this.localPort}`
  }

  /** The connection stands; what was written goes out. */
  established(): void {
    this.connecting = false
    this.emit('connect')
    this.emit('ready')
    const go = this.#waiting
    this.#waiting = undefined
    go?.()
  }

  override _read(): void {
    this.#isReading = true
    this.#hand()
  }

  override _write(chunk: Buffer, _encoding: string, done: (error?: Error | null) => void): void {
    if (this.connecting) {
      this.#waiting = () => this._write(chunk, _encoding, done)
      return
    }
    this.#active()
    this.bytesWritten += chunk.length
    this.#unread += chunk.length
    // a copy: the writer may use its buffer again
    this.#network.send(this, { type: 'data', bytes: Buffer.from(chunk) })
    if (this.#unread <= windowSize) done()
    else this.#waiting = () => done()
  }

  /** What was written while it was corked, or while the last write was under way, goes out as one. */
  override _writev(
    chunks: readonly { readonly chunk: Buffer }[],
    done: (error?: Error | null) => void,
  ): void {
    this._write(Buffer.concat(chunks.map(({ chunk }) => chunk)), 'buffer', done)
  }

  override _final(done: (error?: Error | null) => void): void {
    if (this.connecting) {
      this.#waiting = () => this._final(done)
      return
    }
    this.#finish()
    done()
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    this.program.cancel(this.#idle)
    this.#waiting = undefined
    this.connecting = false
    if (!this.#isSilent) {
      if (this.#arrived.length > 0) this.#network.send(this, { type: 'rst' })
      else this.#finish()
    }
    this.#network.closed(this)
    done(error)
  }

  #finish(): void {
    if (this.#hasFinished) return
    this.#hasFinished = true
    this.#network.send(this, { type: 'fin' })
  }

  /** What comes from the other end, in order. */
  arrive(segment: Segment): void {
    if (this.destroyed) {
      if (segment.type === 'data') this.#network.send(this, { type: 'rst' })
      return
    }
    this.#active()
    if (segment.type === 'rst') return this.fail('ECONNRESET', 'read ECONNRESET')
    if (segment.type === 'fin') this.#hasEnded = true
    else {
      this.bytesRead += segment.bytes.length
      this.#arrived.push(segment.bytes)
    }
    this.#hand()
  }

  /** It ends with an error of the system; the other end is told nothing. */
  fail(code: string, message: string): void {
    this.#isSilent = true
    const syscall = this.connecting ? 'connect' : 'read'
    this.destroy(Object.assign(new Error(message), { code, errno: -1, syscall }))
  }

  /** Its program has died: none of its code is told. The system tells the other end, or nobody does. */
  vanish(isSilent: boolean): void {
    if (this.destroyed) return
    if (!isSilent) this.#network.send(this, { type: this.#arrived.length > 0 ? 'rst' : 'fin' })
    this.#isSilent = true
    this.#network.lost(this)
  }

  /** The run is over: it goes, and nobody else is told. */
  discard(): void {
    this.#isSilent = true
    this.destroy()
  }

  /** So many bytes of what it wrote have been read. */
  taken(bytes: number): void {
    this.#unread -= bytes
    if (this.connecting || this.#waiting === undefined || this.#unread > windowSize) return
    const go = this.#waiting
    this.#waiting = undefined
    this.#network.tell(this, 'window opens', go)
  }

  #hand(): void {
    while (this.#isReading && !this.#isChewing) {
      const bytes = this.#bite()
      if (bytes === undefined) break
      this.#isReading = this.push(bytes)
      this.peer?.taken(bytes.length)
    }
    if (this.#hasEnded && this.#arrived.length === 0 && !this.readableEnded) this.push(null)
  }

  /** The next bytes: all that came at once, or as many as a slow reader takes in a while. */
  #bite(): Buffer | undefined {
    const appetite = this.#network.appetiteOf(this.program.address)
    const bytes = this.#arrived.shift()
    if (bytes === undefined || appetite === undefined) return bytes
    const size = Math.max(1, Math.round(appetite * slowPace))
    if (bytes.length > size) this.#arrived.unshift(bytes.subarray(size))
    this.#isChewing = true
    this.program.outside(slowPace, 'swallows', () => {
      this.#isChewing = false
      this.program.soon('reads on', () => {
        if (!this.destroyed) this.#hand()
      })
    })
    return bytes.subarray(0, size)
  }

  #active(): void {
    if (this.timeout > 0) this.#expect()
  }

  #expect(): void {
    this.program.cancel(this.#idle)
    this.#idle =
      this.timeout > 0 && !this.destroyed
        ? this.program.after(this.timeout, 'socket timeout', () => this.emit('timeout'))
        : undefined
  }

  setTimeout(ms: number, fn?: () => void): this {
    this.timeout = ms
    if (fn !== undefined) {
      if (ms === 0) this.off('timeout', fn)
      else this.once('timeout', fn)
    }
    this.#expect()
    return this
  }

  setNoDelay(): this {
    return this
  }

  setKeepAlive(): this {
    return this
  }

  ref(): this {
    return this
  }

  unref(): this {
    return this
  }

  address(): object {
    return { address: this.localAddress, port: this.localPort, family: 'IPv4' }
  }

  destroySoon(): void {
    if (this.writable) this.end()
    if (this.writableFinished) this.destroy()
    else this.once('finish', () => this.destroy())
  }

  resetAndDestroy(): this {
    this.#network.send(this, { type: 'rst' })
    this.#isSilent = true
    return this.destroy()
  }
}
