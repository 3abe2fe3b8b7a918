import { lastingWorld } from '../../runtime/process/context.js'
import { LocalEngine, type OpenEngine } from './local-engine.js'
import { MemorySessions } from './session-store.js'
import { createMemoryTaskStore } from './task-store.js'

/**
 * The default engine: sessions and tasks survive whatever dies in the program, and not the program's end. It
 * keeps them for as long as it is there itself: a server that is started with the same one goes on with them.
 */
export function inMemory(): LocalEngine {
  let open: OpenEngine | undefined
  return new LocalEngine({
    name: 'memory',
    outlives: false,
    async open(ctx, limits) {
      const { now } = lastingWorld(ctx.world)
      open ??= { sessions: new MemorySessions(limits, now), tasks: createMemoryTaskStore() }
      return open
    },
  })
}
