import type { ChildProcessByStdio } from 'node:child_process'
import { accessSync, constants, existsSync, readFileSync, statSync } from 'node:fs'
import { resolve } from 'node:path'
import type { Readable, Writable } from 'node:stream'
import { TransportError } from '../base/errors.js'
import { batchFileOf, problemOfArguments, type ShellStart, throughShell } from './batch-file.js'
import type { StdioSettings } from './options.js'

export type ServerProcess = ChildProcessByStdio<Writable, Readable, Readable>

interface SpawnFailure {
  readonly error: TransportError
  readonly fatal: boolean
}

const posix = process.platform !== 'win32'

/** Starts a server as leader of a process group. Most failures emit `error`; others throw SPAWN_FAILED. */
export function spawnServer(settings: StdioSettings): ServerProcess {
  const { env, cwd } = settings
  // not imported: a program without such clients never loads it
  const { spawn } = process.getBuiltinModule('node:child_process')
  try {
    const start = posix ? settings : startOnWindows(settings)
    return spawn(start.command, [...start.args], {
      windowsVerbatimArguments: 'windowsVerbatimArguments' in start,
      env: { ...env }, // Node adds to it, for coverage and permissions
      shell: false,
      detached: posix,
      windowsHide: true,
      stdio: ['pipe', 'pipe', 'pipe'],
      ...(cwd === undefined ? {} : { cwd }),
    })
  } catch (error) {
    if (error instanceof TransportError) throw error
    throw explainSpawnError(error as NodeJS.ErrnoException, settings).error
  }
}

/**
 * A batch file, such as `npx`, in a shell; anything else as it is. Throws SPAWN_FAILED, and errors of the
 * file system.
 */
export function startOnWindows(
  { command, args, env, cwd = process.cwd() }: Pick<StdioSettings, 'command' | 'args' | 'env' | 'cwd'>,
  { exists, read }: Files = { exists: existsSync, read: (file) => readFileSync(file, 'latin1') },
): Pick<StdioSettings, 'command' | 'args'> | ShellStart {
  const file = batchFileOf({ command, path: variableOf(env, 'path'), cwd }, exists)
  if (file === undefined) return { command, args }
  const problem = problemOfArguments(args)
  if (problem !== undefined)
    throw new TransportError('SPAWN_FAILED', `${command} could not be started: ${problem}`, {
      data: { command, cwd },
    })
  return throughShell({ file, args, text: read(file) }, { SystemRoot: variableOf(env, 'systemroot') })
}

interface Files {
  exists(file: string): boolean
  read(file: string): string
}

/** Windows takes no notice of how the names of its variables are written: `Path`. */
function variableOf(env: Readonly<Record<string, string | undefined>>, name: string): string | undefined {
  return Object.entries(env).find(([key]) => key.toLowerCase() === name)?.[1]
}

/** Sends a signal to a server and everything it started; harmless when nobody is left. */
export function signalGroup(child: ServerProcess, signal: NodeJS.Signals): void {
  if (child.pid === undefined) return
  const ending = endingOf(process.platform, child.pid, signal)
  if (ending.type === 'signal') return sendSignal(ending)
  // without groups the id of a process that has ended may be somebody else's by now
  if (child.exitCode !== null || child.signalCode !== null) return
  const { spawn } = process.getBuiltinModule('node:child_process')
  const tool = spawn(ending.command, ending.args, { stdio: 'ignore', windowsHide: true })
  tool.on('error', () => {}).unref()
}

/** Kills a server and everything it started before it returns: there is nothing after it. */
export function killGroupNow({ pid }: ServerProcess): void {
  if (pid === undefined) return
  const ending = endingOf(process.platform, pid, 'SIGKILL')
  if (ending.type === 'signal') return sendSignal(ending)
  const { spawnSync } = process.getBuiltinModule('node:child_process')
  spawnSync(ending.command, ending.args, { stdio: 'ignore', windowsHide: true, timeout: 2_000 })
}

