import { type ChildProcess, spawn } from 'node:child_process'
import type { Readable, Writable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import type { Stretch } from './drive.js'
import { type ServerOfClient, within } from './measure.js'

const servingProgram = fileURLToPath(new URL('./serve.js', import.meta.url))
const usingProgram = fileURLToPath(new URL('./use.js', import.meta.url))
const patience = 10_000
/** Milliseconds a process has to end in an orderly way; it is killed after that. */
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

/** One server, or one client, in a process of its own that can be asked for its CPU. */
export class MeasuredProcess {
  readonly #child: ChildProcess
  readonly #exited: Promise<void>
  #complaints = ''

  constructor(child: ChildProcess) {
    this.#child = child
    this.#exited = new Promise((resolve) => child.once('exit', () => resolve()))
    child.stderr?.on('data', (chunk) => {
      this.#complaints = `${this.#complaints}${chunk}`.slice(-2_000)
    })
    // what is written to a process that has ended shows in what is missing from it
    child.stdin?.on('error', () => {})
  }

  get input(): Writable {
    if (this.#child.stdin === null) throw new Error('the process was started without a pipe')
    return this.#child.stdin
  }

  get output(): Readable {
    if (this.#child.stdout === null) throw new Error('the process was started without a pipe')
    return this.#child.stdout
  }

  /** Resolves when it serves, with its port, or when it is connected; undefined where there is no port. */
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

  /** Has a client make calls; resolves with how many. */
  async drive(stretch: Stretch): Promise<number> {
    const heard = this.#hear<{ count: number }>('count')
    this.#child.send({ drive: stretch })
    return (await heard).count
  }

  /** Ends it, by force where that has to be. */
  async end(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return
    // an orderly end, as a profiler needs it to write its file
    if (this.#child.connected) this.#child.send('end')
    else this.#child.kill('SIGKILL')
    await within(this.#exited, endTime, 'the end of the process').catch(() => this.#child.kill('SIGKILL'))
    await this.#exited
  }

  /** Rejects when the process ends. */
  async diesEarly(): Promise<never> {
    await this.#exited
    throw new Error(`the process has ended: ${this.#complaints.trim() || 'without a word'}`)
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
    return within(Promise.race([heard, this.diesEarly()]), patience, `"${topic}" of the process`)
  }
}

/** Starts a server that can be asked for its CPU. */
export function startServerProcess({ module, transport, more = 0, profiles }: ServerStart): MeasuredProcess {
  const pipe = transport === 'stdio' ? 'pipe' : 'ignore'
  const args = [...profiling(profiles), servingProgram, module, transport, String(more)]
  return new MeasuredProcess(spawn(process.execPath, args, { stdio: [pipe, pipe, 'pipe', 'ipc'] }))
}

/** Starts a client that connects by itself and makes calls when it is told to. */
export function startClientProcess(
  module: string,
  server: ServerOfClient,
  profiles?: string,
): MeasuredProcess {
  const args = [...profiling(profiles), usingProgram, module, JSON.stringify(server)]
  return new MeasuredProcess(spawn(process.execPath, args, { stdio: ['ignore', 'ignore', 'pipe', 'ipc'] }))
}

/** How a client starts a server on standard input and output. */
export function commandOf(module: string): ServerOfClient {
  return { command: process.execPath, args: [servingProgram, module, 'stdio'] }
}

/** Starts a server that is nothing but a child with pipes. */
export function startBare(module: string): MeasuredProcess {
  return new MeasuredProcess(spawn(process.execPath, [servingProgram, module, 'stdio'], { stdio: 'pipe' }))
}

function profiling(folder: string | undefined): readonly string[] {
  if (folder === undefined) return []
  return ['--cpu-prof', '--cpu-prof-interval', '250', '--cpu-prof-dir', folder]
}
