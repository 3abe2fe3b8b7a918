import { createHash } from 'node:crypto'
import { accessSync, constants, mkdirSync, realpathSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { readIfThere, replaceFile } from '../../runtime/base/files.js'
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
          { ...limits, folder: makeFolder(join(path, 'sessions')), durable, maxBytes },
          world,
        ),
        tasks: new FileTasks(makeFolder(join(path, 'tasks')), durable, world),
        secrets: [await secretIn(path, world)],
      }
      return open
    },
  })
}

/** One server at a time has a folder. Rejects with BAD_OPTION. */
async function lock(folder: string, ctx: ActorContext): Promise<void> {
  try {
    await lockAtPath(lockPath(folder), ctx)
  } catch (cause) {
    if (!(cause instanceof TransportError)) throw cause
    const remedy = 'give each server a folder of its own, or one server several processes, or use redis()'
    throw optionError('folder', `files: folder: ${folder} is locked (${cause.message}): ${remedy}`, cause)
  }
}

/** Beside what it locks, or elsewhere where the path is longer than a socket may have. */
function lockPath(folder: string): string {
  const path = join(folder, 'lock')
  if (process.platform !== 'win32' && isFitForSocket(path)) return path
  const name = `caduceus-${createHash('sha256').update(realpathSync(folder)).digest('hex').slice(0, 32)}`
  return process.platform === 'win32' ? `\\\\.\\pipe\\${name}` : join(tmpdir(), name)
}

const secretBytes = 32

/** The secret of a folder: what an earlier program has sealed, the next one opens. */
async function secretIn(folder: string, { id, randomBytes }: World): Promise<Uint8Array> {
  const found = await readIfThere(join(folder, 'secret'))
  if (found?.bytes.length === secretBytes) return found.bytes
  const secret = randomBytes(secretBytes)
  await replaceFile(folder, 'secret', secret, { durable: true, id })
  return secret
}

/** Made at once: a wrong folder fails the start of the program, not its first session. */
function makeFolder(folder: string): string {
  const path = resolve(folder)
  try {
    mkdirSync(path, { recursive: true, mode: 0o700 })
    accessSync(path, constants.R_OK | constants.W_OK | constants.X_OK)
    return path
  } catch (cause) {
    const problem = `files: folder: expected one that can be made, read and written, got ${show(folder)}`
    throw optionError('folder', problem, cause)
  }
}
