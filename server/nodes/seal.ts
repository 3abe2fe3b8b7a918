import { createHmac, createSecretKey, type KeyObject, timingSafeEqual } from 'node:crypto'

/** What is signed: a text of one kind is none of another. */
export type SealedKind = 'letter' | 'news' | 'event' | 'mark'

/** How letters are written. */
const edition = '1'

/** Signs what nodes say to each other, as a whole (HMAC-SHA256), so that it can be told from what others wrote. */
export class Seal {
  readonly #keys: readonly KeyObject[]
  /** Of each key, by which others know it and learn nothing else; the first is that of what is signed here. */
  readonly marks: readonly string[]

  /** The first key signs, all are taken. Without keys nothing is signed, and everything is taken. */
  constructor(keys: readonly string[] = []) {
    this.#keys = keys.map((key) => createSecretKey(Buffer.from(key)))
    const marks = this.#keys.map((key) => sign(key, 'mark', '').toString('base64url').slice(0, 12))
    this.marks = (marks.length === 0 ? ['unsigned'] : marks).map((mark) => `${edition} ${mark}`)
  }

  /** Whether a node with these marks takes what is written here, and writes what is taken here. */
  suits(marks: unknown): boolean {
    if (!Array.isArray(marks)) return false
    return this.marks.includes(String(marks[0])) && marks.includes(this.marks[0])
  }

  close(kind: SealedKind, text: string): string {
    const [key] = this.#keys
    return `${key === undefined ? '' : sign(key, kind, text).toString('base64url')}\n${text}`
  }

  /** The text; undefined if none of the keys has signed it. */
  open(kind: SealedKind, sealed: string): string | undefined {
    const end = sealed.indexOf('\n')
    if (end === -1) return undefined
    const text = sealed.slice(end + 1)
    if (this.#keys.length === 0) return text
    const given = Buffer.from(sealed.slice(0, end), 'base64url')
    return this.#keys.some((key) => isSame(given, sign(key, kind, text))) ? text : undefined
  }
}

function sign(key: KeyObject, kind: SealedKind, text: string): Buffer {
  return createHmac('sha256', key).update(`${kind}\n`).update(text).digest()
}

function isSame(given: Buffer, expected: Buffer): boolean {
  return given.length === expected.length && timingSafeEqual(given, expected)
}
