import type { ActorContext } from '../../runtime/process/context.js'
import { normal } from '../../runtime/base/exit.js'
import { recordSession, type Session } from './session.js'
import { storeTime } from './saving.js'

/**
 * Ends a session whose time is up, or that nobody has used for long enough; otherwise looks again when that
 * may be so.
 */
export function expireIfIdle(session: Session, ctx: ActorContext): void {
  const { idleTimeout } = session.holdings.settings
  const inUse = session.requests.size > 0 || session.readers.size > 0
  const unused = inUse ? idleTimeout / 2 : idleTimeout - (session.now() - session.lastActive)
  const left = Math.min(unused, session.endsAt - session.now())
  if (left <= 0) return ctx.stop(normal)
  if (inUse && session.tasks.ref.alive) saveInUse(session)
  ctx.sendAfter(left)
}

/**
 * A store forgets what is not saved for long, and a session that is only listened to has no request that
 * would save it.
 */
function saveInUse(session: Session): void {
  const { store, tasks } = session
  const record = recordSession(session)
  const how = { name: 'session store', timeout: storeTime }
  // what it throws is reported, and the next time comes
  tasks.start(async () => store.save(record), how).result.catch(() => {})
}
