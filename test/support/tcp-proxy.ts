import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'

/**
 * How the connections of a proxy are treated: `half` and `cut` end them, `hold` and `delay` only make them slow. Of
 * `client` or `server` nothing passes, and what the other side says does.
 */
export type ProxyFault = 'half' | 'hold' | 'cut' | 'delay' | 'client' | 'server'

interface Pair {
  readonly near: Socket
  readonly far: Socket
}

/** A way to one port on which connections can be cut. */
export class TcpProxy {
  readonly #server: Server
  readonly #pairs = new Set<Pair>()
  #target: number
  #isCut: () => void = () => {}
  #mode: ProxyFault | undefined
  #delayMs = 0

  private constructor(server: Server, port: number) {
    this.#server = server
    this.#target = port
    server.on('connection', (near) => (this.#mode === 'cut' ? refuse(near) : this.#join(near)))
  }

  /** Listens on a port of its own, and passes on what comes to `port`. */
  static async start(port: number): Promise<TcpProxy> {
    const server = createServer({ allowHalfOpen: false })
    const proxy = new TcpProxy(server, port)
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    return proxy
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port
  }

  /** Connections that it has now. */
  get open(): number {
    return this.#pairs.size
  }

  /** Calls `fn` whenever it cuts a connection on purpose, from now on. */
  onCut(fn: () => void): void {
    this.#isCut = fn
  }

  /** Ends all connections with a reset. */
  reset(): void {
    for (const pair of [...this.#pairs]) this.#reset(pair)
  }

  /** Until `clear`: ends all connections, and refuses new ones. */
  cut(): void {
    this.#mode = 'cut'
    this.reset()
  }

  /** Passes on what comes from now on to another port; connections that there are stay where they are. */
  aim(port: number): void {
    this.#target = port
  }

  /** Until `clear`: ends every connection in the middle of what the server says next. */
  half(): void {
    this.#mode = 'half'
  }

  /** Until `clear`: nothing passes any more, in neither direction. */
  hold(): void {
    this.#mode = 'hold'
    for (const pair of this.#pairs) this.#hush(pair)
  }

  /** Until `clear`: nothing that this side says passes any more. */
  silence(side: 'client' | 'server'): void {
    this.#mode = side
    for (const pair of this.#pairs) this.#hush(pair)
  }

  /** Until `clear`: everything passes `ms` later. */
  delay(ms: number): void {
    this.#mode = 'delay'
    this.#delayMs = ms
  }

  clear(): void {
    const pairs = [...this.#pairs].filter((pair) => this.#silent(pair).length > 0)
    this.#mode = undefined
    for (const { near, far } of pairs) {
      near.resume()
      far.resume()
    }
  }

  async close(): Promise<void> {
    const closed = once(this.#server, 'close')
    this.#server.close()
    this.reset()
    await closed
  }

  #join(near: Socket): void {
    const far = connect({ host: '127.0.0.1', port: this.#target })
    const pair = { near, far }
    this.#pairs.add(pair)
    const end = (): void => {
      // to be destroyed while it is being reset would leave a handle of Node open for ever
      if (!this.#pairs.delete(pair)) return
      near.destroy()
      far.destroy()
    }
    for (const socket of [near, far]) {
      socket.setNoDelay(true)
      socket.on('error', end)
      socket.on('close', end)
    }
    this.#pass(pair, near, far, () => false)
    this.#pass(pair, far, near, (chunk) => this.#cutHalf(pair, chunk))
    this.#hush(pair)
  }

  #hush(pair: Pair): void {
    for (const socket of this.#silent(pair)) socket.pause()
  }

  /** The sockets of which nothing is to be heard. */
  #silent({ near, far }: Pair): readonly Socket[] {
    if (this.#mode === 'hold') return [near, far]
    if (this.#mode === 'client') return [near]
    return this.#mode === 'server' ? [far] : []
  }

  #pass(pair: Pair, from: Socket, to: Socket, meddle: (chunk: Buffer) => boolean): void {
    // What was delayed must not be overtaken by what was not, however late its timer is.
    const delayed: { readonly due: number; readonly chunk: Buffer | undefined }[] = []
    const pass = (chunk: Buffer | undefined): void => {
      const now = performance.now()
      const wait = this.#mode === 'delay' ? this.#delayMs : 0
      if (delayed.length === 0 && wait === 0) write(chunk)
      else if (delayed.push({ due: now + wait, chunk }) === 1) setTimeout(release, wait)
    }
    from.on('data', (chunk) => {
      if (this.#mode !== 'half' || !meddle(chunk)) pass(chunk)
    })
    from.on('end', () => pass(undefined))
    to.on('drain', () => {
      if (!this.#silent(pair).includes(from)) from.resume()
    })

    function release(): void {
      for (;;) {
        const [first] = delayed
        if (first === undefined) return
        const left = first.due - performance.now()
        if (left > 0) return void setTimeout(release, left)
        delayed.shift()
        write(first.chunk)
      }
    }

    function write(chunk: Buffer | undefined): void {
      if (to.destroyed) return
      if (chunk === undefined) to.end()
      else if (!to.write(chunk)) from.pause()
    }
  }

  #cutHalf({ near, far }: Pair, chunk: Buffer): boolean {
    this.#isCut()
    near.end(chunk.subarray(0, chunk.length >> 1))
    far.destroy()
    return true
  }

  #reset(pair: Pair): void {
    this.#pairs.delete(pair)
    this.#isCut()
    for (const socket of [pair.near, pair.far]) reset(socket)
  }
}

/** With a reset, unless it still has something to say that nobody takes, or is about to end: that waits for ever. */
function reset(socket: Socket): void {
  if (socket.connecting || socket.writableEnded || socket.writableLength > 0) socket.destroy()
  else socket.resetAndDestroy()
}

function refuse(near: Socket): void {
  near.on('error', () => {})
  near.resetAndDestroy()
}
