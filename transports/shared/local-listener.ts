import { randomUUID } from 'node:crypto'
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
import { connect, type Server } from 'node:net'
import { dirname, join } from 'node:path'
import { messageOf } from '../../runtime/base/errors.js'
import type { LinkScope } from '../contract/contract.js'
import { TransportError } from '../base/errors.js'
import { isPipeName } from './local-path.js'

/**
 * Milliseconds after which a socket that neither takes nor refuses a connection counts as one that somebody
 * listens on.
 */
const probeTimeout = 1_000

/**
 * Has a server listen on a Unix domain socket that its user alone may reach (mode 0600 from its first
 * moment), or on a pipe of Windows, until `scope` ends: then the file is removed. A folder that is not there
 * is made, for its user alone. The socket of a process that died is replaced. Rejects with TransportError
 * LISTEN_FAILED when somebody listens there, or when there is something else at that path.
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

async function listenOnFile(server: Server, path: string, scope: LinkScope): Promise<void> {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
  const stale = await findStale(path)
  // Made where nobody else can look, and moved once it is what it should be.
  const nursery = mkdtempSync(join(dirname(path), '.'))
  try {
    const born = join(nursery, 's')
    await listen(server, born)
    chmodSync(born, 0o600)
    if (stale !== undefined) bury(path, stale)
    place(born, path)
  } finally {
    rmSync(nursery, { recursive: true, force: true })
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

/** What a dead process has left there; undefined for nothing. */
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
    const socket = connect(path)
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
        // too many wait already to be let in
        else if (code === 'EAGAIN') resolve(true)
        else reject(error)
      }),
    )
  })
}

/**
 * Moved away before it is removed: of two that find it dead, one may listen there by then, and gets its place
 * back.
 */
function bury(path: string, stale: Stats): void {
  const grave = join(dirname(path), `.${randomUUID().slice(0, 8)}`)
  try {
    renameSync(path, grave)
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return
    throw error
  }
  try {
    if (isSame(look(grave), stale)) return
    place(grave, path)
    throw taken(path)
  } finally {
    rmSync(grave, { force: true })
  }
}

/** A link is refused where something is already, which a rename would replace. */
function place(from: string, path: string): void {
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
