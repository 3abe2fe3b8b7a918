import type { Session } from './session.js'
import { storeTime } from './saving.js'
import { isSessionRecord, type SessionRecord } from '../stores/session-store.js'

/**
 * What another program has made of a session that is not confirmed here. With a sealed id and no store, all
 * who can open it take it for confirmed, and so do we. Undefined where nobody else can know; rejects with
 * what the store throws.
 */
export async function confirmationElsewhere(
  session: Pick<Session, 'store' | 'tasks' | 'facts' | 'holdings' | 'record'>,
): Promise<SessionRecord | undefined> {
  const { store, tasks, facts, holdings, record } = session
  if (store.shared === true) {
    const load = async () => store.load(facts.id)
    const found = await tasks.start(load, { name: 'session store', timeout: storeTime }).result
    return isSessionRecord(found) && found.id === facts.id ? found : undefined
  }
  return holdings.settings.sessionIds === undefined ? undefined : { ...record, initialized: true }
}
