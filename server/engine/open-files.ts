import { createHash } from 'node:crypto'
import { closeSync, constants, lstatSync, openSync } from 'node:fs'
import { join } from 'node:path'
import { readIfThere, replaceFile } from '../../runtime/base/files.js'
import { type ActorContext, lastingWorld } from '../../runtime/process/context.js'
import type { World } from '../../runtime/time/world.js'
import { TransportError } from '../../transports/base/errors.js'
import { isFitForSocket, lockAtPath } from '../../transports/shared/local-socket.js'
import { optionError } from '../base/errors.js'
import { FileSessions } from './file-sessions.js'
import { FileTasks } from './file-tasks.js'
import { FileValues } from './file-values.js'
import { checkFolder, makeFolder } from './folder.js'
import type { OpenEngine } from './local-engine.js'

interface FolderSettings {
  readonly path: string
  readonly durable: boolean
  readonly maxBytes: number
  /** Milliseconds that a session lives without use. */
  readonly idleTimeout: number
  readonly maxSessions: number
}

/** What a server has in a folder that it has locked. Rejects with BAD_OPTION. */
export async function openFolder(
  ctx: ActorContext,
  { path, durable, ...settings }: FolderSettings,
): Promise<OpenEngine> {
  const world = lastingWorld(ctx.world)
  return {
    sessions: new FileSessions({ ...settings, folder: makeOwn(join(path, 'sessions')), durable }, world),
    tasks: new FileTasks(makeOwn(join(path, 'tasks')), durable, world),
    values: new FileValues(join(path, 'values'), durable, world),
    secrets: [await secretIn(path, world)],
  }
}

/** One server at a time has a folder. Rejects with BAD_OPTION. */
export async function lockFolder(folder: string, ctx: ActorContext): Promise<void> {
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

function makeOwn(folder: string): string {
  const path = makeFolder(folder)
  checkFolder(folder, false)
  return path
}
