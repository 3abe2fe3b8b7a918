import type { Deferred } from '../../runtime/process/behaviour.js'
import type { ActorContext } from '../../runtime/process/context.js'
import { isPromise } from '../../runtime/base/promise.js'
import type { TaskSupervisor } from '../../runtime/tasks/supervisor.js'
import { recordSession, type Session } from './session.js'
import type { Holdings } from '../holdings/holdings-actor.js'
import type { ServerError } from '../base/errors.js'
import { isRefusal } from '../engine/refusal.js'
import { isSessionRecord } from '../engine/session-store.js'

/** Milliseconds a store has for an answer. */
const storeTime = 5_000

/** Asks a store in a task: it may be an author's, and throw, leave strays, or never answer. */
export function askStore<Answer>(
  tasks: TaskSupervisor,
  ask: () => Answer | Promise<Answer>,
): Promise<Answer> {
  return tasks.start<Answer>(async () => ask(), { name: 'session store', timeout: storeTime }).result
}

/**
 * The same for the store of a server. The engine of a cluster is no author's, and has deadlines of its own: what
 * it refuses is the answer to a request, and no crash.
 */
export async function askStoreOf<Answer>(
  { settings }: Holdings,
  tasks: TaskSupervisor,
  ask: () => Answer | Promise<Answer>,
): Promise<Answer> {
  return settings.engine === undefined ? askStore(tasks, ask) : ask()
}

/** Saves what the session keeps. Rejects with what the store throws, and when it takes longer than 5 s. */
export async function saveSession(session: Session): Promise<void> {
  const { self, tasks, holdings, changes } = session
  const at = session.now()
  const record = await self.call('record')
  const saving: unknown = holdings.store.save(record)
  if (isPromise(saving)) {
    const refused = await askStoreOf(holdings, tasks, async () => {
      try {
        await saving
        return undefined
      } catch (error) {
        return orRefusal(error)
      }
    })
    if (refused !== undefined) throw refused
  }
  session.noteSaved(at, changes)
}

/** A refusal is the answer of a store, and no crash of it. */
function orRefusal(error: unknown): ServerError {
  if (isRefusal(error)) return error
  throw error
}

/** Saves unless so many changes are saved already. Answers whether it did; rejects like `saveSession`. */
export async function saveSeen(session: Session, changes: number): Promise<boolean> {
  if (changes <= session.saved) return false
  await saveSession(session)
  return true
}

/** A store forgets what is not saved for long. What it throws is reported; the next timer tries again. */
export function saveInUse(session: Session): void {
  const { tasks, holdings, changes, saved } = session
  const { store } = holdings
  if (!tasks.ref.alive) return
  if (store.shared === true) return void renew(session).catch(() => {})
  const at = session.now()
  const record = recordSession(session)
  askStoreOf(holdings, tasks, () => store.save(record)).then(
    () => session.noteSaved(at, changes),
    (error) => {
      if (changes > saved) rollBackAfter(session, error)
    },
  )
}

/** Saves it without a change, so that the store sees that it is in use: once for all who ask meanwhile. */
export async function renew(session: Session): Promise<void> {
  if (session.isRenewing) return
  session.isRenewing = true
  try {
    await (session.holdings.store.shared === true ? touch(session) : saveSession(session))
  } finally {
    session.isRenewing = false
  }
}

/** Shows a shared store that it is in use: what other programs have saved is saved once more, as it is. */
export async function touch(session: Session): Promise<void> {
  const { tasks, holdings, facts } = session
  const { store } = holdings
  const at = session.now()
  const found: unknown = await askStoreOf(holdings, tasks, () => store.load(facts.id))
  if (isSessionRecord(found) && found.id === facts.id)
    await askStoreOf(holdings, tasks, () => store.save(found))
  // what fails has saved nothing: the next look at its use tries again
  session.lastSaved = Math.max(session.lastSaved, at)
}

/**
 * Whether a session that could not be saved has to come back as it was saved last. Its store refuses what it has
 * become, and would for ever; or it is shared, and others go on with it. What is lost was not acknowledged.
 */
export function mustRollBack(session: Session, error: unknown): boolean {
  return session.holdings.store.shared === true || (isRefusal(error) && !session.isBeyond)
}

/** The same, where nobody waits for an answer. */
export function rollBackAfter(session: Session, error: unknown): void {
  if (session.self.alive && mustRollBack(session, error)) session.self.cast('rollBack')
}

/** Tells a shared store before the client hears that its notification was taken. Faults are reported. */
export function shareConfirmation(session: Session, ctx: ActorContext): Deferred<undefined> | undefined {
  const { tasks, holdings } = session
  if (holdings.store.shared !== true || session.isConfirmed || !tasks.ref.alive) return undefined
  session.isConfirmed = true
  const { changes } = session
  const at = session.now()
  const record = recordSession(session)
  const reply = ctx.defer<undefined>()
  askStoreOf(holdings, tasks, () => holdings.store.save(record)).then(
    () => {
      session.noteSaved(at, changes)
      reply.resolve(undefined)
    },
    (error) => {
      reply.resolve(undefined)
      rollBackAfter(session, error)
    },
  )
  return reply
}

/** Looks up whether the client has confirmed on another node; if that fails, the next message asks again. */
export function learnConfirmation(session: Session): void {
  if (session.phase !== 'initializing') return
  adoptConfirmation(session).catch(() => {})
}

/**
 * Adopts what another program made of the session. A sealed id opened without a store counts as confirmed.
 * Rejects with what the store throws.
 */
export async function adoptConfirmation(session: Session): Promise<boolean> {
  const record = await confirmationElsewhere(session)
  if (record?.initialized !== true) return false
  await session.self.call('adopt', record)
  return true
}

async function confirmationElsewhere({ tasks, facts, holdings, record }: Session) {
  const { store, settings } = holdings
  if (store.shared === true) {
    const found: unknown = await askStoreOf(holdings, tasks, () => store.load(facts.id))
    return isSessionRecord(found) && found.id === facts.id ? found : undefined
  }
  return settings.ids === undefined ? undefined : { ...record, initialized: true as const }
}
