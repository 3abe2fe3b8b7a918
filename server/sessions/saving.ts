import { isPromise } from '../../runtime/base/promise.js'
import type { TaskSupervisor } from '../../runtime/tasks/supervisor.js'
import type { SessionRecord, SessionStore } from '../stores/session-store.js'

/** Milliseconds a store has for an answer. */
export const storeTime = 5_000

/** Where a session saves, and what runs for it. */
export interface Saving {
  readonly store: SessionStore
  readonly tasks: TaskSupervisor
}

/**
 * Resolves when the store has the record. Rejects with what the store throws, and when it does not answer
 * within 5 s.
 */
export async function saveInTime({ store, tasks }: Saving, record: SessionRecord): Promise<void> {
  const saving: unknown = store.save(record)
  if (!isPromise(saving)) return
  await tasks.start(async () => saving, { name: 'session store', timeout: storeTime }).result
}
