import { type ChildProcessByStdio, spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import type { Readable, Writable } from 'node:stream'
import { TransportError } from './errors.js'
import type { StdioSettings } from './stdio-client-options.js'

/** A server process with its three pipes. */
export type ServerProcess = ChildProcessByStdio<Writable, Readable, Readable>

/** Why a server could not be started, and whether trying again is of no use. */
export interface SpawnFailure {
  readonly error: TransportError
  readonly fatal: boolean
}

const posix = process.platform !== 'win32'

/**
 * Starts a server as the leader of a process group of its own, so that what it starts can be ended with it. Most failures are told
 * by its `error` event; those that Node finds at once (too long a command line) throw SPAWN_FAILED.
 */
export function spawnServer(settings: StdioSettings): ServerProcess {
  const { command, args, env, cwd } = settings
  try {
    return spawn(command, args, {
      env,
      shell: false,
      detached: posix,
      windowsHide: true,
      stdio: ['pipe', 'pipe', 'pipe'],
      ...(cwd === undefined ? {} : { cwd }),
    })
  } catch (error) {
    throw explainSpawnError(error as NodeJS.ErrnoException, settings).error
  }
}

/** Sends a signal to a server and everything it started; harmless when nobody is left. */
export function signalGroup(child: ServerProcess, signal: NodeJS.Signals): void {
  if (child.pid === undefined) return
  try {
    if (posix) process.kill(-child.pid, signal)
    else child.kill(signal)
  } catch {
    // ESRCH: the group has ended; EPERM: only the dead are left in it, which macOS says so
  }
}

/** Whether anything of the group is left (the dead that nobody waited for count). */
export function groupLives(child: ServerProcess): boolean {
  if (child.pid === undefined || !posix) return false
  try {
    process.kill(-child.pid, 0)
    return true
  } catch {
    return false
  }
}

/** Explains the `error` event of a child process that was never there. */
export function explainSpawnError(
  cause: NodeJS.ErrnoException,
  { command, env, cwd }: StdioSettings,
): SpawnFailure {
  const folder = cwd ?? process.cwd()
  const data = { command, path: env.PATH, cwd: folder }
  if (cause.code === 'ENOENT' && !existsSync(folder)) {
    return {
      error: new TransportError('SPAWN_FAILED', `cwd: the folder ${folder} does not exist`, { cause, data }),
      fatal: true,
    }
  }
  if (cause.code === 'ENOENT') {
    const message = `command not found: ${command} (PATH: ${env.PATH ?? 'not set'}, cwd: ${folder})`
    return { error: new TransportError('COMMAND_NOT_FOUND', message, { cause, data }), fatal: true }
  }
  // Too many open files or processes pass; anything else (no permission, no program format) does not.
  const passing = ['EAGAIN', 'EMFILE', 'ENFILE', 'ENOMEM'].includes(cause.code ?? '')
  const error = new TransportError('SPAWN_FAILED', `${command} could not be started: ${cause.message}`, {
    cause,
    data,
    retryable: passing,
  })
  return { error, fatal: !passing }
}
