import { defineActor, refuse } from '../runtime/behaviour.js'
import type { ActorContext } from '../runtime/context.js'
import { DynamicSupervisor } from '../runtime/dynamic-supervisor.js'
import { show } from '../runtime/errors.js'
import { describe } from '../runtime/inspect.js'
import type { RefOf } from '../runtime/ref.js'
import type { TimerRef } from '../runtime/timers.js'
import type { ToolDefinition } from './define-tool.js'
import { ServerError } from './errors.js'
import type { Holdings } from './holdings-actor.js'
import type { sessionActor } from './session-actor.js'

interface Base {
  readonly holdings: Holdings
  /** Runs while a change has not been told yet. */
  announcement: TimerRef | undefined
  [describe](): string
}

/** Changes within this many ms are told together. */
const coalesce = 10

/** What a server is: its tools, those that come and go while it runs included, and who tells the sessions of a change. */
export const baseActor = defineActor({
  name: 'base',
  stray: 'report',
  init: (holdings: Holdings): Base => ({
    holdings,
    announcement: undefined,
    [describe]: () =>
      `${holdings.settings.definition.info.name} ${holdings.settings.definition.info.version}`,
  }),
  call: {
    addTool(base, tool: ToolDefinition, ctx) {
      if (!base.holdings.catalog.add(tool)) {
        const problem = `tool ${show(tool.name)}: expected a name that no other tool has`
        return refuse(new ServerError('BAD_DEFINITION', problem, { data: { field: 'name' } }))
      }
      announce(base, ctx)
      return undefined
    },
    removeTool(base, name: string, ctx) {
      const removed = base.holdings.catalog.remove(name)
      if (removed) announce(base, ctx)
      return removed
    },
  },
  info: {
    async timer(base, _payload, ctx) {
      base.announcement = undefined
      await tellSessions(base, ctx)
    },
  },
})

function announce(base: Base, ctx: ActorContext): void {
  base.announcement ??= ctx.sendAfter(coalesce)
}

/** Sessions that do not run now find out by themselves when they are brought back. */
async function tellSessions({ holdings }: Base, ctx: ActorContext): Promise<void> {
  const supervisor = ctx.registry.whereis(holdings.settings.names.sessions)
  if (supervisor === undefined) return
  for (const { ref } of await new DynamicSupervisor(supervisor).children()) {
    if (ref?.alive) (ref as RefOf<typeof sessionActor>).cast('changed')
  }
}
