import { childSpec } from '../../runtime/supervision/child-spec.js'
import { systemClock } from '../../runtime/time/clock.js'
import { dynamicSupervisorSpec } from '../../runtime/supervision/dynamic.js'
import { handled } from '../../runtime/base/promise.js'
import { Registry } from '../../runtime/process/registry.js'
import { startSupervisor, type Supervisor } from '../../runtime/supervision/supervise.js'
import { callError } from '../base/errors.js'
import { ClientPool } from './pool.js'
import { poolActor } from './actor.js'
import { PoolDesk } from './desk.js'
import { type PoolOptions, type PoolSettings, readPoolOptions } from './options.js'
import { whenReady } from './waits.js'
import { checkFree } from '../handle/supervisor.js'

/**
 * Starts a pool of clients in a supervised tree of its own, and resolves when `min` of them are ready, so
 * that no call waits for a handshake. Rejects with BAD_OPTION, naming the field; NOT_READY when they are not
 * in time, and CONNECT_FAILED with the cause as soon as so many failed that they cannot be: then everything
 * has been closed again.
 */
export function startClientPool(options: PoolOptions): Promise<ClientPool> {
  return handled(start(options))
}

async function start(options: PoolOptions): Promise<ClientPool> {
  const settings = readPoolOptions(options)
  const { min, readyTimeout, size, tree } = settings
  const registry = tree.registry ?? new Registry()
  const desk = new PoolDesk(settings, tree.clock ?? systemClock)
  for (let member = 1; member <= size; member++) desk.add()
  const pool = await plant(desk, registry, settings)
  try {
    await whenReady(desk, { count: min, timeout: readyTimeout, impatient: true })
    return pool
  } catch (error) {
    await pool.close()
    throw error
  }
}

/** The pool's actor comes after the clients: it may be restarted while they go on. */
async function plant(desk: PoolDesk, registry: Registry, { name, tree }: PoolSettings): Promise<ClientPool> {
  const actor = `pool ${name}`
  const clients = `clients of pool ${name}`
  checkFree(registry, actor, name, 'pool')
  const supervisor = await startSupervisor({
    name: actor,
    strategy: 'rest_for_one',
    ...tree,
    registry,
    children: [
      dynamicSupervisorSpec({ name: clients }, { name: clients }),
      childSpec(poolActor, { desk, clients }, { name: actor }),
    ],
  })
  desk.events.reportIn(supervisor.ref)
  return new ClientPool({ desk, registry, supervisor, clients, closed: handled(whenEnded(desk, supervisor)) })
}

/** Resolves when the pool was closed; rejects, and refuses all callers, when its tree ended in another way. */
function whenEnded(desk: PoolDesk, supervisor: Supervisor): Promise<void> {
  return new Promise((resolve, reject) => {
    supervisor.onExit(() => {
      if (desk.over !== undefined) return resolve()
      const gaveUp = (what: string) => {
        const message = `${what}: pool ${desk.settings.name} has ended for good: its tree has`
        return callError('GAVE_UP', message, { sent: false, retryable: false })
      }
      desk.end(gaveUp)
      reject(gaveUp('closed'))
    })
  })
}
