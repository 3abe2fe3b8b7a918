import type { ChildProcess } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import type { Worker } from 'node:worker_threads'
import { messageOf, RuntimeError } from '../base/errors.js'
import { outside } from '../faults/containment.js'
import { unblockStandardError } from '../faults/standard-error.js'
import {
  type BorderMessage,
  copyAsProcess,
  copyAsThread,
  isOurs,
  type Socket,
  type Wire,
} from './messages.js'
import { boot, type PeerSettings } from './options.js'

interface PeerEvents {
  message(message: BorderMessage): void
  /** The thread or process has ended; once. */
  gone(error: RuntimeError): void
}

/** A thread or process of ours, and the way to it. */
export interface Connection extends Wire {
  /** The number of the process or thread. */
  readonly id: number | undefined
  /** The bytes it uses, as seen from here, whatever it does; undefined where the system does not say. */
  memory(): Promise<number | undefined>
  /** Ends it at once, whatever it does: SIGKILL, or `terminate`, which native code makes wait. */
  kill(): void
  /** Resolved when it has ended. */
  readonly ended: Promise<void>
}

/** Starts the thread or process of a peer. */
export function connect(settings: PeerSettings, events: PeerEvents): Connection {
  // a thread cannot
  unblockStandardError()
  return outside(() =>
    settings.kind === 'thread' ? openThread(settings, events) : openProcess(settings, events),
  )
}

const mebibyte = 2 ** 20
const standardError = 2
/**
 * Mebibytes that the heap of a thread may take beyond its memory, where it is seen from here and ended first:
 * V8 now and then ends the whole program when a thread comes to the end of its heap.
 */
const leeway = 512
/** Sockets that may be on their way to a process at once. */
const mostGiven = 1_024

function openThread({ name, env, memory, execArgv }: PeerSettings, events: PeerEvents): Connection {
  const { Worker } = process.getBuiltinModule('node:worker_threads')
  const isSeen = 'getHeapStatistics' in Worker.prototype
  const worker = new Worker(boot, {
    name,
    workerData: { caduceus: 'peer' },
    ...(env === undefined ? {} : { env: { ...process.env, ...env } }),
    ...(execArgv === undefined && !runsText() ? {} : { execArgv: [...(execArgv ?? [])] }),
    ...(memory === undefined
      ? {}
      : { resourceLimits: { maxOldGenerationSizeMb: Math.ceil(memory / mebibyte) + (isSeen ? leeway : 0) } }),
  })
  let failure: unknown
  worker.on('message', (message: unknown) => {
    if (isOurs(message)) events.message(message)
  })
  worker.on('messageerror', (error) => {
    failure = error
    void worker.terminate()
  })
  worker.on('error', (error) => {
    failure = error
  })
  const ended = new Promise<void>((resolve) => {
    worker.on('exit', (code) => {
      resolve()
      events.gone(goneError(name, 'thread', { code }, failure))
    })
  })
  return {
    id: worker.threadId,
    post: (message) => worker.postMessage(message),
    copy: copyAsThread,
    memory: () => memoryOf(worker),
    kill: () => void worker.terminate(),
    ended,
  }
}

