import type { LoggingLevel, LoggingMessageParams } from '../../protocol/messages/logging.js'
import { systemClock } from '../../runtime/time/clock.js'
import { throttle } from '../../runtime/base/throttle.js'
import { emitClient, isHeard, type LogEvent, type WarningEvent } from '../base/events.js'
import type { ClientState } from '../base/state.js'

/** The level of a line in the log for each level of MCP. */
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

/**
 * The `warning` and `log` events of one client. A flood of one kind is cut; other kinds, and clients, are
 * not.
 */
export class Reports {
  readonly #client: { readonly name: string; readonly tree: number }
  readonly #now: () => number
  #limits: Map<string, () => number | undefined> | undefined
  /** Attempts that failed since it was ready. */
  #failures = 0
  /** The attempt that is told next. */
  #told = 1

  constructor(client: { readonly name: string; readonly tree: number }, now = systemClock.now) {
    this.#client = client
    this.#now = now
  }

  /** Tells of something that the client put up with. */
  warn(type: WarningEvent['type'], reason: string, tool?: string): void {
    const facts = isHeard('warning') ? this.#facts('warning') : undefined
    if (facts === undefined) return
    const about = tool === undefined ? {} : { tool: tool.slice(0, 100) }
    emitClient('warning', () => ({ ...facts, level: 'warn', type, ...about, reason }))
  }

  /** Tells of a log message of the server. */
  log({ level: type, logger, data }: LoggingMessageParams): void {
    const level = levels[type]
    const facts = isHeard('log') ? this.#facts(level) : undefined
    if (facts === undefined) return
    const from = logger === undefined ? {} : { logger: logger.slice(0, 100) }
    const text = typeof data === 'string' ? data : JSON.stringify(data)
    emitClient('log', () => ({ ...facts, level, type, ...from, data: text.slice(0, 500) }))
  }

  /** Warns of attempts to connect that failed: the first, the 10th, the 100th and so on, and a final one. */
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

  /** Undefined: the event is held back. */
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
