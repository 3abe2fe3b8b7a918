import { callError, type ClientError, givenUpError } from '../base/errors.js'
import type { PoolDesk } from './desk.js'
import type { PoolMember } from './member.js'
import { readCount, readMs } from '../base/read-options.js'
import { listenForAbort } from '../../runtime/time/wait.js'

/** How many members have to be ready, and until when. */
export interface ReadyWait {
  /** Default all of them. */
  readonly count?: number | undefined
  /** In ms. Default 30,000. */
  readonly timeout?: number | undefined
  readonly signal?: AbortSignal | undefined
  /**
   * Whether to give up as soon as too many members failed for good: another try might come, but not soon.
   * Default false.
   */
  readonly impatient?: boolean
}

/**
 * Resolves once so many members of a pool are ready. Rejects with BAD_OPTION, NOT_READY, CLOSED, GAVE_UP, or
 * if impatient CONNECT_FAILED with the cause.
 */
export async function whenReady(desk: PoolDesk, wait: ReadyWait): Promise<void> {
  const { impatient = false } = wait
  const count = wait.count === 0 ? 0 : readCount(wait.count, 'count', Math.max(1, desk.members.size))
  const timeout = readMs(wait.timeout, 'timeout', 30_000)
  const done = desk.demand.begin()
  await until(desk, { timeout, signal: wait.signal }, () => {
    const members = [...desk.members.values()]
    if (members.filter(({ fit, leaving }) => fit && !leaving).length >= count) return true
    const hopeless = members.filter((member) => member.hopeless)
    if (impatient && members.length - hopeless.length < count) throw failed(desk, hopeless[0]?.reason)
    return false
  })
    .finally(done)
    .then((enough) => {
      if (!enough) throw notReady(desk, count, timeout)
    })
}

/** Resolves once nobody uses a member any more, or `timeout` ms are over. */
export async function whenIdle(desk: PoolDesk, member: PoolMember, timeout: number): Promise<void> {
  await until(desk, { timeout }, () => member.pending === 0 || desk.over !== undefined)
}

/**
 * Resolves with true once `look` answers true, with false when the time is over; rejects with what it throws,
 * when the desk has closed, or the signal aborts.
 */
function until(
  desk: PoolDesk,
  { timeout, signal }: { readonly timeout: number; readonly signal?: AbortSignal | undefined },
  look: () => boolean,
): Promise<boolean> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(givenUpError('ready', signal.reason))
    let unlook = (): void => {}
    const late = (): void => {
      unlook()
      finish(() => resolve(false))
    }
    const giveUp = (): void => {
      unlook()
      finish(() => reject(givenUpError('ready', signal?.reason)))
    }
    const timer = Number.isFinite(timeout) ? desk.clock.setTimeout(late, timeout) : undefined
    const finish = (settle: () => void): true => {
      if (timer !== undefined) desk.clock.clearTimeout(timer)
      unlisten?.()
      settle()
      return true
    }
    const unlisten = signal === undefined ? undefined : listenForAbort(signal, giveUp)
    unlook = desk.lookUntil(() => {
      try {
        if (look()) return finish(() => resolve(true))
        const { over } = desk
        return over !== undefined && finish(() => reject(over('ready')))
      } catch (error) {
        return finish(() => reject(error))
      }
    })
  })
}

function failed({ settings }: PoolDesk, cause: Error | undefined): ClientError {
  const why = cause === undefined ? '' : `: ${cause.message}`
  return callError('CONNECT_FAILED', `too many members of ${settings.name} cannot be ready${why}`, {
    sent: false,
    retryable: false,
    cause,
  })
}

function notReady(desk: PoolDesk, count: number, timeout: number): ClientError {
  const message = `${desk.settings.name} did not have ${count} members ready within ${timeout} ms (${desk.describe()})`
  return callError('NOT_READY', message, { sent: false })
}
