import { waitWithin } from '../../runtime/time/wait.js'
import { callError, type ClientError, givenUpError } from '../base/errors.js'
import { readCount } from '../base/read-options.js'
import type { PoolDesk } from './desk.js'
import type { PoolMember } from './member.js'

interface ReadyWait {
  /** Default all. */
  readonly count?: number | undefined
  /** In ms. */
  readonly timeout: number
  readonly signal?: AbortSignal | undefined
  /** Gives up once too many have failed, though they are started again later. */
  readonly impatient?: boolean
}

/** Rejects with BAD_OPTION, NOT_READY, CLOSED, GAVE_UP, or if impatient CONNECT_FAILED with the cause. */
export async function whenReady(desk: PoolDesk, wait: ReadyWait): Promise<void> {
  const { timeout, signal, impatient = false } = wait
  const count = wait.count === 0 ? 0 : readCount(wait.count, 'count', Math.max(1, desk.members.size))
  const isReady = (): boolean => {
    const members = [...desk.members.values()]
    if (members.filter(({ fit, leaving }) => fit && !leaving).length >= count) return true
    const failed = members.filter((member) => member.failed)
    if (impatient && members.length - failed.length < count) throw failedError(desk, failed[0]?.reason)
    if (desk.over !== undefined) throw desk.over('ready')
    return false
  }
  const late = (): never => {
    const message = `${desk.settings.name} did not have ${count} members ready within ${timeout} ms (${desk.describe()})`
    throw callError('NOT_READY', message, { sent: false })
  }
  const aborted = (reason: unknown): never => {
    throw givenUpError('ready', reason)
  }
  const done = desk.demand.begin()
  const limits = { clock: desk.world, ms: timeout, late, signal, aborted }
  await waitWithin<void>(limits, (resolve, reject) => watch(desk, isReady, resolve, reject)).finally(done)
}

/** A member has nothing under way, or `timeout` ms are over. */
export async function whenIdle(desk: PoolDesk, member: PoolMember, timeout: number): Promise<void> {
  const isIdle = (): boolean => member.pending === 0 || desk.over !== undefined
  const limits = { clock: desk.world, ms: timeout, late: () => {} }
  await waitWithin<void>(limits, (resolve, reject) => watch(desk, isIdle, resolve, reject))
}

/** Settles once `look`, called now and after each change, returns true or throws. */
function watch(
  desk: PoolDesk,
  look: () => boolean,
  resolve: () => void,
  reject: (error: unknown) => void,
): () => void {
  const again = (): void => {
    try {
      if (look()) resolve()
    } catch (error) {
      reject(error)
    }
  }
  again()
  return desk.watch(again)
}

function failedError({ settings }: PoolDesk, cause: Error | undefined): ClientError {
  const why = cause === undefined ? '' : `: ${cause.message}`
  return callError('CONNECT_FAILED', `too many members of ${settings.name} cannot be ready${why}`, {
    sent: false,
    retryable: false,
    cause,
  })
}
