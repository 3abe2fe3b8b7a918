import { createHmac, createSecretKey, type KeyObject, timingSafeEqual } from 'node:crypto'

/** What is signed: a text of one kind is none of another. */
export type SealedKind = 'messages' | 'news' | 'event' | 'session' | 'task' | 'mark'

/** What a text is, and whose: the id of a session, say. What is of one place is of no other. */
export interface SealedAs {
  readonly kind: SealedKind
  readonly place?: string
}

/** How messages and records are written. */
const edition = '3'

/** Signs the records, messages and news of nodes (HMAC-SHA256), to tell them from texts that others wrote. */
export class Seal {
  readonly #keys: readonly KeyObject[]
  /** Of each key, by which others know it and learn nothing else; the first is that of what is signed here. */
  readonly marks: readonly string[]
  readonly #refused = new Map<SealedKind, number>()

  /** The first key signs, all are taken. Without keys nothing is signed, and everything is taken. */
  constructor(keys: readonly string[] = []) {
    this.#keys = keys.map((key) => createSecretKey(Buffer.from(key)))
    const marks = this.#keys.map((key) => sign(key, { kind: 'mark' }, '').toString('base64url').slice(0, 12))
    this.marks = (marks.length === 0 ? ['unsigned'] : marks).map((mark) => `${edition} ${mark}`)
  }

  /** How many texts of each kind were refused, as no node of this cluster has written them. */
  get refused(): ReadonlyMap<SealedKind, number> {
    return this.#refused
  }

  /** Whether a node with these marks takes what is written here, and writes what is taken here. */
  suits(marks: unknown): boolean {
    if (!Array.isArray(marks)) return false
    return this.marks.includes(String(marks[0])) && marks.includes(this.marks[0])
  }

  close(as: SealedAs, text: string): string {
    const [key] = this.#keys
    return `${key === undefined ? '' : sign(key, as, text).toString('base64url')}\n${text}`
  }

  /**
   * What `read` makes of a text, once it is known that a node of this cluster has written it as this; undefined,
   * and counted, if none has, or `read` throws or answers undefined.
   */
  open<Value>(as: SealedAs, sealed: string, read: (text: string) => Value | undefined): Value | undefined {
    const text = this.#verified(as, sealed)
    const value = text === undefined ? undefined : tried(() => read(text))
    if (value === undefined) this.refuse(as.kind)
    return value
  }

  /** Counts a text that was opened, and has the wrong content. */
  refuse(kind: SealedKind): void {
    this.#refused.set(kind, (this.#refused.get(kind) ?? 0) + 1)
  }

  #verified(as: SealedAs, sealed: string): string | undefined {
    const end = sealed.indexOf('\n')
    if (end === -1) return undefined
    const text = sealed.slice(end + 1)
    if (this.#keys.length === 0) return text
    const given = Buffer.from(sealed.slice(0, end), 'base64url')
    return this.#keys.some((key) => isSame(given, sign(key, as, text))) ? text : undefined
  }
}

function sign(key: KeyObject, { kind, place = '' }: SealedAs, text: string): Buffer {
  return createHmac('sha256', key)
    .update(`${JSON.stringify([kind, place])}\n`)
    .update(text)
    .digest()
}

function isSame(given: Buffer, expected: Buffer): boolean {
  return given.length === expected.length && timingSafeEqual(given, expected)
}

/** Undefined for what cannot be read: a newer version may write what this one does not know. */
function tried<Value>(read: () => Value): Value | undefined {
  try {
    return read()
  } catch {
    return undefined
  }
}
