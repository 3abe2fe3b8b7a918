import { isSessionRecord, type SessionRecord } from '../engine/session-store.js'
import { ServerError } from '../base/errors.js'

const binary = 'v8 '

/**
 * A session's record as a text: JSON, or what `structuredClone` copies in base64 where JSON would lose
 * something, such as a Date in the session's state. Throws BAD_STATE if that fails.
 */
export function recordText(record: SessionRecord): string {
  return isPlain(record) ? JSON.stringify(record) : binary + serialize(record).toString('base64')
}

/** Throws BAD_STATE where `recordText` would. */
export function checkRecord(record: SessionRecord): void {
  if (!isPlain(record)) serialize(record)
}

function isPlain(record: SessionRecord): boolean {
  const known = Object.values(record).filter((value) => value !== undefined)
  return isAllJson(known, 0)
}

function serialize(record: SessionRecord): Buffer {
  try {
    return v8().serialize(record)
  } catch (cause) {
    const problem = 'the state of a session: expected values that can be copied'
    throw new ServerError('BAD_STATE', problem, { cause })
  }
}

/**
 * Undefined for what is no record. Throws for what cannot be read: a newer version may write it. The text is to
 * be one that a node has written: what else is in base64 may do more than be copied.
 */
export function recordOf(text: string): SessionRecord | undefined {
  const isBinary = text.startsWith(binary)
  const record: unknown = isBinary
    ? v8().deserialize(Buffer.from(text.slice(binary.length), 'base64'))
    : JSON.parse(text)
  return isSessionRecord(record) ? record : undefined
}

/** Whether JSON brings back the same. */
function isJson(value: unknown, depth = 0): boolean {
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return true
  if (typeof value === 'number') return Number.isFinite(value) && !Object.is(value, -0)
  if (typeof value !== 'object' || depth > maxDepth) return false
  if (Array.isArray(value)) return Object.keys(value).length === value.length && isAllJson(value, depth)
  const prototype: unknown = Object.getPrototypeOf(value)
  return (prototype === Object.prototype || prototype === null) && isAllJson(Object.values(value), depth)
}

function isAllJson(values: readonly unknown[], depth: number): boolean {
  return values.every((value) => isJson(value, depth + 1))
}

const maxDepth = 100

/** Loaded late: most records need none of it. */
function v8(): typeof import('node:v8') {
  return process.getBuiltinModule('node:v8')
}
