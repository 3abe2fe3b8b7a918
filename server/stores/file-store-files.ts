import { randomUUID } from 'node:crypto'
import { type FileHandle, mkdir, open, rename, stat, unlink } from 'node:fs/promises'
import { join } from 'node:path'

/** How a file is written. */
export interface WriteOptions {
  /** Its time of change, in ms since 1970. */
  readonly at: number
  /** Whether to wait until the disk has it. */
  readonly durable: boolean
}

/**
 * Puts a file (mode 0600) in the place of another in one step: whoever reads finds the old one or the new
 * one, whole.
 */
export async function replaceFile(
  folder: string,
  name: string,
  bytes: Uint8Array,
  { at, durable }: WriteOptions,
): Promise<void> {
  const temporary = join(folder, `.${randomUUID()}.tmp`)
  try {
    const file = await create(folder, temporary)
    try {
      await file.writeFile(bytes)
      await file.utimes(at / 1000, at / 1000)
      if (durable) await file.sync()
    } finally {
      await file.close()
    }
    await rename(temporary, join(folder, name))
  } catch (error) {
    await unlink(temporary).catch(() => {}) // what went wrong before is what counts
    throw error
  }
  if (durable) await syncFolder(folder)
}

/** Opens a file that is not there. A folder that somebody has cleared away is made again. */
async function create(folder: string, path: string): Promise<FileHandle> {
  try {
    return await open(path, 'wx', 0o600)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    await mkdir(folder, { recursive: true, mode: 0o700 })
    return open(path, 'wx', 0o600)
  }
}

/** Whether a name is that of a file which `replaceFile` has not finished. */
export function isTemporary(name: string): boolean {
  return /^\.[0-9a-f-]{36}\.tmp$/.test(name)
}

/** The bytes of a file and its time of change in ms since 1970; undefined when there is none. */
export function readIfThere(
  path: string,
): Promise<{ readonly bytes: Buffer; readonly at: number } | undefined> {
  return ifThere(async () => {
    const file = await open(path, 'r')
    try {
      const { mtimeMs } = await file.stat()
      return { bytes: await file.readFile(), at: mtimeMs }
    } finally {
      await file.close()
    }
  })
}

/** The time of change of a file in ms since 1970; undefined when there is none. */
export function timeOf(path: string): Promise<number | undefined> {
  return ifThere(async () => (await stat(path)).mtimeMs)
}

/** Removes a file; one that is gone already is fine. */
export async function unlinkIfThere(path: string): Promise<void> {
  await ifThere(() => unlink(path))
}

async function ifThere<Answer>(work: () => Promise<Answer>): Promise<Answer | undefined> {
  try {
    return await work()
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}

/** The new name is on the disk only after its folder is. */
async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}
