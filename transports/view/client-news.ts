import { onChannel } from '../../runtime/faults/events.js'
import type { Timeline } from '../../runtime/watch/timeline.js'

/**
 * Adds what happens to clients and sessions, of the floors above this one, to a timeline until it is disposed
 * of.
 */
export function watchClients(timeline: Timeline): Disposable {
  const undo = [
    onChannel('caduceus.client.state', (event) => {
      const { client, tree, phase, attempt, code } = event as {
        client: string
        tree: number
        phase: string
        attempt: number
        code?: string | number
      }
      const again = attempt > 1 ? `, attempt ${attempt}` : ''
      const why = code === undefined ? '' : ` (${code})`
      timeline.add({ what: 'client', tree, name: client, text: `${phase}${again}${why}` })
    }),
    // a session that comes back is a new child: no supervisor restarts it
    onChannel('caduceus.server.session', (event) => {
      const { server, tree, process, type } = event as {
        server: string
        tree: number
        process: number
        type: string
      }
      if (type !== 'restored') return
      timeline.add({ what: 'restart', tree, name: 'session', process, text: `runs again, of ${server}` })
    }),
  ]
  return {
    [Symbol.dispose]() {
      for (const each of undo) each()
    },
  }
}
