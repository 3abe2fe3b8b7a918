import { errorCodes, McpError } from './errors.js'
import type { Cursor } from './types/base.js'

/** A part of a list, and where it goes on; without `nextCursor` it was the last. */
export interface Page<T> {
  readonly items: readonly T[]
  readonly nextCursor?: Cursor
}

const form = /^offset:(0|[1-9]\d{0,14})$/

/** The page of `all` at `cursor`, with at most `size` items. Throws McpError -32602 for a cursor that is not ours. */
export function paginate<T>(all: readonly T[], cursor: Cursor | undefined, size: number): Page<T> {
  const start = cursor === undefined ? 0 : decodeCursor(cursor)
  // an offset at the end was never given out: the list has become shorter, or the cursor is forged
  if (cursor !== undefined && start >= all.length) throw badCursor()
  const items = all.slice(start, start + size)
  const next = start + items.length
  return next < all.length ? { items, nextCursor: encodeCursor(next) } : { items }
}

/** The cursor for an offset: opaque to clients, so that it may mean something else one day. */
export function encodeCursor(offset: number): Cursor {
  return btoa(`offset:${offset}`)
}

/** The offset in a cursor of ours. Throws McpError -32602 for anything else, the empty string included. */
export function decodeCursor(cursor: Cursor): number {
  const digits = form.exec(decodeBase64(cursor))?.[1]
  if (digits === undefined) throw badCursor()
  return Number(digits)
}

function decodeBase64(value: string): string {
  try {
    return atob(value)
  } catch {
    return '' // no base64: answered as what it is, a cursor that is not ours
  }
}

function badCursor(): McpError {
  return new McpError(
    errorCodes.invalidParams,
    'params.cursor: expected a nextCursor of this list, as it is now',
  )
}
