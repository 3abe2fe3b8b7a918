import { serialize } from 'node:v8'
import { CaduceusError, RuntimeError, show } from '../base/errors.js'
import { ProcessRef } from '../process/ref.js'

/**
 * What crosses a border is copied (structured clone). References to processes and errors would lose what they
 * are: they travel as marks, objects with this one key. So does an object of the user that has the key.
 */
const mark = '$caduceus'

/** A process of the side that sends this, and what can be sent to it. */
export interface OwnRef {
  readonly ours: number
  readonly name: string
  /** Null where any name goes on. */
  readonly calls: string[] | null
  readonly casts: string[] | null
}

/** A reference on its way: to a process of the side that sends it, or of the one that receives it. */
export type WireRef = OwnRef | { readonly yours: number }

/** Classes of errors that cross a border as what they are, by the name that both sides know them by. */
export type ErrorClasses = Readonly<Record<string, abstract new (...args: never[]) => Error>>

/** A value that can be cloned; `marked` when there are marks in it. */
export interface Packed {
  readonly value: unknown
  readonly marked: boolean
}

/** How values go out. */
export interface Outward {
  readonly refOut: (ref: ProcessRef) => WireRef
  readonly errors: ErrorClasses
  /** Bytes that a value may have, about: characters count as one, what holds them as eight each. */
  readonly most: number
}

/**
 * Makes a value ready to be cloned. Throws NOT_CLONEABLE with the path of a function or symbol in it, or for
 * one that is too large; `what` names the value.
 */
export function pack(value: unknown, what: string, outward: Outward): Packed {
  const look = new Look(what, outward.most)
  if (!look.needsMarks(value, what)) return { value, marked: false }
  return { value: rebuild(value, new Map(), (part) => packed(part, outward)), marked: true }
}

/** The value that was packed, with the references and errors of this side. */
export function unpack(
  { value, marked }: Packed,
  refIn: (ref: WireRef) => ProcessRef,
  errors: ErrorClasses = {},
): unknown {
  return marked ? rebuild(value, new Map(), (part) => unpacked(part, refIn, errors)) : value
}

/** The error for a value that structured clone refuses. */
export function notCloneable(what: string, got: unknown, cause?: unknown): RuntimeError {
  const message = `${what}: expected a value that structured clone can copy, got ${show(got)}`
  return new RuntimeError('NOT_CLONEABLE', message, { data: { path: what, sent: false }, cause })
}

/** One traversal of a value. */
class Look {
  readonly #seen = new Set<object>()
  /** Those that are weighed: apart, as a buffer may also be a value. */
  readonly #buffers = new Set<ArrayBuffer>()
  readonly #what: string
  readonly #most: number
  #left: number

  constructor(what: string, most: number) {
    this.#what = what
    this.#most = most
    this.#left = most
  }

