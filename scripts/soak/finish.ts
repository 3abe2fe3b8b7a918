import { setTimeout as sleep } from 'node:timers/promises'
import { callTimeout, type Caller } from './calls.js'
import { type Ledger, showOutcome } from './ledger.js'
import type { Member } from './members.js'
import type { Recovery } from './recovery.js'
import type { Violations } from './violations.js'

/** What the end of a run is judged by. */
export interface FinishParts {
  readonly members: readonly Member[]
  readonly caller: Caller
  readonly ledger: Ledger
  readonly recovery: Recovery
  readonly violations: Violations
  readonly now: () => number
  readonly readyWithin: number
}

/** Milliseconds in which a change is told. */
const changeWithin = 5_000
/** Milliseconds after which a stream that had to be opened anew is there. */
const calm = 2_000

/** When nothing breaks any more: everyone is ready, every call is settled, one more succeeds, and every subscription is alive. */
export async function finish(parts: FinishParts): Promise<void> {
  const { members, caller, ledger, recovery, violations, now, readyWithin } = parts
  const until = waiter(now)
  // Somebody who was ready may find out only now that its server is another one.
  const allReady = (): boolean => members.every(({ client }) => client.state.phase === 'ready')
  const over = new AbortController()
  const { signal } = over
  for (const { client } of members)
    client.ready({ timeout: Number.POSITIVE_INFINITY, signal }).catch(() => {})
  for (let looks = 0; looks < 3 && (looks === 0 || !allReady()); looks++) await until(allReady, readyWithin)
  over.abort()
  recovery.check(now())
  for (const { name, client } of members)
    if (client.state.phase !== 'ready')
      violations.add('not ready in the end', `${name}: ${client.state.phase}`)
  await until(() => ledger.open === 0, callTimeout)
  ledger.overdue(Number.POSITIVE_INFINITY)
  await until(() => false, calm)
  await Promise.all(
    members.map(async (member) => {
      const outcome = await caller.make(member, 'echo')
      if (outcome.code !== 'ok') violations.add('last call failed', `${member.name}: ${showOutcome(outcome)}`)
    }),
  )
  const subscribed = members.filter(({ style }) => style !== 'everything')
  await Promise.all(subscribed.map((member) => hearsChange(member, { caller, violations, until })))
}

type Until = (holds: () => boolean, most: number) => Promise<void>

async function hearsChange(
  member: Member,
  { caller, violations, until }: Pick<FinishParts, 'caller' | 'violations'> & { readonly until: Until },
): Promise<void> {
  const before = member.updates
  await caller.make(member, 'touch')
  await until(() => member.updates > before, changeWithin)
  if (member.updates === before) violations.add('subscription dead', member.name)
}

/** Waits until something holds, for so many ms at most. */
function waiter(now: () => number): Until {
  return async (holds, most) => {
    const end = now() + most
    while (!holds() && now() < end) await sleep(20)
  }
}
