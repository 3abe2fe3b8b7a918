import {
  chmodSync,
  linkSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  renameSync,
  rmSync,
  type Stats,
} from 'node:fs'
import type { Server } from 'node:net'
import { dirname, isAbsolute, join } from 'node:path'
import { messageOf } from '../../runtime/base/errors.js'
import { TransportError } from '../base/errors.js'
import { badOption, type Read, readText } from '../base/read-option.js'
import type { LinkScope } from '../contract/contract.js'

/** Milliseconds after which a socket that neither takes nor refuses a connection counts as live. */
const probeTimeout = 1_000

/**
 * Has a server listen on a Unix domain socket that only its user may reach (mode 0600 from the first moment),
 * or on a pipe of Windows. When `scope` ends, the file is removed. A missing folder is made, for its user
 * alone. The socket of a dead process is replaced. Rejects with TransportError LISTEN_FAILED when another
 * program listens there, or when there is something else at that path.
 */
export async function listenAtPath(server: Server, path: string, scope: LinkScope): Promise<void> {
  try {
    if (isPipeName(path)) await listen(server, path)
    else await listenOnFile(server, path, scope)
  } catch (cause) {
    if (cause instanceof TransportError) throw cause
    if (codeOf(cause) === 'EADDRINUSE') throw taken(path)
    throw new TransportError('LISTEN_FAILED', `cannot listen at ${path}: ${messageOf(cause)}`, { cause })
  }
}

/**
 * A lock that the system frees when the program ends, however that is: listens at a path until `scope` ends, and
 * keeps no program alive. Rejects with TransportError LISTEN_FAILED when it is locked, or cannot be.
 */
export async function lockAtPath(path: string, scope: LinkScope): Promise<void> {
  const server = process.getBuiltinModule('node:net').createServer((socket) => void socket.destroy())
  server.unref()
  scope.own(() => void server.close())
  await listenAtPath(server, path, scope)
}

async function listenOnFile(server: Server, path: string, scope: LinkScope): Promise<void> {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
  const stale = await findStale(path)
  // Made in a folder that no other user can enter, and linked to its place once its mode is right.
  // `join` would make it beside the folder: on another file system, where that is a mount
  const folder = mkdtempSync(`${dirname(path)}/.`)
  try {
    const made = join(folder, 's')
    await listen(server, made)
    chmodSync(made, 0o600)
    if (stale !== undefined) remove(path, stale, scope.world.id())
    linkTo(made, path)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
  const own = lstatSync(path)
  scope.own(() => {
    if (isSame(look(path), own)) rmSync(path, { force: true })
  })
}

function listen(server: Server, path: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen({ path }, () => {
      server.off('error', reject)
      resolve()
    })
  })
}

/** The socket that a dead process has left there; undefined when there is nothing. */
async function findStale(path: string): Promise<Stats | undefined> {
  const found = look(path)
  if (found === undefined) return undefined
  if (!found.isSocket())
    throw new TransportError('LISTEN_FAILED', `cannot listen at ${path}: it is there, and no socket`)
  if (await isLive(path)) throw taken(path)
  return found
}

function isLive(path: string): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const socket = process.getBuiltinModule('node:net').connect(path)
    const finish = (settle: () => void): void => {
      socket.destroy()
      settle()
    }
    socket.setTimeout(probeTimeout, () => finish(() => resolve(true)))
    socket.once('connect', () => finish(() => resolve(true)))
    socket.once('error', (error) =>
      finish(() => {
        const code = codeOf(error)
        if (code === 'ECONNREFUSED' || code === 'ENOENT') resolve(false)
        // its backlog is full
        else if (code === 'EAGAIN') resolve(true)
        else reject(error)
      }),
    )
  })
}

/** Removes a dead socket. Moved away first: another program may listen there by now, and gets it back. */
function remove(path: string, stale: Stats, id: string): void {
  const aside = join(dirname(path), `.${id.slice(0, 8)}`)
  try {
    renameSync(path, aside)
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return
    throw error
  }
  try {
    if (isSame(look(aside), stale)) return
    linkTo(aside, path)
    throw taken(path)
  } finally {
    rmSync(aside, { force: true })
  }
}

/** Links a socket to its path; unlike a rename, that fails where something is already. */
function linkTo(from: string, path: string): void {
  try {
    linkSync(from, path)
  } catch (error) {
    if (codeOf(error) === 'EEXIST') throw taken(path)
    // not every file system has links
    renameSync(from, path)
  }
}

function look(path: string): Stats | undefined {
  return lstatSync(path, { throwIfNoEntry: false })
}

function isSame(found: Stats | undefined, { dev, ino }: Stats): boolean {
  return found?.ino === ino && found.dev === dev
}

function codeOf(error: unknown): unknown {
  return (error as { code?: unknown } | undefined)?.code
}

function taken(path: string): TransportError {
  return new TransportError('LISTEN_FAILED', `cannot listen at ${path}: another program does`)
}

/** Bytes of the path of a Unix socket on every system (macOS: 104, with the NUL at its end). */
const maxPathBytes = 103
/** What is added to the folder while a socket is made. */
const spareBytes = '/.abcdef/s'.length

/** Whether this is the name of a pipe of Windows, which is no file. */
export function isPipeName(path: string): boolean {
  return /^\\\\[.?]\\pipe\\./.test(path)
}

/** Whether a socket of a Unix can be made at a path. */
export function isFitForSocket(path: string): boolean {
  const bytes = Math.max(Buffer.byteLength(path), Buffer.byteLength(dirname(path)) + spareBytes)
  return bytes <= maxPathBytes
}

/** Where a local socket is: an absolute path, on Windows the name of a pipe (`\\.\pipe\name`). */
export const readSocketPath: Read<string> = (value, field) => {
  const path = readText(value, field)
  if (process.platform === 'win32') {
    if (isPipeName(path)) return path
    throw badOption(field, 'the name of a pipe, \\\\.\\pipe\\name', path)
  }
  if (!isAbsolute(path)) throw badOption(field, 'an absolute path', path)
  if (isFitForSocket(path)) return path
  throw badOption(field, `a path of at most ${maxPathBytes} bytes, as systems have it for sockets`, path)
}
