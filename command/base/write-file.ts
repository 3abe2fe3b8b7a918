import type { Stats } from 'node:fs'
import { chmod, type FileHandle, link, open, realpath, rename, rm, stat } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { systemWorld, type World } from '../../runtime/time/world.js'
import { UsageError } from './usage-error.js'

/** How a file is written. */
interface WriteOptions {
  /** Whether a file that is there already is replaced. Default: it is an error. */
  readonly force?: boolean
  /** The mode of a file that was not there. Default: that of the process. */
  readonly mode?: number
  /** Runs before the file is replaced; where it rejects, all stays as it was. */
  readonly check?: () => Promise<void>
}

/**
 * Writes a whole file, or nothing: nobody ever reads a part of it. One that is replaced keeps its mode, and a
 * link leads to the new one; pipes and devices are written to as they are. Rejects with UsageError.
 */
export async function writeWhole(
  file: string,
  content: string | Uint8Array,
  { force = false, mode = 0o666, check }: WriteOptions = {},
): Promise<void> {
  const before = await stat(file).catch(() => undefined)
  if (before?.isFile() && !force) throw exists(file)
  try {
    if (before !== undefined && !before.isFile()) return await writeInto(file, content)
    const target = before === undefined ? file : await realpath(file)
    await replace(target, content, { before, mode, check })
  } catch (error) {
    throw error instanceof UsageError ? error : unwritable(file, error)
  }
}

/**
 * Rejects with UsageError where the file could not be written: before there is work that would be in vain.
 */
export async function checkWritable(file: string, { force = false }: WriteOptions = {}): Promise<void> {
  const before = await stat(file).catch(() => undefined)
  if (before?.isFile() && !force) throw exists(file)
  if (before?.isDirectory()) throw new UsageError(`${file} cannot be written: it is a folder`)
  const folder = await stat(dirname(file)).catch((error: unknown) => {
    throw unwritable(file, error)
  })
  if (!folder.isDirectory()) throw new UsageError(`${file} cannot be written: ${dirname(file)} is no folder`)
}

interface Replacing {
  readonly before: Stats | undefined
  readonly mode: number
  readonly check: WriteOptions['check'] | undefined
}

async function replace(
  file: string,
  content: string | Uint8Array,
  { before, mode, check }: Replacing,
  { id }: Pick<World, 'id'> = systemWorld,
): Promise<void> {
  const draft = join(dirname(file), `.${basename(file).slice(0, 100)}.${id()}`)
  try {
    const written = await open(draft, 'wx', before === undefined ? mode : 0o600)
    try {
      await written.writeFile(content)
      if (before !== undefined) await keepOwner(written, before)
      await written.sync()
    } finally {
      await written.close()
    }
    if (before !== undefined) await chmod(draft, before.mode & 0o7777)
    await check?.()
    if (before !== undefined) return await rename(draft, file)
    // unlike a rename it never replaces what somebody else has made meanwhile
    await link(draft, file)
  } catch (error) {
    throw (error as NodeJS.ErrnoException).code === 'EEXIST' ? exists(file) : error
  } finally {
    await rm(draft, { force: true })
  }
}

/** A file that a service reads stays readable for it when root changes it; others may give nothing away. */
async function keepOwner(draft: FileHandle, { uid, gid }: Stats): Promise<void> {
  const own = await draft.stat()
  if (own.uid === uid && own.gid === gid) return
  await draft.chown(uid, gid).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPERM') throw error
  })
}

async function writeInto(file: string, content: string | Uint8Array): Promise<void> {
  const device = await open(file, 'w')
  try {
    await device.writeFile(content)
  } finally {
    await device.close()
  }
}

function exists(file: string): UsageError {
  return new UsageError(`${file} is there already: give --force to replace it`)
}

function unwritable(file: string, error: unknown): UsageError {
  return new UsageError(`${file} cannot be written (${(error as NodeJS.ErrnoException).code ?? error})`)
}
