import { createHash } from 'node:crypto'
import { ServerError } from '../base/errors.js'
import { isSessionRecord, type SessionRecord } from './session-store.js'

const magic = Buffer.from('caduceus session 1\n')
const digestBytes = 32

/** Mark, digest, and the record as `structuredClone` copies it. Throws BAD_STATE if that fails. */
export function encodeRecord(record: SessionRecord): Buffer {
  let payload: Buffer
  try {
    payload = v8().serialize(record)
  } catch (cause) {
    const problem = 'the state of a session: expected values that can be written to a file'
    throw new ServerError('BAD_STATE', problem, { cause })
  }
  return Buffer.concat([magic, digest(payload), payload])
}

/** The record in the bytes of a file; undefined if they are torn, damaged, or no record. */
export function decodeRecord(bytes: Buffer): SessionRecord | undefined {
  const start = magic.length + digestBytes
  if (!bytes.subarray(0, magic.length).equals(magic)) return undefined
  const payload = bytes.subarray(start)
  if (!digest(payload).equals(bytes.subarray(magic.length, start))) return undefined
  try {
    const record: unknown = v8().deserialize(payload)
    return isSessionRecord(record) ? record : undefined
  } catch {
    return undefined // a newer version of Node may write values that this one cannot read
  }
}

/** The name of a session's file: a digest, since ids come from clients and may be no file names. */
export function fileNameOf(id: string): string {
  return `${createHash('sha256').update(id).digest('hex')}.session`
}

export function isFileName(name: string): boolean {
  return /^[0-9a-f]{64}\.session$/.test(name)
}

/** Loaded late: a program without a file store never needs it. */
function v8(): typeof import('node:v8') {
  return process.getBuiltinModule('node:v8')
}

function digest(payload: Buffer): Buffer {
  return createHash('sha256').update(payload).digest()
}
