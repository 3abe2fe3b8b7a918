import type { Client, Phase } from '../../index.js'
import { subscribe } from '../../runtime/faults/events.js'
import { formatReason } from '../../runtime/base/exit.js'

/** What the runtime told while something was broken. */
export interface Observed {
  readonly died: string[]
  readonly restarted: string[]
  readonly strays: string[]
  /** The way of each connection that was lost, from ready to ready. */
  readonly connections: string[]
}

/** Listens to the reports of the runtime, and to the states of clients, until `stop` hands out what was heard. */
export function watch(clients: readonly Client[]): { stop(): Observed } {
  const observed: Observed = { died: [], restarted: [], strays: [], connections: [] }
  const ways = new Map<Client, Phase[]>(clients.map((client) => [client, [client.state.phase]]))
  const undo = [
    ...clients.map((client) => client.onState(({ phase }) => ways.get(client)?.push(phase))),
    subscribe('supervisor', ({ context, child, supervisor, reason }) => {
      if (context !== 'child_terminated') return
      const why = typeof reason === 'string' ? reason : formatReason(reason)
      observed.died.push(`${supervisor} / ${child.id}: ${why}`)
    }),
    subscribe('progress', ({ restarted, supervisor, child }) => {
      if (restarted) observed.restarted.push(`${supervisor} / ${child.id}`)
    }),
    subscribe('stray', ({ owner, error, outcome }) => {
      const message = error instanceof Error ? error.message : String(error)
      observed.strays.push(`${owner ?? 'nobody'}: ${message} (${outcome})`)
    }),
  ]
  return {
    stop() {
      for (const each of undo) each()
      for (const [{ name }, way] of ways)
        if (way.length > 1) observed.connections.push(`${name}: ${way.join(' → ')}`)
      return observed
    },
  }
}
