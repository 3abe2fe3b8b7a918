import { lastingWorld } from '../../runtime/process/context.js'
import { optionError } from '../base/errors.js'
import { LocalEngine, type OpenEngine } from './local-engine.js'
import { MemorySessions } from './session-store.js'
import { createMemoryTaskStore } from './task-store.js'
import { MemoryValues } from './values.js'

/**
 * The default engine: sessions and tasks survive whatever dies in the program, and not the program's end. It
 * keeps them for as long as it is there itself: a server that is started with the same one goes on with them,
 * once the one before has ended. Two servers at a time are refused (BAD_OPTION).
 */
export function inMemory(): LocalEngine {
  let open: OpenEngine | undefined
  let isTaken = false
  return new LocalEngine({
    name: 'memory',
    outlives: false,
    async open(ctx, limits) {
      if (isTaken)
        throw optionError('engine', 'engine: another server runs with this inMemory(): give each its own')
      isTaken = true
      ctx.own(() => {
        isTaken = false
      })
      const { now, randomBytes } = lastingWorld(ctx.world)
      open ??= {
        sessions: new MemorySessions(limits, now),
        tasks: createMemoryTaskStore(),
        values: new MemoryValues(now),
        secrets: [randomBytes(32)],
      }
      return open
    },
  })
}
