import type { ChildSpec } from '../runtime/child-spec.js'
import type { ActorContext } from '../runtime/context.js'
import { type DynamicSupervisor, dynamicSupervisorAt } from '../runtime/dynamic-supervisor.js'
import { RuntimeError } from '../runtime/errors.js'
import type { ProcessRef } from '../runtime/ref.js'
import type { Client } from './client.js'
import { specOf } from './client-supervisor.js'
import type { Demand } from './demand.js'
import type { PoolMember } from './pool-member.js'

/** Starts the tree of a member's client below the dynamic supervisor of that name. Rejects when that is not there, or the start fails. */
export async function startClientOf(
  member: PoolMember,
  { clients, demand }: { readonly clients: string; readonly demand: Demand },
  ctx: ActorContext,
): Promise<void> {
  const supervisor = supervisorOf(clients, ctx)
  if (supervisor === undefined) throw new RuntimeError('NOPROC', `nobody is called ${clients}`)
  await supervisor.startChild(memberSpec(member, demand))
}

/** Ends the tree of a client that has no connection any more; its end is heard of like any other. */
export function endClient(clients: string, ref: ProcessRef, ctx: ActorContext): void {
  // It may have ended by itself, or with its supervisor.
  void supervisorOf(clients, ctx)
    ?.terminateChild(ref)
    .catch(() => {})
}

/** A temporary child: that it is started again is a matter of the pool, so that one which keeps ending costs no other. */
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
      return started
    },
  }
}

function supervisorOf(name: string, ctx: ActorContext): DynamicSupervisor | undefined {
  const ref = ctx.registry.whereis(name)
  return ref === undefined ? undefined : dynamicSupervisorAt(ref)
}
