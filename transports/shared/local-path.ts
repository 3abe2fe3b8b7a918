import { dirname, isAbsolute } from 'node:path'
import { badOption, type Read, readText } from '../base/read-option.js'

/**
 * Bytes that the path of a Unix domain socket may have on every system (macOS: 104, with the NUL at its end).
 */
const maxPathBytes = 103
/** What is added to the folder while a socket is made: see `local-listener.ts`. */
const spareBytes = '/.abcdef/s'.length

/** Whether this is the name of a pipe of Windows, which is no file. */
export function isPipeName(path: string): boolean {
  return /^\\\\[.?]\\pipe\\./.test(path)
}

/** Where a local socket is: an absolute path, on Windows the name of a pipe (`\\.\pipe\name`). */
export const readSocketPath: Read<string> = (value, field) => {
  const path = readText(value, field)
  if (process.platform === 'win32') {
    if (isPipeName(path)) return path
    throw badOption(field, 'the name of a pipe, \\\\.\\pipe\\name', path)
  }
  if (!isAbsolute(path)) throw badOption(field, 'an absolute path', path)
  const bytes = Math.max(Buffer.byteLength(path), Buffer.byteLength(dirname(path)) + spareBytes)
  if (bytes <= maxPathBytes) return path
  throw badOption(field, `a path of at most ${maxPathBytes} bytes, as systems have it for sockets`, path)
}
