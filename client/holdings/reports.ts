import type { LoggingLevel, LoggingMessageParams } from '../../protocol/messages/logging.js'
import { throttle } from '../../runtime/base/throttle.js'
import { emitClient, isHeard, type LogEvent, type WarningEvent } from '../base/events.js'
import type { ClientState } from '../base/state.js'

const levels: { readonly [Level in LoggingLevel]: LogEvent['level'] } = Object.freeze({
  debug: 'debug',
  info: 'info',
  notice: 'info',
  warning: 'warn',
  error: 'error',
  critical: 'error',
  alert: 'error',
  emergency: 'error',
})

/** The `warning` and `log` events of one client; each kind is bounded on its own. */
export class Reports {
  readonly #client: { readonly name: string; readonly tree: number }
  readonly #now: () => number
  #limits: Map<string, () => number | undefined> | undefined
  /** Since it was ready. */
  #failures = 0
  /** The next attempt that is told. */
  #told = 1

  constructor(client: { readonly name: string; readonly tree: number }, now: () => number) {
    this.#client = client
    this.#now = now
  }

  warn(type: WarningEvent['type'], reason: string, tool?: string): void {
    const facts = isHeard('warning') ? this.#facts('warning') : undefined
    if (facts === undefined) return
    const about = tool === undefined ? {} : { tool: tool.slice(0, 100) }
    emitClient('warning', () => ({ ...facts, level: 'warn', type, ...about, reason }))
  }

  log({ level: type, logger, data }: LoggingMessageParams): void {
    const level = levels[type]
    const facts = isHeard('log') ? this.#facts(level) : undefined
    if (facts === undefined) return
    const from = logger === undefined ? {} : { logger: logger.slice(0, 100) }
    const text = typeof data === 'string' ? data : JSON.stringify(data)
    emitClient('log', () => ({ ...facts, level, type, ...from, data: text.slice(0, 500) }))
  }

  /** Warns of failed attempts: the 1st, 10th, 100th and so on, and the final one. */
  look(before: ClientState, { phase, reason }: ClientState): void {
    if (phase === 'ready') {
      this.#failures = 0
      this.#told = 1
    } else if (reason === undefined || before.phase === phase) return
    else if (phase === 'failed') this.warn('connect_failed', `trying again is of no use: ${reason.message}`)
    else if (phase === 'disconnected' && isAttempt(before)) {
      this.#failures += 1
      if (this.#failures < this.#told) return
      this.#told *= 10
      const attempt = `attempt ${this.#failures} to connect failed`
      this.warn('connect_failed', `${attempt}, more follow: ${reason.message}`)
    }
  }

  /** Undefined: held back. */
  #facts(kind: string): Pick<WarningEvent, 'client' | 'tree' | 'heldBack'> | undefined {
    this.#limits ??= new Map()
    const limit = this.#limits.get(kind) ?? throttle(this.#now)
    this.#limits.set(kind, limit)
    const heldBack = limit()
    if (heldBack === undefined) return undefined
    const { name: client, tree } = this.#client
    return { client, tree, ...(heldBack > 0 && { heldBack }) }
  }
}

function isAttempt({ phase }: ClientState): boolean {
  return phase === 'connecting' || phase === 'initializing'
}
