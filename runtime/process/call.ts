import { Deadline } from '../time/deadlines.js'
import { RuntimeError } from '../base/errors.js'
import { type ExitReason, formatReason } from '../base/exit.js'
import { handled, isPromise } from '../base/promise.js'
import type { TurnoverSet } from '../base/turnover.js'
import type { Process } from './process.js'

/** A call that waits for a reply, the end of the server, or the deadline. */
export class Call extends Deadline {
  readonly promise: Promise<unknown>
  readonly #actor: Process
  readonly #name: string
  /** Milliseconds that the caller waits. */
  readonly ms: number
  #open = true
  #deferred: TurnoverSet<Call> | null = null
  #resolve: (value: unknown) => void = unreachable
  #reject: (error: unknown) => void = unreachable

  constructor(actor: Process, name: string, ms: number) {
    super()
    this.#actor = actor
    this.#name = name
    this.ms = ms
    this.promise = new Promise((resolve, reject) => {
      this.#resolve = resolve
      this.#reject = reject
    })
    actor.tree.deadlines.arm(this, ms)
  }

  /** Whether the caller still waits; after a timeout a reply is dropped. */
  get open(): boolean {
    return this.#open
  }

  resolve(value: unknown): void {
    if (!this.#close()) return
    if (isPromise(value)) void handled(this.promise)
    this.#resolve(value)
  }

  /** Marked handled first: a rejection that nobody awaits is never fatal. */
  reject(error: unknown): void {
    if (!this.#close()) return
    void handled(this.promise)
    this.#reject(error)
  }

  expire(): void {
    const { name } = this.#actor
    const { mailbox, during } = this.#actor.doing()
    const message = `${name}.${this.#name}: no reply within ${this.ms} ms (${mailbox} messages waiting, busy with ${during})`
    this.reject(
      new RuntimeError('TIMEOUT', message, {
        retryable: true,
        data: { actor: name, call: this.#name, ms: this.ms },
      }),
    )
  }

  /** The server has ended: fails at once, not after the timeout. */
  fail(reason: ExitReason, code: 'EXITED' | 'NOPROC' = 'EXITED'): void {
    if (this.#open) this.reject(exitedError(code, this.#actor.name, this.#name, reason))
  }

  /** Deferred: it fails with the actor unless it is settled first. */
  defer(deferred: TurnoverSet<Call>): void {
    if (!this.#open) return
    deferred.add(this)
    this.#deferred = deferred
  }

  #close(): boolean {
    if (!this.#open) return false
    this.#open = false
    this.#deferred?.delete(this)
    this.#actor.tree.deadlines.disarm(this)
    return true
  }
}

/** NOPROC: the server had ended; EXITED: it ended before its reply. */
export function exitedError(
  code: 'EXITED' | 'NOPROC',
  actor: string,
  call: string,
  reason: ExitReason,
): RuntimeError {
  const what = code === 'NOPROC' ? 'is not running' : 'ended before it replied'
  const lost = reason.type === 'noconnection' && code === 'EXITED'
  const message = `${actor}.${call}: ${actor} ${what} (${formatReason(reason)})`
  return new RuntimeError(lost ? 'NOCONNECTION' : code, message, {
    retryable: true,
    data: { actor, call, reason, sent: code === 'EXITED' },
    ...('error' in reason ? { cause: reason.error } : {}),
  })
}

/** A rejected promise, marked handled: for errors before anything was sent. */
export function refused(error: unknown): Promise<never> {
  return handled(Promise.reject(error))
}

function unreachable(): never {
  throw new Error('a promise executor runs at once')
}
