import { createHash } from 'node:crypto'
import { link, mkdir, rename, stat, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { isObject, type JsonObject } from '../../protocol/wire/json.js'
import { ifThere, readIfThere, replaceFile, strangersIn, unlinkIfThere } from '../../runtime/base/files.js'
import { waitWithin } from '../../runtime/time/wait.js'
import { systemWorld } from '../../runtime/time/world.js'
import { authFailed } from './failure.js'
import type { AuthStorage } from './storage.js'
import { bad, readText } from '../base/read-options.js'

/** Ms between attempts to take a lock. */
const lookEvery = 50
/** Ms between signs of life of a holder. */
const beatEvery = 5_000
/** Ms of silence after which a holder counts as dead. */
const deadAfter = 30_000

/**
 * A storage in one folder, for all programs of one user. Files have mode 0600 below 0700 and are replaced in
 * one step. Locks of dead processes are taken over after 30 s. The first write makes the folder; on Windows
 * its own rights protect it. A folder that is a link or somebody else's, or that others may write to, is
 * AUTHORIZATION_FAILED at its first use. Throws BAD_OPTION.
 */
export function fileAuthStorage(folder: string): AuthStorage {
  if (readText(folder, 'folder').includes('\0')) throw bad('folder', 'a path', folder)
  const nameOf = (key: string): string => createHash('sha256').update(key).digest('hex')
  return Object.freeze({
    async read(key: string) {
      await ifThere(async () => checkFolder(folder))
      return readValue(join(folder, `${nameOf(key)}.json`), key)
    },
    async write(key: string, value: JsonObject | undefined) {
      const name = `${nameOf(key)}.json`
      await makeFolder(folder)
      if (value === undefined) return unlinkIfThere(join(folder, name))
      await replaceFile(folder, name, JSON.stringify({ key, value }), { durable: true, id: systemWorld.id })
    },
    async exclusive<T>(key: string, work: () => Promise<T>, signal: AbortSignal): Promise<T> {
      await makeFolder(folder)
      const release = await lockFile(join(folder, `${nameOf(key)}.lock`), signal)
      try {
        return await work()
      } finally {
        await release()
      }
    },
  })
}

async function makeFolder(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o700 })
  checkFolder(folder)
}

/** Whoever owns the folder, or may write to it, says which tokens are sent. Throws ENOENT, too. */
function checkFolder(folder: string): void {
  const problem = strangersIn(folder)
  if (problem !== undefined)
    throw authFailed(
      `${folder} ${problem}: mend its permissions, or give another folder: no tokens are kept in it`,
    )
}

/** An unreadable file counts as none: signing in mends it. */
async function readValue(path: string, key: string): Promise<JsonObject | undefined> {
  const text = await textIfThere(path)
  if (text === undefined) return undefined
  try {
    const entry: unknown = JSON.parse(text)
    return isObject(entry) && entry.key === key && isObject(entry.value) ? entry.value : undefined
  } catch {
    return undefined
  }
}

/**
 * Waits for the lock at a path; the returned function releases it. Time is that of this machine, as of its
 * files: other processes go by it, too.
 */
export async function lockFile(path: string, signal: AbortSignal): Promise<() => Promise<void>> {
  const mine = systemWorld.id()
  while (!(await tryLock(path, mine))) {
    await removeIfDead(path)
    await waitWithin<void>({ clock: systemWorld, ms: lookEvery, late: () => {}, signal }, () => undefined)
  }
  const stopBeating = beat(path)
  return async () => {
    stopBeating()
    if ((await textIfThere(path)) === mine) await unlinkIfThere(path)
  }
}

/** Shows that the holder lives, until the returned function is called; that alone does not hold the program. */
function beat(path: string): () => void {
  const next = (): unknown => {
    const timer = systemWorld.setTimeout(() => {
      const now = new Date(systemWorld.date())
      utimes(path, now, now).catch(() => {}) // another process has taken it over: it took us for dead
      due = next()
    }, beatEvery)
    ;(timer as NodeJS.Timeout).unref()
    return timer
  }
  let due = next()
  return () => systemWorld.clearTimeout(due)
}

/** A link appears in one step with its content; a new file does not. */
async function tryLock(path: string, mine: string): Promise<boolean> {
  const own = `${path}.${mine}`
  try {
    await writeFile(own, mine, { flag: 'wx', mode: 0o600 })
    await link(own, path)
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false
    throw error
  } finally {
    await unlinkIfThere(own)
  }
}

/** Renames a dead lock before it removes it: if another process has a new lock by then, that is put back. */
async function removeIfDead(path: string): Promise<void> {
  const found = await stat(path).catch(() => undefined)
  // a holder writes the time of its clock, which may go back meanwhile: only a dead one's stays ahead
  if (found === undefined || Math.abs(systemWorld.date() - found.mtimeMs) < deadAfter) return
  const aside = `${path}.${systemWorld.id()}.dead`
  try {
    await rename(path, aside)
  } catch {
    return // another process was first
  }
  const moved = await stat(aside).catch(() => undefined)
  if (moved !== undefined && moved.ino !== found.ino) await link(aside, path).catch(() => {})
  await unlinkIfThere(aside)
}

/** Rejects, naming the path, for what is no regular file: a pipe would never be read to its end. */
async function textIfThere(path: string): Promise<string | undefined> {
  return (await readIfThere(path))?.bytes.toString('utf8')
}
