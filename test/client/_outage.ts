import { isRequest } from 'caduceus/protocol'
import type { FakeClock } from 'caduceus/runtime'
import { type ClientTransport, type LinkEvents, TransportError } from 'caduceus/transports'

/** A server that a test takes down and brings back, and when clients tried to reach it, by the clock. */
export function outage(
  clock: FakeClock,
  options: { readonly spawns?: boolean; readonly takes?: number } = {},
) {
  const { spawns = false, takes = 0 } = options
  const links = new Set<LinkEvents>()
  const attempts: number[] = []
  const gone = { error: new TransportError('CONNECT_FAILED', 'nobody listens', { retryable: true }) }
  let up = true
  const transport: ClientTransport = {
    name: 'outage',
    spawns,
    connect(events, scope) {
      attempts.push(clock.now())
      const decide = (): void => {
        if (!up) return events.closed(gone)
        links.add(events)
        events.opened()
      }
      if (takes === 0) decide()
      else scope.clock.setTimeout(decide, takes)
      return {
        send(_, message) {
          if (!isRequest(message)) return
          const serverInfo = { name: 'outage', version: '1' }
          const result = { protocolVersion: '2025-11-25', capabilities: {}, serverInfo }
          events.message(JSON.stringify({ jsonrpc: '2.0', id: message.id, result }))
        },
        close: () => events.closed({}),
      }
    },
  }
  return {
    transport,
    attempts,
    /** Ends every connection; none can be made from here on. */
    down(): void {
      up = false
      for (const link of links) link.closed(gone)
      links.clear()
    },
    back(): void {
      up = true
    },
  }
}

/** Numbers from 0 to 1 that are the same at every run. */
export function seeded(seed: number): () => number {
  let state = seed
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 2 ** 32
  }
}

/** The value below which a part of them is. */
export function quantile(values: readonly number[], part: number): number {
  return values.toSorted((a, b) => a - b)[Math.floor(part * (values.length - 1))] ?? Number.NaN
}
