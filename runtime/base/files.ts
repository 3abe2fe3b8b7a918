import { constants, lstatSync } from 'node:fs'
import { type FileHandle, mkdir, open, rename, stat, unlink } from 'node:fs/promises'
import { join } from 'node:path'

/**
 * Replaces a file (mode 0600) atomically: readers find the old or the new one, whole. `at` sets its time of
 * change (ms since 1970, default now), `mode` its rights; `durable` waits for the disk; `id` makes a name
 * that is not taken.
 */
export async function replaceFile(
  folder: string,
  name: string,
  content: string | Uint8Array,
  {
    at,
    mode,
    durable,
    id,
  }: {
    readonly at?: number
    readonly mode?: number
    readonly durable: boolean
    readonly id: () => string
  },
): Promise<void> {
  const temporary = join(folder, `.${id()}.tmp`)
  try {
    const file = await create(folder, temporary)
    try {
      await file.writeFile(content)
      if (mode !== undefined) await file.chmod(mode)
      if (at !== undefined) await file.utimes(at / 1000, at / 1000)
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

/** Opens a new file; makes a missing folder (mode 0700). */
async function create(folder: string, path: string): Promise<FileHandle> {
  try {
    return await open(path, 'wx', 0o600)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    await mkdir(folder, { recursive: true, mode: 0o700 })
    return open(path, 'wx', 0o600)
  }
}

/**
 * Why files of one user should not lie in a folder: it is no folder but a link, is somebody else's, or others
 * may write to it. Undefined where it is fine, and on Windows, where rights are others. Throws ENOENT.
 */
export function strangersIn(folder: string): string | undefined {
  const facts = lstatSync(folder)
  const own = process.geteuid?.()
  if (own === undefined) return undefined
  if (!facts.isDirectory()) return 'is a link, or no folder'
  if (facts.uid !== own) return 'belongs to somebody else'
  return (facts.mode & 0o022) === 0 ? undefined : 'is one that others may write to'
}

/** Whether it names an unfinished file of `replaceFile`. */
export function isTemporary(name: string): boolean {
  return /^\.[\w-]+\.tmp$/.test(name)
}

/** Bytes of a file that is read at once, at most: somebody else may have put it there. */
const mostBytes = 256 * 1024 * 1024
/** A pipe that nobody writes to is not waited for, and a link is not followed. */
const careful = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0)

/**
 * The bytes of a file and its time of change in ms since 1970; undefined when it is missing. Rejects with
 * EFTYPE or ELOOP for what is no file, or has more than 256 MiB.
 */
export function readIfThere(
  path: string,
): Promise<{ readonly bytes: Buffer; readonly at: number } | undefined> {
  return ifThere(async () => {
    const file = await open(path, careful)
    try {
      const facts = await file.stat()
      if (!facts.isFile() || facts.size > mostBytes) {
        const problem = `${path}: expected a file of at most ${mostBytes} bytes`
        throw Object.assign(new Error(problem), { code: 'EFTYPE' })
      }
      return { bytes: await file.readFile(), at: facts.mtimeMs }
    } finally {
      await file.close()
    }
  })
}

export function timeOf(path: string): Promise<number | undefined> {
  return ifThere(async () => (await stat(path)).mtimeMs)
}

export async function renameIfThere(path: string, to: string): Promise<void> {
  await ifThere(() => rename(path, to))
}

export async function unlinkIfThere(path: string): Promise<void> {
  await ifThere(() => unlink(path))
}

export async function ifThere<Answer>(work: () => Promise<Answer>): Promise<Answer | undefined> {
  try {
    return await work()
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}

/** A new name is on the disk only after its folder is; Windows cannot sync folders. */
async function syncFolder(folder: string): Promise<void> {
  if (process.platform === 'win32') return
  const handle = await open(folder, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}
