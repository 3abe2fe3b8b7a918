import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import type { HostCommand, HostNews } from './host-words.js'

/** A server that listens, as a process of its own; started again, it has the same addresses. */
export interface Host {
  /** For HTTP, HTTP+SSE and WebSocket, as far as it has them. */
  readonly urls: readonly string[]
  start(): Promise<void>
  signal(name: 'SIGSTOP' | 'SIGCONT'): void
  tell(command: HostCommand): void
  /** Sockets that it has with others; undefined where the program does not say. */
  countSockets(): Promise<number | undefined>
  /** Ends it as nothing can prevent. */
  kill(): Promise<void>
  /** Ends it in an orderly way. */
  stop(): Promise<void>
}

/** Milliseconds that a server may take to start, or to end, on a machine with a lot to do. */
const patience = 180_000

/** Starts one of our servers; `program` takes the file for its log, the folder of its sessions, and its ports. */
export async function startOwnHost(
  program: string,
  log: string,
  sessions: string | undefined,
): Promise<Host> {
  let urls: readonly string[] = []
  const ports = (): string[] => (urls.length === 0 ? ['0', '0', '0'] : urls.map((url) => new URL(url).port))
  const host = new HostProcess(
    () =>
      spawn(process.execPath, [program, log, sessions ?? 'memory', ...ports()], {
        stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
      }),
    async (child) => {
      const news = await heard(child, 'up')
      urls = news.urls
    },
  )
  await host.start()
  return Object.assign(host, { urls })
}

/** Starts a server that takes its port from PORT and says `listening on port N` on standard error. */
export async function startOtherHost(args: readonly string[], path: string): Promise<Host> {
  let port = 0
  const host = new HostProcess(
    () =>
      spawn(process.execPath, args, {
        env: { ...process.env, PORT: String(port) },
        stdio: ['ignore', 'ignore', 'pipe'],
      }),
    async (child) => {
      let said = ''
      const signal = AbortSignal.timeout(patience)
      while (child.stderr !== null) {
        const [chunk] = await once(child.stderr, 'data', { signal })
        said += chunk
        port = Number(/listening on port (\d+)/.exec(said)?.[1] ?? 0)
        if (port > 0) return
      }
    },
  )
  await host.start()
  return Object.assign(host, { urls: [`http://127.0.0.1:${port}${path}`] })
}

/** A program that is started again and again. `isUp` resolves when it serves. */
export class HostProcess implements Host {
  readonly urls: readonly string[] = []
  readonly #spawn: () => ChildProcess
  readonly #isUp: (child: ChildProcess) => Promise<void>
  #child: ChildProcess | undefined

  constructor(start: () => ChildProcess, isUp: (child: ChildProcess) => Promise<void>) {
    this.#spawn = start
    this.#isUp = isUp
  }

  async start(): Promise<void> {
    const child = this.#spawn()
    this.#child = child
    const signal = AbortSignal.timeout(patience)
    const ended = once(child, 'exit', { signal }).then(([code]) => {
      throw new Error(`a server ended with ${code} while it started`)
    })
    ended.catch(() => {})
    await Promise.race([this.#isUp(child), ended])
    // What a server says later is nobody's business; a pipe that nobody reads would stop it.
    child.stderr?.resume()
  }

  signal(name: 'SIGSTOP' | 'SIGCONT'): void {
    this.#child?.kill(name)
  }

  tell(command: HostCommand): void {
    if (this.#child?.connected === true) this.#child.send(command)
  }

  async countSockets(): Promise<number | undefined> {
    if (this.#child?.connected !== true) return undefined
    const counted = heard(this.#child, 'count')
    this.tell('count')
    return (await counted).sockets
  }

  async kill(): Promise<void> {
    await this.#ended((child) => child.kill('SIGKILL'))
  }

  async stop(): Promise<void> {
    await this.#ended((child) => (child.connected ? this.tell('stop') : child.kill('SIGTERM')))
  }

  async #ended(end: (child: ChildProcess) => void): Promise<void> {
    const child = this.#child
    this.#child = undefined
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return
    const exit = once(child, 'exit')
    this.#child = child
    end(child)
    const timer = setTimeout(() => child.kill('SIGKILL'), patience)
    await exit
    clearTimeout(timer)
    child.stderr?.destroy()
  }
}

/** Resolves with the next news of this type. */
export async function heard<Type extends HostNews['type']>(
  child: ChildProcess,
  type: Type,
): Promise<Extract<HostNews, { type: Type }>> {
  const signal = AbortSignal.timeout(patience)
  for (;;) {
    const [news] = (await once(child, 'message', { signal })) as [HostNews]
    if (news.type === type) return news as Extract<HostNews, { type: Type }>
  }
}
