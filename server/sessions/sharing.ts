import type { Deferred } from '../../runtime/process/behaviour.js'
import type { ActorContext } from '../../runtime/process/context.js'
import { recordSession, type Session } from './session.js'
import { confirmationElsewhere } from './confirmation.js'
import { storeTime } from './saving.js'

/**
 * The client has confirmed the session here: other programs that have it are told by the store, before the
 * client hears that it was heard.
 */
export function shareConfirmation(session: Session, ctx: ActorContext): Deferred<undefined> | undefined {
  const { store, tasks } = session
  if (store.shared !== true || session.isConfirmed || !tasks.ref.alive) return undefined
  session.isConfirmed = true
  const record = recordSession(session)
  const reply = ctx.defer<undefined>()
  const answer = (): void => reply.resolve(undefined)
  // what it throws is reported; the next record says so as well
  const saving = tasks.start(async () => store.save(record), { name: 'session store', timeout: storeTime })
  saving.result.then(answer, answer)
  return reply
}

/**
 * The session is told what it learns; what the store throws is reported, and found out again at the next
 * message.
 */
export function learnConfirmation(session: Session): void {
  if (session.phase !== 'initializing') return
  confirmationElsewhere(session)
    .then((record) => (record?.initialized === true ? session.self.call('adopt', record) : undefined))
    .catch(() => {})
}
