import { createHash } from 'node:crypto'
import { ServerError } from '../base/errors.js'
import { isSessionRecord, type SessionRecord } from './session-store.js'

const magic = Buffer.from('caduceus session 1\n')
const digestBytes = 32

/**
 * A record as the bytes of a file: what it is, a digest, and the record as `structuredClone` would have it,
 * dates, maps and bytes included. Throws BAD_STATE for what cannot be written.
 */
export function encodeRecord(record: SessionRecord): Buffer {
  let payload: Buffer
  try {
    payload = v8().serialize(record)
  } catch (cause) {
    throw new ServerError(
      'BAD_STATE',
      'the state of a session: expected values that can be written to a file',
      {
        cause,
      },
    )
  }
  return Buffer.concat([magic, digest(payload), payload])
}

/** The record in the bytes of a file; undefined when they are torn, damaged, or no record at all. */
export function decodeRecord(bytes: Buffer): SessionRecord | undefined {
  const start = magic.length + digestBytes
  if (!bytes.subarray(0, magic.length).equals(magic)) return undefined
  const payload = bytes.subarray(start)
  if (!digest(payload).equals(bytes.subarray(magic.length, start))) return undefined
  try {
    const record: unknown = v8().deserialize(payload)
    return isSessionRecord(record) ? record : undefined
  } catch {
    return undefined // written by a version of Node that knows more kinds of values
  }
}

/** The name of a session's file: ids come from clients, and may be no names at all. */
export function fileNameOf(id: string): string {
  return `${createHash('sha256').update(id).digest('hex')}.session`
}

/** Whether a file of this name is one of ours. */
export function isFileName(name: string): boolean {
  return /^[0-9a-f]{64}\.session$/.test(name)
}

/** Not imported: a program without a file store never loads it. */
function v8(): typeof import('node:v8') {
  return process.getBuiltinModule('node:v8')
}

function digest(payload: Buffer): Buffer {
  return createHash('sha256').update(payload).digest()
}
