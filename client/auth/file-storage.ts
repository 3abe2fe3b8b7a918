import { createHash, randomUUID } from 'node:crypto'
import { link, mkdir, open, readFile, rename, stat, unlink, utimes } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { isObject, type JsonObject } from '../../protocol/wire/json.js'
import type { AuthStorage } from './storage.js'
import { readText } from '../base/read-options.js'

/** Milliseconds between looks at a lock that somebody else has. */
const lookEvery = 50
/** Milliseconds between signs of life of whoever has a lock. */
const beatEvery = 5_000
/** Milliseconds without one after which the holder counts as dead. */
const deadAfter = 30_000

/**
 * A storage in files of one folder, which all programs of one user may share: mode 0600 below 0700, each
 * replaced in one step, so that whoever reads finds the old value or the new one. A lock of a process that
 * died is taken over after 30 s. Throws BAD_OPTION. The folder is made when it is first written to; on
 * Windows its own rights are what protects it.
 */
export function fileAuthStorage(folder: string): AuthStorage {
  readText(folder, 'folder')
  const pathOf = (key: string): string => join(folder, createHash('sha256').update(key).digest('hex'))
  return Object.freeze({
    read: (key: string) => readValue(`${pathOf(key)}.json`, key),
    async write(key: string, value: JsonObject | undefined) {
      const path = `${pathOf(key)}.json`
      if (value === undefined) return removeIfThere(path)
      await mkdir(folder, { recursive: true, mode: 0o700 })
      await replace(path, JSON.stringify({ key, value }))
    },
    async exclusive<T>(key: string, work: () => Promise<T>, signal: AbortSignal): Promise<T> {
      await mkdir(folder, { recursive: true, mode: 0o700 })
      const release = await lock(`${pathOf(key)}.lock`, signal)
      try {
        return await work()
      } finally {
        await release()
      }
    },
  })
}

/** A file that cannot be understood counts as none: signing in again mends it. */
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

async function replace(path: string, text: string): Promise<void> {
  const temporary = `${path}.${randomUUID()}.tmp`
  try {
    const file = await open(temporary, 'wx', 0o600)
    try {
      await file.writeFile(text)
      await file.sync()
    } finally {
      await file.close()
    }
    await rename(temporary, path)
  } catch (error) {
    await removeIfThere(temporary).catch(() => {}) // what went wrong before is what counts
    throw error
  }
}

/** Takes the lock as soon as it is free; the function that is answered gives it back. */
async function lock(path: string, signal: AbortSignal): Promise<() => Promise<void>> {
  const mine = randomUUID()
  while (!(await tryLock(path, mine))) {
    await buryIfDead(path)
    await pause(lookEvery, undefined, { signal })
  }
  const beat = setInterval(() => {
    const now = new Date()
    utimes(path, now, now).catch(() => {}) // taken over, if we were thought dead
  }, beatEvery)
  beat.unref()
  return async () => {
    clearInterval(beat)
    if ((await textIfThere(path)) === mine) await removeIfThere(path)
  }
}

/** A link is made in one step and with its content, which a new file is not. */
async function tryLock(path: string, mine: string): Promise<boolean> {
  const own = `${path}.${mine}`
  await replace(own, mine)
  try {
    await link(own, path)
    return true
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return false
    throw error
  } finally {
    await removeIfThere(own)
  }
}

/**
 * Moved away before it is removed: of two who find it dead, one may have a new lock by then, which is put
 * back.
 */
async function buryIfDead(path: string): Promise<void> {
  const found = await stat(path).catch(() => undefined)
  if (found === undefined || Date.now() - found.mtimeMs < deadAfter) return
  const grave = `${path}.${randomUUID()}.dead`
  try {
    await rename(path, grave)
  } catch {
    return // somebody else was first
  }
  const buried = await stat(grave).catch(() => undefined)
  if (buried !== undefined && buried.ino !== found.ino) await link(grave, path).catch(() => {})
  await removeIfThere(grave)
}

async function textIfThere(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8')
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined
    throw error
  }
}

async function removeIfThere(path: string): Promise<void> {
  try {
    await unlink(path)
  } catch (error) {
    if (codeOf(error) !== 'ENOENT') throw error
  }
}

function codeOf(error: unknown): unknown {
  return (error as NodeJS.ErrnoException | null)?.code
}
