import { defineActor } from '../../runtime/process/behaviour.js'
import type { ActorContext } from '../../runtime/process/context.js'
import { emit } from '../../runtime/faults/events.js'
import { describe } from '../../runtime/watch/inspect.js'
import { processOf } from '../../runtime/process/ref.js'
import type { Connections } from './connections.js'
import type { ListenScope, ServerPort } from '../contract/contract.js'

/** What a listener on connections is started with. */
export interface ConnectionListenerInput {
  readonly connections: Connections
  readonly server: ServerPort
  readonly scope: ListenScope
}

/** Serves connections that outlive it; what one of them brings is handled in its scope. */
export const connectionListener = defineActor({
  name: 'connection_listener',
  trapExit: true,
  stray: 'report',
  init({ connections, server, scope }: ConnectionListenerInput, ctx: ActorContext) {
    const { id: tree } = processOf(ctx.self).tree
    const report = (error: unknown): void =>
      emit('stray', () => ({
        tree,
        error,
        kind: 'rejection',
        owner: 'connection_listener',
        outcome: 'reported',
      }))
    const run = ctx.bind((fn: () => void) => fn())
    ctx.own(connections.serve({ server, run, report }))
    const about = (): string => connections.describe()
    return { connections, scope, [describe]: about }
  },
  terminate: ({ connections, scope }, _reason, ctx) =>
    scope.stopping() ? connections.drain(scope.drainTimeout, ctx.clock) : undefined,
})
