import { lstat, realpath } from 'node:fs/promises'
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import { show } from '../../runtime/base/errors.js'
import { ServerError, optionError } from '../base/errors.js'

/**
 * Keeps paths that clients send inside folders. Resolves with the real path of a file that is, or would be,
 * inside one of the roots. A relative `path` starts from the first root; an absolute one, or a `file:` uri,
 * may be in any. Symbolic links are resolved first, in the roots and in every folder of the path. Rejects
 * with OUTSIDE_ROOTS for any other path, and with BAD_OPTION for roots that are no absolute paths. It does
 * not guard against links that are made between the answer and its use.
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

/** The real path; for a file that does not exist, that of the nearest existing folder and the rest. */
async function realPathOf(path: string, asked: string): Promise<string> {
  try {
    return await realpath(path)
  } catch (cause) {
    const isMissing =
      cause instanceof Error && 'code' in cause && (cause.code === 'ENOENT' || cause.code === 'ENOTDIR')
    const parent = dirname(path)
    // the target of a dangling link could be made anywhere later
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