function openProcess({ name, env, memory, execArgv }: PeerSettings, events: PeerEvents): Connection {
  const limit =
    memory === undefined ? [] : [`--max-old-space-size=${Math.max(1, Math.ceil(memory / mebibyte))}`]
  const { fork } = process.getBuiltinModule('node:child_process')
  const child: ChildProcess = fork(fileURLToPath(boot), ['caduceus-peer', name], {
    serialization: 'advanced',
    env: { ...process.env, ...env },
    // standard output may be a protocol's
    stdio: ['ignore', standardError, standardError, 'ipc'],
    execArgv: [...(execArgv ?? inherited(process.execArgv)), ...limit],
  })
  let failure: unknown
  const given = new Map<number, Socket>()
  const letGo = (last: number): void => {
    for (const [id, socket] of given) {
      if (id > last) return
      given.delete(id)
      socket.destroy()
    }
  }
  child.on('message', (message: unknown) => {
    if (!isOurs(message)) return
    if (message.type === 'given') letGo(message.id)
    else events.message(message)
  })
  child.on('error', (error) => {
    failure = error
  })
  const ended = new Promise<void>((resolve) => {
    let over = false
    const end = (code: number | null, signal: string | null): void => {
      if (over) return
      over = true
      resolve()
      letGo(Number.POSITIVE_INFINITY)
      events.gone(goneError(name, 'process', { code, signal }, failure))
    }
    child.once('exit', end)
    // it could not be started: there is no exit
    child.once('error', () => {
      if (child.pid === undefined) end(null, null)
    })
  })
  return {
    id: child.pid,
    copy: copyAsProcess,
    post(message) {
      // a channel that is closed, or breaks, is followed by the end
      if (child.connected) child.send(message, ignore)
    },
    memory: async () => (child.pid === undefined ? undefined : residentMemory(child.pid)),
    give(message, socket) {
      if (!child.connected || socket.destroyed || given.size >= mostGiven) return false
      // Kept open until it has arrived: Node forgets it when the process ends before. A server that counted
      // what it gave away would wait for that process when it closes.
      Object.assign(socket, { server: undefined })
      child.send(message, socket, { keepOpen: true }, ignore)
      given.set(message.id, socket)
      return true
    },
    kill: () => void child.kill('SIGKILL'),
    ended,
  }
}

/** A thread that inherits the arguments of such a program runs no module. */
function runsText(): boolean {
  return process.execArgv.some((arg) => arg.startsWith('--input-type'))
}

/**
 * Arguments of node without those that would run this program again, or wait for a debugger; as Node does,
 * which only knows of `--eval`.
 */
function inherited(execArgv: readonly string[]): string[] {
  const kept: string[] = []
  for (let i = 0; i < execArgv.length; i++) {
    const arg = execArgv[i] as string
    if (/^(-e|-p|-pe|--eval|--print)$/.test(arg)) i += 1
    else if (!/^--(eval|print|input-type|inspect[\w-]*|watch[\w-]*|test[\w-]*)(=|$)/.test(arg)) kept.push(arg)
  }
  return kept
}

/** Heap and Buffers, also of a thread that spins; Node 20 cannot tell. */
async function memoryOf(worker: Worker & Partial<HeapTeller>): Promise<number | undefined> {
  const heap = await worker.getHeapStatistics?.()
  return heap === undefined ? undefined : heap.used_heap_size + heap.external_memory
}

interface HeapTeller {
  getHeapStatistics(): Promise<{ readonly used_heap_size: number; readonly external_memory: number }>
}

/** What a process of this machine has in memory; undefined where there is no `/proc`. */
async function residentMemory(pid: number): Promise<number | undefined> {
  const status = await readFile(`/proc/${pid}/status`, 'latin1')
  const kibibytes = /^VmRSS:\s*(\d+) kB$/m.exec(status)?.[1]
  return kibibytes === undefined ? undefined : Number(kibibytes) * 1_024
}

function goneError(
  name: string,
  kind: PeerSettings['kind'],
  facts: { code: number | null; signal?: string | null },
  cause: unknown,
): RuntimeError {
  const how =
    facts.signal != null
      ? `ended by ${facts.signal}`
      : facts.code === null
        ? `could not be started: ${messageOf(cause)}`
        : `ended with exit code ${facts.code}`
  const why = isOutOfMemory(cause) ? ': it needed more memory than it may have' : ''
  return new RuntimeError('NOCONNECTION', `peer ${name}: its ${kind} ${how}${why}`, {
    retryable: true,
    data: { peer: name, kind, ...facts, why: why === '' ? 'ended' : 'memory' },
    ...(cause === undefined ? {} : { cause }),
  })
}

function isOutOfMemory(error: unknown): boolean {
  return (error as NodeJS.ErrnoException | undefined)?.code === 'ERR_WORKER_OUT_OF_MEMORY'
}

function ignore(): void {}
