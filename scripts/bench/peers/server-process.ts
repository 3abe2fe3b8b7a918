import { type ChildProcess, spawn } from 'node:child_process'
import type { Readable, Writable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import { within } from './measure.js'

const program = fileURLToPath(new URL('./serve.js', import.meta.url))
const patience = 10_000
/** Milliseconds a server has to end in an orderly way; it is killed after that. */
const endTime = 3_000

/** How a server is started. */
export interface ServerStart {
  /** The URL of the contender's module. */
  readonly module: string
  readonly transport: 'http' | 'modern' | 'stdio'
  /** Tools besides `echo`. */
  readonly more?: number
  /** Where its CPU profile goes, if one is wanted. */
  readonly profiles?: string | undefined
}

/** One server in a process of its own. */
export class ServerProcess {
  readonly #child: ChildProcess
  readonly #exited: Promise<void>
  #complaints = ''

  constructor(child: ChildProcess) {
    this.#child = child
    this.#exited = new Promise((resolve) => child.once('exit', () => resolve()))
    child.stderr?.on('data', (chunk) => {
      this.#complaints = `${this.#complaints}${chunk}`.slice(-2_000)
    })
    // what is written to a server that has ended shows in what is missing from it
    child.stdin?.on('error', () => {})
  }

  get input(): Writable {
    if (this.#child.stdin === null) throw new Error('the server was started without a pipe')
    return this.#child.stdin
  }

  get output(): Readable {
    if (this.#child.stdout === null) throw new Error('the server was started without a pipe')
    return this.#child.stdout
  }

  /** Resolves with its port when it serves; undefined on standard input and output. */
  async ready(): Promise<number | undefined> {
    const { ready } = await this.#hear<{ ready: { port?: number } }>('ready')
    return ready.port
  }

  /** Microseconds of CPU the process has used in all its threads. */
  async cpuMicros(): Promise<number> {
    const heard = this.#hear<{ cpu: NodeJS.CpuUsage }>('cpu')
    this.#child.send('cpu')
    const { user, system } = (await heard).cpu
    return user + system
  }

  /** Ends it, by force where that has to be. */
  async end(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return
    // an orderly end, as a profiler needs it to write its file
    if (this.#child.connected) this.#child.send('end')
    else this.#child.kill('SIGKILL')
    await within(this.#exited, endTime, 'the end of the server').catch(() => this.#child.kill('SIGKILL'))
    await this.#exited
  }

  /** Rejects when the process ends. */
  async diesEarly(): Promise<never> {
    await this.#exited
    throw new Error(`the server has ended: ${this.#complaints.trim() || 'without a word'}`)
  }

  #hear<News extends object>(topic: string): Promise<News> {
    const heard = new Promise<News>((resolve) => {
      const listen = (news: News): void => {
        if (!(topic in news)) return
        this.#child.off('message', listen)
        resolve(news)
      }
      this.#child.on('message', listen)
    })
    return within(Promise.race([heard, this.diesEarly()]), patience, `"${topic}" of the server`)
  }
}

/** Starts a server that can be asked for its CPU. */
export function startServerProcess({ module, transport, more = 0, profiles }: ServerStart): ServerProcess {
  const profiling =
    profiles === undefined ? [] : ['--cpu-prof', '--cpu-prof-interval', '250', '--cpu-prof-dir', profiles]
  const pipe = transport === 'stdio' ? 'pipe' : 'ignore'
  const args = [...profiling, program, module, transport, String(more)]
  return new ServerProcess(spawn(process.execPath, args, { stdio: [pipe, pipe, 'pipe', 'ipc'] }))
}

/** Starts a server that is nothing but a child with pipes. */
export function startBare(module: string): ServerProcess {
  return new ServerProcess(spawn(process.execPath, [program, module, 'stdio'], { stdio: 'pipe' }))
}
