import { createHash } from 'node:crypto'
import { link, mkdir, readFile, readlink, rename, stat, utimes, writeFile } from 'node:fs/promises'
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
/** Ms of silence after which a holder counts as dead; one that has ended on this machine is dead at once. */
const deadAfter = 30_000

/**
 * A storage in one folder, for all programs of one user. Files have mode 0600 below 0700 and are replaced in
 * one step. Locks of dead processes are taken over: at once on Linux, else after 30 s. The first write makes
 * the folder; on Windows its own rights protect it. A folder that is a link or somebody else's, or that others
 * may write to, is AUTHORIZATION_FAILED at its first use. Throws BAD_OPTION.
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
  const id = systemWorld.id()
  const place = await placeOf()
  const mine = place === undefined ? id : `${id} ${process.pid} ${place}`
  while (!(await tryLock(path, id, mine))) {
    await removeIfDead(path, place)
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
async function tryLock(path: string, id: string, mine: string): Promise<boolean> {
  const own = `${path}.${id}`
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

/** Where a pid means a process: this start of the machine, and its container. Undefined where nobody says. */
async function placeOf(): Promise<string | undefined> {
  try {
    const boot = await readFile('/proc/sys/kernel/random/boot_id', 'utf8')
    return `${boot.trim()} ${await readlink('/proc/self/ns/pid')}`
  } catch {
    return undefined
  }
}

/** Whether who has written that has ended, as far as this process can see. */
function hasEnded(text: string | undefined, place: string | undefined): boolean {
  const [, pid, of] = /^\S+ (\d+) (.*)$/.exec(text ?? '') ?? []
  if (of === undefined || of !== place) return false
  try {
    process.kill(Number(pid), 0)
    return false
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ESRCH'
  }
}

/** Renames a dead lock before it removes it: if another process has a new lock by then, that is put back. */
async function removeIfDead(path: string, place: string | undefined): Promise<void> {
  const found = await stat(path).catch(() => undefined)
  if (found === undefined) return
  // a holder writes the time of its clock, which may go back meanwhile: only a dead one's stays ahead
  const isSilent = Math.abs(systemWorld.date() - found.mtimeMs) >= deadAfter
  const text = await textIfThere(path)
  if (!isSilent && !hasEnded(text, place)) return
  const aside = `${path}.${systemWorld.id()}.dead`
  try {
    await rename(path, aside)
  } catch {
    return // another process was first
  }
  // another one may have the number of a file that is gone
  if ((await textIfThere(aside)) !== text) await link(aside, path).catch(() => {})
  await unlinkIfThere(aside)
}

/** Rejects, naming the path, for what is no regular file: a pipe would never be read to its end. */
async function textIfThere(path: string): Promise<string | undefined> {
  return (await readIfThere(path))?.bytes.toString('utf8')
}
