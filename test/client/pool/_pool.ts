import { type ClientPool, type PoolEvent, type PoolOptions, startClientPool } from 'caduceus/client'
import { type Heard, heard } from '../../support/heard.js'
import type { TestContext } from '../../support/suite.js'
import { raw, rawNear } from '../_raw.js'

/** A pool under test. */
export type WatchedPool = {
  readonly pool: ClientPool
  readonly events: Heard<PoolEvent>
  /** What the raw servers said on standard error. */
  readonly said: Heard<string>
  event(type: PoolEvent['type'], member?: string): Promise<PoolEvent>
  /** Calls of each member so far. */
  served(): Record<string, number>
}

/** Starts a pool, by default of raw servers in this process; it is closed with the test. */
export function startPool(t: TestContext, options: Partial<PoolOptions> = {}): Promise<WatchedPool> {
  const said = heard<string>()
  return watchPool(t, { transport: rawNear({}, said.add), ...options }, said)
}

/** As `startPool`; each raw server is a program. */
export function startProgramPool(t: TestContext, options: Partial<PoolOptions> = {}): Promise<WatchedPool> {
  const said = heard<string>()
  return watchPool(t, { transport: raw([], { stderr: said.add }), ...options }, said)
}

async function watchPool(
  t: TestContext,
  options: Partial<PoolOptions> & Pick<PoolOptions, 'transport'>,
  said: Heard<string>,
): Promise<WatchedPool> {
  const pool = await startClientPool({
    size: 2,
    health: false,
    logger: false,
    client: { backoff: { base: 1, cap: 1 } },
    ...options,
  })
  t.after(() => pool.close())
  const events = heard<PoolEvent>()
  pool.onEvent(events.add)
  return {
    pool,
    events,
    said,
    event: (type, member) =>
      events.next((event) => event.type === type && (member === undefined || event.member === member)),
    served: () => Object.fromEntries(pool.members().map(({ name, served }) => [name, served])),
  }
}
