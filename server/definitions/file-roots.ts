import { lstat, realpath } from 'node:fs/promises'
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import { show } from '../../runtime/base/errors.js'
import { ServerError, optionError } from '../base/errors.js'

/**
 * Keeps paths that clients name inside the folders that they may see. Answers the real path of a file that
 * is, or would be, inside one of the roots: a relative `path` is looked for in the first root, an absolute
 * one and a `file:` uri in all of them. Symbolic links are followed before it is decided, those of the roots
 * and of every folder on the way included. Rejects with ServerError OUTSIDE_ROOTS for anything else, and
 * BAD_OPTION for roots that are no absolute paths. What is created between the answer and its use is not
 * guarded against.
 */
export async function resolveInside(roots: string | readonly string[], path: string): Promise<string> {
  const folders = [roots].flat()
  const [first] = folders
  const isBad = (root: unknown) => typeof root !== 'string' || !isAbsolute(root)
  if (first === undefined || folders.some(isBad))
    throw optionError('roots', `roots: expected absolute paths, got ${show(roots)}`)
  const wanted = await realPathOf(resolve(first, toPath(path)), path)
  for (const root of folders) {
    const way = relative(await realpath(root), wanted)
    const isInside = way !== '..' && !way.startsWith(`..${sep}`) && !isAbsolute(way)
    if (isInside) return wanted
  }
  throw outside(path)
}

function toPath(path: unknown): string {
  if (typeof path !== 'string' || path.includes('\0')) throw outside(path)
  if (!/^file:/i.test(path)) return path
  try {
    return fileURLToPath(path)
  } catch (cause) {
    throw outside(path, cause)
  }
}

/**
 * The real path also of a file that does not exist yet: that of the nearest folder that does, and the rest.
 */
async function realPathOf(path: string, asked: string): Promise<string> {
  try {
    return await realpath(path)
  } catch (cause) {
    const isMissing =
      cause instanceof Error && 'code' in cause && (cause.code === 'ENOENT' || cause.code === 'ENOTDIR')
    const parent = dirname(path)
    // a link that leads nowhere could lead anywhere later
    if (!isMissing || parent === path || (await isThere(path))) throw outside(asked, cause)
    return join(await realPathOf(parent, asked), basename(path))
  }
}

function isThere(path: string): Promise<boolean> {
  return lstat(path).then(
    () => true,
    () => false,
  )
}

function outside(path: unknown, cause?: unknown): ServerError {
  const problem = `path: expected a file inside the roots, got ${show(path)}`
  return new ServerError('OUTSIDE_ROOTS', problem, cause === undefined ? {} : { cause })
}