function sendSignal({ pid, signal }: Extract<Ending, { type: 'signal' }>): void {
  try {
    process.kill(pid, signal)
  } catch {
    // ESRCH: the group has ended; EPERM: only the dead are left in it, which macOS says so
  }
}

/** How a process and all it started are told to end. */
type Ending =
  | { readonly type: 'signal'; readonly pid: number; readonly signal: NodeJS.Signals }
  | { readonly type: 'command'; readonly command: string; readonly args: readonly string[] }

/**
 * A signal to the group. Windows has none: there `taskkill /T` finds the descendants, and `/F` stands for
 * SIGKILL. The full path keeps a `taskkill` of the current folder out.
 */
export function endingOf(
  platform: NodeJS.Platform,
  pid: number,
  signal: NodeJS.Signals,
  { SystemRoot = 'C:\\Windows' }: NodeJS.ProcessEnv = process.env,
): Ending {
  if (platform !== 'win32') return { type: 'signal', pid: -pid, signal }
  const force = signal === 'SIGKILL' ? ['/F'] : []
  return {
    type: 'command',
    command: `${SystemRoot}\\System32\\taskkill.exe`,
    args: ['/PID', String(pid), '/T', ...force],
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

export function explainSpawnError(
  cause: NodeJS.ErrnoException,
  { command, env, cwd }: Pick<StdioSettings, 'command' | 'env' | 'cwd'>,
): SpawnFailure {
  const folder = cwd ?? process.cwd()
  const data = { command, path: env.PATH, cwd: folder }
  const wrong = problemOfFolder(folder)
  if (wrong !== undefined) {
    const message = `cwd: the folder ${folder} ${wrong}`
    return { error: new TransportError('SPAWN_FAILED', message, { cause, data }), fatal: true }
  }
  // ENOTDIR: a part of the path is a file
  if (cause.code === 'ENOENT' || cause.code === 'ENOTDIR') {
    const hint = hintFor(command, folder)
    const place = command.includes('/') ? '' : 'not in PATH, '
    const message = `command not found: ${command}${hint} (${place}cwd: ${folder})`
    // a long text, which whoever passes this error on need not say again
    const where = new Error(`${cause.message} (PATH: ${env.PATH ?? 'not set'})`, { cause })
    const details = { cause: where, data: { command, cwd: folder } }
    return { error: new TransportError('COMMAND_NOT_FOUND', message, details), fatal: true }
  }
  // Too many open files or processes pass; anything else (no permission, no program format) does not.
  const passing = ['EAGAIN', 'EMFILE', 'ENFILE', 'ENOMEM'].includes(cause.code ?? '')
  const why = cause.code === 'EACCES' ? reasonOfRefusal(command, folder) : cause.message
  const error = new TransportError('SPAWN_FAILED', `${command} could not be started: ${why}`, {
    cause,
    data,
    retryable: passing,
  })
  return { error, fatal: !passing }
}

function hintFor(command: string, folder: string): string {
  const isThere = (path: string): boolean => path.includes('/') && existsSync(resolve(folder, path))
  if (isThere(command)) return ', the file is there, but not the program that its first line (#!) names'
  const [program = '', ...rest] = command.split(/\s+/)
  const isLine = rest.length > 0 && (!program.includes('/') || isThere(program))
  return isLine ? ', arguments belong in args' : ''
}

/** A command that is looked up in PATH was found there, at whatever place. */
function reasonOfRefusal(command: string, folder: string): string {
  const isFolder = command.includes('/') && problemOfFolder(resolve(folder, command)) === undefined
  return isFolder ? 'it is a folder' : 'it may not be executed (EACCES)'
}

/** What keeps programs from running in a folder, if that is not there, no folder, or closed to us. */
function problemOfFolder(folder: string): string | undefined {
  try {
    if (!statSync(folder).isDirectory()) return 'is a file'
    accessSync(folder, constants.X_OK)
    return undefined
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    return code === 'EACCES' || code === 'EPERM' ? 'may not be entered' : 'does not exist'
  }
}
