const brand: unique symbol = Symbol.for('caduceus.error')

/** What every Caduceus error may carry besides its message. */
export interface ErrorDetails {
  /** The error that led to this one. */
  cause?: unknown
  /** Facts a program can act on; the shape belongs to the code. */
  data?: unknown
  /** Whether the same request may succeed when it is made again. Default false. */
  retryable?: boolean
}

/**
 * The root of the error family: `code` is stable, `retryable` says whether trying again can help.
 * `error instanceof CaduceusError` holds for errors of every floor, and of other copies of this library in one process.
 */
export class CaduceusError<Code extends string = string> extends Error {
  readonly code: Code
  readonly retryable: boolean
  readonly data: unknown

  constructor(code: Code, message: string, details: ErrorDetails = {}) {
    super(message, 'cause' in details ? { cause: details.cause } : undefined)
    this.code = code
    this.retryable = details.retryable ?? false
    this.data = details.data
  }

  override get name(): string {
    return this.constructor.name
  }

  static {
    Object.defineProperty(CaduceusError.prototype, brand, { value: true })
  }

  static override [Symbol.hasInstance](value: unknown): boolean {
    // Anything can be thrown, also a proxy that throws when it is looked at: that is no error of ours.
    try {
      if (this === CaduceusError) return typeof value === 'object' && value !== null && brand in value
      return Function.prototype[Symbol.hasInstance].call(this, value)
    } catch {
      return false
    }
  }
}

/** Every code a RuntimeError can have. */
export type RuntimeErrorCode =
  | 'BAD_BEHAVIOUR'
  | 'BAD_SPEC'
  | 'BAD_OPTION'
  | 'BAD_MESSAGE'
  | 'BAD_RETURN'
  | 'DUPLICATE_ID'
  | 'NOPROC'
  | 'EXITED'
  | 'TIMEOUT'
  | 'CALLING_SELF'
  | 'ACTOR_DEAD'
  | 'MAILBOX_FULL'
  | 'START_FAILED'
  | 'START_TIMEOUT'
  | 'IGNORED'
  | 'ALREADY_STARTED'
  | 'ALREADY_PRESENT'
  | 'NOT_FOUND'
  | 'RUNNING'
  | 'RESTARTING'
  | 'MAX_CHILDREN'
  | 'GAVE_UP'

/** The error class of `caduceus/runtime`. */
export class RuntimeError extends CaduceusError<RuntimeErrorCode> {}

/** What an error says, whatever was thrown: its message, the text itself, or a rendering of the value. Never throws. */
export function messageOf(error: unknown): string {
  if (typeof error === 'string') return error
  try {
    return error instanceof Error ? String(error.message) : show(error)
  } catch {
    return unprintable
  }
}

/** The stack of an error, or what it says if it has none. Never throws. */
export function stackOf(error: unknown): string {
  try {
    return error instanceof Error ? String(error.stack ?? error.message) : messageOf(error)
  } catch {
    return unprintable
  }
}

/** True for an Error; false also for a value that throws when it is looked at. */
export function isError(value: unknown): value is Error {
  try {
    return value instanceof Error
  } catch {
    return false
  }
}

const unprintable = 'a value that cannot be shown'

/** A short rendering of any value for an error message. Never throws. */
export function show(value: unknown): string {
  try {
    return render(value)
  } catch {
    return unprintable
  }
}

function render(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value.length > 60 ? `${value.slice(0, 57)}...` : value)
  if (typeof value === 'function')
    return typeof value.name === 'string' && value.name ? `function ${value.name}` : 'a function'
  if (Array.isArray(value)) return `an array of ${value.length}`
  if (typeof value === 'object' && value !== null)
    return `an object with keys [${Object.keys(value).slice(0, 5).join(', ')}]`
  return String(value)
}