  /** Looks at every part, also after the first mark: one of them may be a function. */
  needsMarks(value: unknown, path: string): boolean {
    if (typeof value === 'function' || typeof value === 'symbol') throw notCloneable(path, value)
    this.weigh(typeof value === 'string' ? value.length : perValue)
    if (typeof value !== 'object' || value === null || this.#seen.has(value)) return false
    if (value instanceof ProcessRef || value instanceof Error) return true
    this.#seen.add(value)
    const parts = value instanceof Map || value instanceof Set ? [...value] : value
    if (!Array.isArray(parts) && !isRecord(parts)) {
      if (!isLeaf(parts)) throw notCloneable(path, value)
      this.#weighBytes(parts)
      return false
    }
    let marks = Object.hasOwn(value, mark)
    for (const [key, part] of Object.entries(parts)) {
      if (!Array.isArray(parts)) this.weigh(key.length)
      marks = this.needsMarks(part, Array.isArray(parts) ? `${path}[${key}]` : `${path}.${key}`) || marks
    }
    return marks
  }

  /** Throws NOT_CLONEABLE when all that was looked at is too large. */
  weigh(bytes: number): void {
    this.#left -= bytes
    if (this.#left >= 0) return
    const message = `${this.#what}: expected at most ${this.#most} bytes, got more`
    throw new RuntimeError('NOT_CLONEABLE', message, {
      data: { path: this.#what, most: this.#most, sent: false },
    })
  }

  /** A view is copied with all of its buffer; a shared one is not copied. */
  #weighBytes(value: object): void {
    const buffer = ArrayBuffer.isView(value) ? value.buffer : value
    if (!(buffer instanceof ArrayBuffer) || this.#buffers.has(buffer)) return
    this.#buffers.add(buffer)
    this.weigh(buffer.byteLength)
  }
}

/** Bytes of what is no text. */
const perValue = 8

/** An instance of a class is copied by its fields. */
function isRecord(value: object): boolean {
  return kindOfObject(value) === '[object Object]'
}

/** Dates, bytes and the like. Others are nothing any more on the other side, or only in a thread. */
function isLeaf(value: object): boolean {
  return leaves.test(kindOfObject(value))
}

const leaves =
  /^\[object (Date|RegExp|Boolean|Number|String|BigInt|Arguments|DataView|(Shared)?ArrayBuffer|\w+Array)\]$/

/** Taken now: the code of a peer may put another one there. */
const toText = Object.prototype.toString

function kindOfObject(value: object): string {
  return toText.call(value)
}

/** The copy of a container: made empty, so that cycles find it, and filled afterwards. */
interface Substitute {
  readonly made: object
  fill?(inside: (part: unknown) => unknown): void
}

function packed(value: object, { refOut, errors, most }: Outward): Substitute | undefined {
  if (value instanceof ProcessRef) return { made: { [mark]: { ref: refOut(value) } } }
  if (value instanceof Error) {
    const error = {
      kind: kindOf(value, errors),
      name: value.name,
      message: value.message,
      stack: value.stack,
      fields: {},
    }
    new Look('an error', most).weigh(String(error.message).length + String(error.stack).length)
    return {
      made: { [mark]: { error } },
      fill: (inside) => {
        error.fields = inside(fieldsOf(value, most)) as object
      },
    }
  }
  if (!Object.hasOwn(value, mark)) return undefined
  const content = { entries: [] as unknown }
  return {
    made: { [mark]: content },
    fill: (inside) => {
      content.entries = inside(Object.entries(value))
    },
  }
}

function unpacked(
  value: object,
  refIn: (ref: WireRef) => ProcessRef,
  errors: ErrorClasses,
): Substitute | undefined {
  const content = Object.hasOwn(value, mark) ? (value as { readonly [mark]: Mark })[mark] : undefined
  if (content === undefined) return undefined
  if ('ref' in content) return { made: refIn(content.ref) }
  if ('error' in content) {
    const made = errorOf(content.error, errors)
    return { made, fill: (inside) => define(made, inside(content.error.fields) as object) }
  }
  const made = {}
  return { made, fill: (inside) => define(made, Object.fromEntries(inside(content.entries) as [])) }
}

type Mark =
  | { readonly ref: WireRef }
  | { readonly error: WireError }
  | { readonly entries: readonly [string, unknown][] }

interface WireError {
  /** The name of its class, or of the nearest one that both sides know. */
  readonly kind: string
  readonly name: string
  readonly message: string
  readonly stack: string | undefined
  readonly fields: object
}

/** Known on both sides of every border; a class before those that it extends. */
const ownErrors: ErrorClasses = Object.freeze({ RuntimeError, CaduceusError, Error })

function kindOf(error: Error, errors: ErrorClasses): string {
  const known = [...Object.entries(errors), ...Object.entries(ownErrors)]
  return known.find(([, made]) => error instanceof made)?.[0] ?? 'Error'
}

/** The fields of an error besides its message: cause, code, data and the like, where they can be copied. */
function fieldsOf(error: Error, most: number): object {
  const hidden = (['cause', 'errors'] as const).filter((field) => field in error)
  const fields = {
    ...error,
    ...Object.fromEntries(hidden.map((field) => [field, (error as AggregateError)[field]])),
  }
  return Object.fromEntries(Object.entries(fields).filter(([, field]) => isCloneable(field, most)))
}

/** A part that cannot be copied is left out: the rest of the error is worth more. */
function isCloneable(value: unknown, most: number): boolean {
  try {
    if (!new Look('', most).needsMarks(value, '')) serialize(value)
    return true
  } catch {
    return false
  }
}

function errorOf({ kind, name, message, stack }: WireError, errors: ErrorClasses): Error {
  // the code of a peer may send any name
  const known = [errors, ownErrors].find((classes) => Object.hasOwn(classes, kind))?.[kind]
  const made = new Error(message)
  // constructors differ in what they take; what they would set comes as fields
  Object.setPrototypeOf(made, (known ?? Error).prototype)
  if (made.name !== name) hide(made, 'name', name)
  hide(made, 'stack', stack)
  return made
}

/** Builds containers anew from their parts; `special` says what takes the place of what is no container. */
function rebuild(
  value: unknown,
  seen: Map<object, object>,
  special: (value: object) => Substitute | undefined,
): unknown {
  if (typeof value !== 'object' || value === null) return value
  const known = seen.get(value)
  if (known !== undefined) return known
  const inside = (part: unknown): unknown => rebuild(part, seen, special)
  const { made, fill } = special(value) ?? container(value)
  seen.set(value, made)
  fill?.(inside)
  return made
}

function container(value: object): Substitute {
  if (Array.isArray(value)) {
    const made: unknown[] = []
    return {
      made,
      fill: (inside) => {
        for (const part of value) made.push(inside(part))
      },
    }
  }
  if (value instanceof Map) {
    const made = new Map()
    return {
      made,
      fill: (inside) => {
        for (const [key, part] of value) made.set(inside(key), inside(part))
      },
    }
  }
  if (value instanceof Set) {
    const made = new Set()
    return {
      made,
      fill: (inside) => {
        for (const part of value) made.add(inside(part))
      },
    }
  }
  if (!isRecord(value)) return { made: value }
  const made: Record<string, unknown> = {}
  return {
    made,
    fill: (inside) => {
      for (const [key, part] of Object.entries(value))
        if (key === '__proto__') define(made, { [key]: inside(part) })
        else made[key] = inside(part)
    },
  }
}

/** As assignments would, but for names like `__proto__`, too. */
function define(target: object, fields: object): void {
  for (const [key, value] of Object.entries(fields)) {
    const enumerable = !(target instanceof Error && (key === 'cause' || key === 'errors'))
    Object.defineProperty(target, key, { value, enumerable, writable: true, configurable: true })
  }
}

function hide(target: object, key: string, value: unknown): void {
  Object.defineProperty(target, key, { value, writable: true, enumerable: false, configurable: true })
}
