import { createHash } from 'node:crypto'
import { accessSync, closeSync, constants, lstatSync, mkdirSync, openSync, realpathSync } from 'node:fs'
import { join } from 'node:path'
import { readIfThere, replaceFile, strangersIn } from '../../runtime/base/files.js'
import { show } from '../../runtime/base/errors.js'
import { type ActorContext, lastingWorld } from '../../runtime/process/context.js'
import type { World } from '../../runtime/time/world.js'
import { TransportError } from '../../transports/base/errors.js'
import { isFitForSocket, lockAtPath } from '../../transports/shared/local-socket.js'
import { optionError } from '../base/errors.js'
import { readersOf } from '../base/read-options.js'
import { FileSessions } from './file-sessions.js'
import { FileTasks } from './file-tasks.js'
import { LocalEngine, type OpenEngine } from './local-engine.js'

/** Options of `files()`. */
export interface FilesOptions {
  /** A folder that holds nothing else; it is made if it is missing (mode 0700). */
  readonly folder: string
  /**
   * Whether a save waits for the disk (fsync): what was answered then survives a loss of power, and each save
   * takes as long as the disk. Default false: it survives any end of the program.
   */
  readonly durable?: boolean
  /** Bytes of one session; a larger one is refused with BAD_STATE, which fails the request. Default 1 MiB. */
  readonly maxBytes?: number
}

/**
 * An engine for one program of one machine, and its `processes`: sessions, tasks and the secret that cursors and
 * `requestState` are sealed with are files in a folder, and survive the program, `kill -9` included. A server
 * on a folder that another one has is refused with BAD_OPTION when it starts. Throws ServerError BAD_OPTION, also
 * if the folder cannot be made or written.
 */
export function files(options: FilesOptions): LocalEngine {
  const { badOption, readFields, readFlag, readLimit } = readersOf('files')
  readFields(options, 'options', ['folder', 'durable', 'maxBytes'], '', "files({ folder: './sessions' })")
  const { folder } = options
  if (typeof folder !== 'string' || folder === '') throw badOption('folder', 'the path of a folder', folder)
  const path = makeFolder(folder)
  checkFolder(path, true)
  const durable = readFlag(options.durable, 'durable', false)
  const maxBytes = readLimit(options.maxBytes, 'maxBytes', 1_048_576)
  let open: OpenEngine | undefined
  return new LocalEngine({
    name: `files ${path}`,
    outlives: true,
    async open(ctx, limits) {
      await lock(path, ctx)
      const world = lastingWorld(ctx.world)
      open ??= {
        sessions: new FileSessions(
          { ...limits, folder: makeOwn(join(path, 'sessions')), durable, maxBytes },
          world,
        ),
        tasks: new FileTasks(makeOwn(join(path, 'tasks')), durable, world),
        secrets: [await secretIn(path, world)],
      }
      return open
    },
  })
}

/** One server at a time has a folder. Rejects with BAD_OPTION. */
async function lock(folder: string, ctx: ActorContext): Promise<void> {
  try {
    await lockAtPath(lockPath(folder, ctx), ctx)
  } catch (cause) {
    if (!(cause instanceof TransportError)) throw cause
    const remedy = 'give each server a folder of its own, or one server several processes, or use redis()'
    throw optionError('folder', `files: folder: ${folder} is locked (${cause.message}): ${remedy}`, cause)
  }
}

/** Within what it locks, so that all who reach the folder meet there, whatever they call it. */
function lockPath(folder: string, ctx: ActorContext): string {
  const path = join(folder, 'lock')
  if (process.platform === 'win32') {
    const name = createHash('sha256').update(folder).digest('hex').slice(0, 32)
    return `\\\\.\\pipe\\caduceus-${name}`
  }
  if (isFitForSocket(path)) return path
  if (process.platform !== 'linux')
    throw optionError('folder', `files: folder: expected a shorter path, as its lock is a socket: ${folder}`)
  const descriptor = openSync(folder, constants.O_RDONLY | constants.O_DIRECTORY)
  ctx.own(() => closeSync(descriptor))
  return `/proc/self/fd/${descriptor}/lock`
}

const secretBytes = 32

/** The secret of a folder: what an earlier program has sealed, the next one opens. Rejects with BAD_OPTION. */
async function secretIn(folder: string, { id, randomBytes }: World): Promise<Uint8Array> {
  const path = join(folder, 'secret')
  const found = await readIfThere(path)
  if (found?.bytes.length === secretBytes) {
    const { uid, mode } = lstatSync(path)
    const own = process.geteuid?.() ?? uid
    if (uid === own && (process.platform === 'win32' || (mode & 0o077) === 0)) return found.bytes
    throw optionError('folder', `files: folder: ${path} is somebody else's, or others may read it`)
  }
  const secret = randomBytes(secretBytes)
  await replaceFile(folder, 'secret', secret, { durable: true, id })
  return secret
}

/**
 * Made at once: a wrong folder fails the start of the program, not its first session. Answers its real path.
 * Throws BAD_OPTION.
 */
function makeFolder(folder: string): string {
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    accessSync(folder, constants.R_OK | constants.W_OK | constants.X_OK)
    return realpathSync(folder)
  } catch (cause) {
    const problem = `files: folder: expected one that can be made, read and written, got ${show(folder)}`
    throw optionError('folder', problem, cause)
  }
}

/** What lies there decides who is who. Throws BAD_OPTION for a folder that others have a say in. */
function checkFolder(folder: string, isRoot: boolean): void {
  const { uid, mode } = lstatSync(folder)
  // a volume that an administrator has given to a group
  if (isRoot && uid === 0 && (mode & 0o002) === 0) return
  const problem = strangersIn(folder)
  if (problem !== undefined) throw optionError('folder', `files: folder: ${folder} ${problem}`)
}

function makeOwn(folder: string): string {
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  checkFolder(folder, false)
  return folder
}
