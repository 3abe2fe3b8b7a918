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
 * `error instanceof CaduceusError` holds for errors of every floor, and of other copies of this library in
 * one process.
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
    Object.defineProperty(this.prototype, brand, { value: true })
  }

  static override [Symbol.hasInstance](value: unknown): boolean {
    // Anything can be thrown, also a proxy that throws when it is looked at: that is no error of ours.
    try {
      // only the root has it as its own; by its name it would be called something else once it is bundled
      if (Object.hasOwn(this.prototype, brand))
        return typeof value === 'object' && value !== null && brand in value
      return Function.prototype[Symbol.hasInstance].call(this, value)
    } catch {
      return false
    }
  }
}

/** Every code a RuntimeError can have. */
export type RuntimeErrorCode =
  /** A definition given to `defineActor` has a field that is not what it should be (`data.field`). */
  | 'BAD_BEHAVIOUR'
  /** A child spec, or the list of them, is wrong; the message names the child and the field. */
  | 'BAD_SPEC'
  /** An option or argument is not what it should be (`data.field`), or there is no such option. */
  | 'BAD_OPTION'
  /** An actor has no such call or cast, or `ctx.defer` was used outside of a call. */
  | 'BAD_MESSAGE'
  /** The `start` of a child spec answered something that is no process (`data.id`). */
  | 'BAD_RETURN'
  /** Two children of one supervisor have the same id (`data.id`). */
  | 'DUPLICATE_ID'
  /** Nobody is there: the process has ended, or nobody has the name. */
  | 'NOPROC'
  /** The process ended before it answered (`data.reason`). */
  | 'EXITED'
  /** No answer, no end or no event came in time; what was asked for may still happen. */
  | 'TIMEOUT'
  /** An actor called itself while it handled a message: it would wait for itself. */
  | 'CALLING_SELF'
  /** Code of an incarnation that has ended still sends, starts or changes something: it has no effect. */
  | 'ACTOR_DEAD'
  /** Too many messages wait for the actor already; this one was not taken. */
  | 'MAILBOX_FULL'
  /** What a process does first threw (`cause`): there is no process. */
  | 'START_FAILED'
  /** An asynchronous `init` took longer than it may. */
  | 'START_TIMEOUT'
  /** What was to be started declined: `init` answered `ignore`, or the option `start` of a server says no. */
  | 'IGNORED'
  /** The name or id has a living process already (`data.ref`; `data.server` where it is a server). */
  | 'ALREADY_STARTED'
  /** The supervisor knows a child of this id that does not run: restart or delete it. */
  | 'ALREADY_PRESENT'
  /** The supervisor has no such child, or there is no task to wait for. */
  | 'NOT_FOUND'
  /** The child runs, which this operation does not allow. */
  | 'RUNNING'
  /** The child is about to be restarted, which this operation does not allow. */
  | 'RESTARTING'
  /** A dynamic supervisor or task supervisor has as many children as it may (`data.maxChildren`). */
  | 'MAX_CHILDREN'
  /** The name has ended for good (`data.reason`): nobody will bring it back. */
  | 'GAVE_UP'

/** The error class of `caduceus/runtime`. */
export class RuntimeError extends CaduceusError<RuntimeErrorCode> {}

/**
 * The error for an option or argument that is not what it should be: every BAD_OPTION of this floor is made
 * here, so that `data.field` is never forgotten.
 */
export function optionError(field: string, problem: string): RuntimeError {
  return new RuntimeError('BAD_OPTION', problem, { data: { field } })
}

/** The field that an error with BAD_OPTION, of any floor, is about. */
export function fieldOf({ data }: CaduceusError): string {
  return (data as { readonly field: string }).field
}

/**
 * What an error says, whatever was thrown: its message, the text itself, or a rendering of the value. Never
 * throws.
 */
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
  if (value instanceof Promise) return 'a promise, which wants an await'
  if (typeof value === 'object' && value !== null)
    return `an object with keys [${Object.keys(value).slice(0, 5).join(', ')}]`
  return String(value)
}
