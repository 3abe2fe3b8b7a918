import { ignore } from '../../runtime/process/behaviour.js'
import type { ChildSpec } from '../../runtime/supervision/child-spec.js'
import type { ActorContext } from '../../runtime/process/context.js'
import { type DynamicSupervisor, dynamicSupervisorAt } from '../../runtime/supervision/dynamic.js'
import { RuntimeError } from '../../runtime/base/errors.js'
import type { ProcessRef } from '../../runtime/process/ref.js'
import type { Registry } from '../../runtime/process/registry.js'
import { supervisorAt } from '../../runtime/supervision/supervise.js'
import type { Client } from '../handle/client.js'
import { specOf } from '../handle/supervisor.js'
import type { Demand } from '../base/demand.js'
import type { PoolMember } from './member.js'

/** Where the clients of a pool live, and who waits for them. */
interface ClientsOfPool {
  /** The name of their dynamic supervisor. */
  readonly clients: string
  readonly demand: Demand
}

/**
 * Starts the tree of a member's client below the dynamic supervisor of that name. Rejects when that is not
 * there, or the start fails.
 */
export async function startClientOf(
  member: PoolMember,
  at: ClientsOfPool,
  { registry }: Pick<ActorContext, 'registry'>,
): Promise<void> {
  const supervisor = supervisorOf(at.clients, registry)
  if (supervisor === undefined) throw new RuntimeError('NOPROC', `nobody is called ${at.clients}`)
  await supervisor.startChild(memberSpec(member, at.demand))
}

/** Ends the tree of a client that has no connection any more; its end is heard of like any other. */
export function endClient(registry: Registry, clients: string, ref: ProcessRef): void {
  // It may have ended by itself, or with its supervisor.
  void supervisorOf(clients, registry)
    ?.terminateChild(ref)
    .catch(() => {})
}

/**
 * A temporary child: that it is started again is a matter of the pool, so that one which keeps ending costs
 * no other.
 */
function memberSpec(member: PoolMember, demand: Demand): ChildSpec {
  // Not as a supervisor: the runtime warns of those that stay away when they end.
  const overrides = { restart: 'temporary', type: 'worker', shutdown: 'infinity' } as const
  const spec = specOf(member.plan.settings, overrides, demand)
  return {
    ...spec,
    async start(ctx) {
      const started = (await spec.start(ctx)) as { ref: ProcessRef; extra: Client }
      // At once, so that it is known whatever becomes of the pool's actor meanwhile.
      member.ref = started.ref
      member.client = started.extra
      member.starts += 1
      if (!member.leaving) return started
      // It was removed while it was being started; the actor that wanted it may have ended as well.
      await supervisorAt(started.ref).stop()
      return ignore
    },
  }
}

function supervisorOf(name: string, registry: Registry): DynamicSupervisor | undefined {
  const ref = registry.whereis(name)
  return ref === undefined ? undefined : dynamicSupervisorAt(ref)
}
