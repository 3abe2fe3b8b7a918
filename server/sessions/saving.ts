import type { Deferred } from '../../runtime/process/behaviour.js'
import type { ActorContext } from '../../runtime/process/context.js'
import { isPromise } from '../../runtime/base/promise.js'
import type { TaskSupervisor } from '../../runtime/tasks/supervisor.js'
import { recordSession, type Session } from './session.js'
import type { Holdings } from '../holdings/holdings-actor.js'
import type { ServerError } from '../base/errors.js'
import { isRefusal } from '../engine/refusal.js'
import { isSessionRecord } from '../engine/session-store.js'
import type { Draft } from './session-actor.js'

/** Milliseconds a store has for an answer. */
const storeTime = 5_000
/** Milliseconds to find the changes that a store refuses. */
const mendTime = 30_000

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

/**
 * Saves what the session keeps. Changes of state that the store refuses as such are undone, and those who have
 * seen them find it in `session.undone`. Rejects with what the store throws otherwise, and when it takes longer
 * than 5 s.
 */
export async function saveSession(session: Session): Promise<void> {
  const { changes } = session
  do {
    if (session.mending !== undefined) await session.mending
    const seen = session.changes
    const refused = await trySave(session, await session.self.call('draft', undefined))
    if (refused !== undefined) session.mending ??= startMending(session, refused)
    else if (session.mending === undefined) return noteSaved(session, seen)
    // what was just saved may be missing in what is tried meanwhile
    await session.mending
    // it may have begun before the last of them
  } while (session.saved < changes)
}

/** A task of its own: whoever has begun it may end before. */
function startMending(session: Session, refused: ServerError): Promise<void> {
  const how = { name: 'session store', timeout: mendTime, report: false }
  const { result } = session.tasks.start(() => mend(session, refused), how)
  return result.finally(() => {
    session.mending = undefined
  })
}

/**
 * Saves the changes of state one after the other, the oldest first, and undoes each that is refused: what others
 * have changed stays, and nobody changes anything meanwhile. Rejects with the refusal if it is not the state that
 * is refused.
 */
async function mend(session: Session, refused: ServerError): Promise<void> {
  const { self, state } = session
  const before = await self.call('draft', 0)
  // what was changed until now is done
  const { changes } = session
  const { unsaved } = state
  if (unsaved.length === 0 || (await trySave(session, before)) !== undefined) throw refused
  for (const change of unsaved) {
    const problem = await trySave(session, await self.call('draft', change))
    if (problem !== undefined) await self.call('undo', { change, problem })
  }
  noteSaved(session, changes)
}

/** Answers why the store refuses the record as such. Rejects with anything else that it throws. */
async function trySave(session: Session, { record, upTo }: Draft): Promise<ServerError | undefined> {
  const { tasks, holdings } = session
  try {
    const saving: unknown = holdings.store.save(record)
    const refused = isPromise(saving)
      ? await askStoreOf(holdings, tasks, () => Promise.resolve(saving).then(() => undefined, orRefusal))
      : undefined
    if (refused === undefined) session.state.noteSaved(record.state, upTo, record.version)
    return refused
  } catch (error) {
    return orRefusal(error)
  }
}

function orRefusal(error: unknown): ServerError {
  if (isRefusal(error)) return error
  throw error
}

function noteSaved(session: Session, changes: number): void {
  session.saved = Math.max(session.saved, changes)
}

/** Saves unless so many changes are saved already. Answers whether it did; rejects like `saveSession`. */
export async function saveSeen(session: Session, changes: number): Promise<boolean> {
  if (changes <= session.saved) return false
  await saveSession(session)
  return true
}

/** A store forgets what is not saved for long. What it throws is reported; the next timer tries again. */
export function saveInUse(session: Session): void {
  const { tasks, holdings } = session
  if (!tasks.ref.alive) return
  const record = recordSession(session)
  askStoreOf(holdings, tasks, () => holdings.store.save(record)).catch((error) =>
    mendIfRefused(session, error),
  )
}

/** Nobody waits for it: what a call has left that is over, or was cancelled, is undone. */
export function mendIfRefused(session: Session, error: unknown): void {
  if (isRefusal(error) && session.tasks.ref.alive) saveSession(session).catch(() => {})
}

/** Tells a shared store before the client hears that its notification was taken. Faults are reported. */
export function shareConfirmation(session: Session, ctx: ActorContext): Deferred<undefined> | undefined {
  const { tasks, holdings } = session
  if (holdings.store.shared !== true || session.isConfirmed || !tasks.ref.alive) return undefined
  session.isConfirmed = true
  const record = recordSession(session)
  const reply = ctx.defer<undefined>()
  const answer = (): void => reply.resolve(undefined)
  askStoreOf(holdings, tasks, () => holdings.store.save(record)).then(answer, answer)
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
