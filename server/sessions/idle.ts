import { normal } from '../../runtime/base/exit.js'
import type { ActorContext } from '../../runtime/process/context.js'
import { askStoreOf, rollBackAfter, saveInUse, touch } from './saving.js'
import { hibernated, recordSession, rolledBack, type Session } from './session.js'

/** Milliseconds that a client has for its first message after `initialize`. */
const firstWordTime = 30_000

/** Ends a session that is not used, has one hibernate that is quiet, and looks again later. */
export function lookAtUse(session: Session, ctx: ActorContext): void {
  const { idle, hibernateAfter } = session.holdings.settings.timeouts
  const now = session.now()
  const quiet = now - session.lastActive
  const inUse = session.requests.size > 0 || session.readers.size > 0
  const usual = session.isHeard ? idle : Math.min(firstWordTime, idle)
  // in time for another save, if one fails, before a store forgets it
  const left = Math.min(inUse ? idle / 4 : usual - quiet, session.endsAt - now)
  if (left <= 0) return ctx.stop(normal)
  if (inUse && now - session.lastSaved >= idle / 2) saveInUse(session)
  if (quiet >= hibernateAfter && mayHibernate(session)) prepare(session)
  ctx.sendAfter(Math.min(left, quiet < hibernateAfter ? hibernateAfter - quiet : hibernateAfter))
}

/** It is saved first: stores forget what is not saved for long, and the last save may have failed. */
function prepare(session: Session): void {
  const { tasks, holdings, changes, saved, self } = session
  if (session.isDrowsy || !tasks.ref.alive) return
  const isShared = holdings.store.shared === true
  const at = session.now()
  const record = isShared ? undefined : recordSession(session)
  const { version } = session
  session.isDrowsy = true
  const saving =
    record === undefined ? touch(session) : askStoreOf(holdings, tasks, () => holdings.store.save(record))
  saving.then(
    () => {
      session.isDrowsy = false
      // a shared record was saved as others have left it
      if (!isShared) session.noteSaved(at, changes)
      if (self.alive) self.cast('hibernate', version)
    },
    (error) => {
      session.isDrowsy = false // the next look tries again
      if (changes > saved) rollBackAfter(session, error)
    },
  )
}

/** Its record of this version is saved: there is nothing else of it from now on, unless something came. */
export function hibernate(session: Session, version: number, ctx: ActorContext): void {
  const { hibernateAfter } = session.holdings.settings.timeouts
  const isQuiet = session.now() - session.lastActive >= hibernateAfter
  if (!isQuiet || session.version !== version || !mayHibernate(session)) return
  leaveRecord(session, version)
  ctx.stop(hibernated)
}

/** It comes back as it was saved last, with its next message. */
export function rollBack(session: Session, ctx: ActorContext): void {
  // as if another program had written its record
  leaveRecord(session, -1)
  ctx.stop(rolledBack)
}

/** Counts as a session, and ends in time, without a process. */
function leaveRecord(session: Session, version: number): void {
  const { facts, self, holdings, readers, heard, lastActive, lastSaved: savedAt } = session
  const { idle } = holdings.settings.timeouts
  const { id: process } = self
  holdings.asleep.add({
    facts,
    process,
    version,
    savedAt: Math.trunc(savedAt),
    // whole: a fraction would cost an object of its own
    until: Math.ceil(Math.min(lastActive + idle, session.endsAt)),
    owed: readers.owed,
    heard,
  })
}

/** Whether nothing is there of it but what its record says. */
function mayHibernate(session: Session): boolean {
  const { requests, readers, notices, frame, wishes, holdings } = session
  const isAtRest = requests.size === 0 && readers.size === 0 && notices === 0
  const isItsRecord = frame.isEmpty && !session.isHeld && !wishes.areKnown
  const hasHooks = holdings.settings.definition.session !== undefined
  return session.phase === 'ready' && isAtRest && isItsRecord && !hasHooks && !session.isLeaving
}
