import { lastingWorld } from '../../runtime/process/context.js'
import { LocalEngine, type OpenEngine } from './local-engine.js'
import { SealedIds, type SealedOptions } from './sealed-ids.js'
import { MemorySessions } from './session-store.js'
import { createMemoryTaskStore } from './task-store.js'

/**
 * An engine without storage: the id of a session says, sealed, what it is (revision, client, capabilities,
 * owner), so that every program with the keys continues it. Its state (`ctx.update`), log level, subscriptions
 * and end are known to the program that heard of them, until that ends; so are tasks. Cursors and
 * `requestState` are sealed with the same keys. Throws ServerError BAD_OPTION.
 */
export function sealed(options: SealedOptions): LocalEngine {
  const ids = new SealedIds(options)
  let open: OpenEngine | undefined
  return new LocalEngine({
    name: 'sealed ids',
    outlives: true,
    ids,
    async open(ctx, limits) {
      const { now } = lastingWorld(ctx.world)
      open ??= {
        sessions: new MemorySessions(limits, now),
        tasks: createMemoryTaskStore(),
        secrets: options.keys,
      }
      return open
    },
  })
}
