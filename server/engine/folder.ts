import { accessSync, constants, lstatSync, mkdirSync, realpathSync } from 'node:fs'
import { strangersIn } from '../../runtime/base/files.js'
import { show } from '../../runtime/base/errors.js'
import { optionError } from '../base/errors.js'

/** Answers its real path. Throws BAD_OPTION. */
export function makeFolder(folder: string): string {
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    accessSync(folder, constants.R_OK | constants.W_OK | constants.X_OK)
    return realpathSync(folder)
  } catch (cause) {
    const problem = `files: folder: expected one that can be made, read and written, got ${show(folder)}`
    throw optionError('folder', problem, cause)
  }
}

/** What lies there decides who is who. Throws BAD_OPTION for a folder that others have a say in. */
export function checkFolder(folder: string, isRoot: boolean): void {
  const { uid, mode } = lstatSync(folder)
  // a volume that an administrator has given to a group
  if (isRoot && uid === 0 && (mode & 0o002) === 0) return
  const problem = strangersIn(folder)
  if (problem !== undefined) throw optionError('folder', `files: folder: ${folder} ${problem}`)
}
