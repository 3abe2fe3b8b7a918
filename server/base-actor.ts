import { defineActor, refuse } from '../runtime/behaviour.js'
import type { ActorContext } from '../runtime/context.js'
import { DynamicSupervisor } from '../runtime/dynamic-supervisor.js'
import { show } from '../runtime/errors.js'
import { describe } from '../runtime/inspect.js'
import type { RefOf } from '../runtime/ref.js'
import type { TimerRef } from '../runtime/timers.js'
import type { Component } from './catalog.js'
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

const keyField = Object.freeze({
  tool: 'name',
  resource: 'uri',
  resourceTemplate: 'uriTemplate',
  prompt: 'name',
})

/** What a server offers, what comes and goes while it runs included, and who tells the sessions of a change. */
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
    add(base, component: Component, ctx) {
      const { kind, name } = component
      const { catalog } = base.holdings
      if (!catalog.declares(component)) {
        const problem = `${kind} ${show(name)}: the server does not declare this kind: give defineServer an empty array of it`
        return refuse(new ServerError('BAD_DEFINITION', problem, { data: { field: kind } }))
      }
      if (!catalog.add(component)) {
        const key = keyField[kind]
        const problem = `${kind} ${show(Reflect.get(component, key))}: expected a ${key} that no other ${kind} has`
        return refuse(new ServerError('BAD_DEFINITION', problem, { data: { field: key } }))
      }
      announce(base, ctx)
      return undefined
    },
    remove(base, { kind, key }: { kind: Component['kind']; key: string }, ctx) {
      const removed = base.holdings.catalog.remove(kind, key)
      if (removed) announce(base, ctx)
      return removed
    },
    resourceUpdated: (base, uri: string, ctx) =>
      tellSessions(base, ctx, (session) => void session.cast('updated', uri)),
  },
  info: {
    async timer(base, _payload, ctx) {
      base.announcement = undefined
      await tellSessions(base, ctx, (session) => void session.cast('changed'))
    },
  },
})

function announce(base: Base, ctx: ActorContext): void {
  base.announcement ??= ctx.sendAfter(coalesce)
}

/** Sessions that do not run now find out by themselves when they are brought back. */
async function tellSessions(
  { holdings }: Base,
  ctx: ActorContext,
  tell: (session: RefOf<typeof sessionActor>) => void,
): Promise<void> {
  const supervisor = ctx.registry.whereis(holdings.settings.names.sessions)
  if (supervisor === undefined) return
  for (const { ref } of await new DynamicSupervisor(supervisor).children()) {
    if (ref?.alive) tell(ref as RefOf<typeof sessionActor>)
  }
}
