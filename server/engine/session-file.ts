import { ServerError } from '../base/errors.js'
import { FramedFiles } from './framed.js'
import { tooLarge } from './session-size.js'
import { isSessionRecord, type SessionRecord } from './session-store.js'

export const sessionFiles: FramedFiles = new FramedFiles('caduceus session 1', 'session')

/** The same as `encodeRecord`. Throws BAD_STATE beyond so many bytes, too. */
export function encodeWithin(record: SessionRecord, maxBytes: number): Buffer {
  const encoded = encodeRecord(record)
  const { length: bytes } = encoded
  if (bytes <= maxBytes) return encoded
  throw tooLarge(record, { most: maxBytes, bytes, measure: (part) => v8().serialize(part).length })
}

/** The record as `structuredClone` copies it, framed. Throws BAD_STATE if that fails. */
function encodeRecord(record: SessionRecord): Buffer {
  try {
    return sessionFiles.frame(v8().serialize(record))
  } catch (cause) {
    const problem = 'the state of a session: expected values that can be written to a file'
    throw new ServerError('BAD_STATE', problem, { cause })
  }
}

/** The record in the bytes of a file; undefined if they are torn, damaged, or no record. */
export function decodeRecord(bytes: Buffer): SessionRecord | undefined {
  const payload = sessionFiles.open(bytes)
  if (payload === undefined) return undefined
  try {
    const record: unknown = v8().deserialize(payload)
    return isSessionRecord(record) ? record : undefined
  } catch {
    return undefined // a newer version of Node may write values that this one cannot read
  }
}

/** Loaded late: a program without a file store never needs it. */
function v8(): typeof import('node:v8') {
  return process.getBuiltinModule('node:v8')
}
