const brand: unique symbol = Symbol.for('caduceus.error')

/** Optional details of every Caduceus error. */
export interface ErrorDetails {
  cause?: unknown
  /** Facts for programs; the shape depends on the code. */
  data?: unknown
  /** Whether the same request may succeed later. Default false. */
  retryable?: boolean
}

/**
 * The base class of all errors: `code` is stable, `retryable` says whether trying again can help.
 * `instanceof` holds for errors of every floor, and of other copies of this library in one process.
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
    // A thrown proxy may throw when it is looked at: no error of ours.
    try {
      // only the base class has it as its own; names change when bundled
      if (Object.hasOwn(this.prototype, brand))
        return typeof value === 'object' && value !== null && brand in value
      return Function.prototype[Symbol.hasInstance].call(this, value)
    } catch {
      return false
    }
  }
}

/** The codes of `RuntimeError`. */
export type RuntimeErrorCode =
  /** A field of a definition for `defineActor` is wrong (`data.field`). */
  | 'BAD_BEHAVIOUR'
  /** A child spec or the list of them is wrong; the message names child and field. */
  | 'BAD_SPEC'
  /** An option or argument is wrong or unknown (`data.field`). */
  | 'BAD_OPTION'
  /** An actor has no such call or cast, or `ctx.defer` was used outside of a call. */
  | 'BAD_MESSAGE'
  /** The `start` of a child spec answered no process of its supervisor (`data.id`). */
  | 'BAD_RETURN'
  /** Two children of one supervisor have the same id (`data.id`). */
  | 'DUPLICATE_ID'
  /** The process has ended, or no process has the name. */
  | 'NOPROC'
  /** The process ended before it answered (`data.reason`). */
  | 'EXITED'
  /** No reply, end or event came in time; what was asked for may still happen. */
  | 'TIMEOUT'
  /** An actor called itself while it handled a message: it would wait for itself. */
  | 'CALLING_SELF'
  /** A dead incarnation still sends, starts or changes something: it has no effect. */
  | 'ACTOR_DEAD'
  /** The actor's mailbox is full; this message was not taken. */
  | 'MAILBOX_FULL'
  /** The `init` of a process threw (`cause`), or it ended before it was up. */
  | 'START_FAILED'
  /** An asynchronous `init` exceeded its time limit. */
  | 'START_TIMEOUT'
  /** The start was declined: `init` answered `ignore`, or a server's option `start` says no. */
  | 'IGNORED'
  /** The name or id has a living process (`data.ref`; `data.server` for a server). */
  | 'ALREADY_STARTED'
  /** The supervisor has a stopped child of this id: restart or delete it. */
  | 'ALREADY_PRESENT'
  /** The supervisor has no such child, or there is no task to wait for. */
  | 'NOT_FOUND'
  /** The child runs, which this operation does not allow. */
  | 'RUNNING'
  /** The child is about to be restarted, which this operation does not allow. */
  | 'RESTARTING'
  /** A dynamic or task supervisor has reached its limit (`data.maxChildren`). */
  | 'MAX_CHILDREN'
  /** The thread or process that the actor ran in is gone (`data.why`), and with it the answer. */
  | 'NOCONNECTION'
  /** What was to cross to a thread or process cannot be copied (`data.path`), or is too large (`data.most`). */
  | 'NOT_CLONEABLE'
  /** The name has ended for good (`data.reason`). */
  | 'GAVE_UP'

/** The error class of `caduceus/runtime`. */
export class RuntimeError extends CaduceusError<RuntimeErrorCode> {}

/** Makes every BAD_OPTION of this floor, with its `data.field`. */
export function optionError(field: string, problem: string): RuntimeError {
  return new RuntimeError('BAD_OPTION', problem, { data: { field } })
}

export function fieldOf({ data }: CaduceusError): string {
  return (data as { readonly field: string }).field
}

/** The message of whatever was thrown. Never throws. */
export function messageOf(error: unknown): string {
  if (typeof error === 'string') return error
  try {
    return error instanceof Error ? String(error.message) : show(error)
  } catch {
    return unprintable
  }
}

/** The stack of an error, or its message. Never throws. */
export function stackOf(error: unknown): string {
  try {
    return error instanceof Error ? String(error.stack ?? error.message) : messageOf(error)
  } catch {
    return unprintable
  }
}

/** Whether it is an Error; false for a value that throws when it is looked at. */
export function isError(value: unknown): value is Error {
  try {
    return value instanceof Error
  } catch {
    return false
  }
}

const unprintable = 'a value that cannot be shown'

/** A short text of any value for error messages. Never throws. */
export function show(value: unknown): string {
  try {
    return render(value)
  } catch {
    return unprintable
  }
}

function render(value: unknown): string {
  // both ends: a path says at its end what it is of
  if (typeof value === 'string')
    return JSON.stringify(value.length > 60 ? `${value.slice(0, 27)}...${value.slice(-30)}` : value)
  if (typeof value === 'function')
    return typeof value.name === 'string' && value.name ? `function ${value.name}` : 'a function'
  if (Array.isArray(value)) return `an array of ${value.length}`
  if (value instanceof Promise) return 'a promise, which wants an await'
  if (value instanceof URL) return `the URL ${render(value.href)}`
  if (typeof value === 'object' && value !== null)
    return `${kindOf(value)} with keys [${Object.keys(value).slice(0, 5).join(', ')}]`
  return String(value)
}

/** What has a class is known by its name: most of what it has is no key. */
function kindOf(value: object): string {
  const { constructor: maker } = value as { readonly constructor?: unknown }
  const name = typeof maker === 'function' && maker !== Object ? String(maker.name) : ''
  return /^\w{1,40}$/.test(name) && name !== 'Object' ? `an object of class ${name}` : 'an object'
}
