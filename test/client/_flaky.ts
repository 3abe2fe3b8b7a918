import type { Client } from 'caduceus/client'
import { isRequest } from 'caduceus/protocol'
import { type ClientTransport, type LinkEvents, TransportError } from 'caduceus/transports'

/** A transport whose first attempts fail, or hang; then it answers whatever it is asked. */
export function flaky(failures: number, hanging = 0) {
  let current: LinkEvents | undefined
  let attempt = 0
  const asked: string[] = []
  const lost = { error: new TransportError('CONNECTION_LOST', 'no luck') }
  const transport: ClientTransport = {
    name: 'flaky',
    connect(events) {
      attempt += 1
      if (attempt <= failures) events.closed(lost)
      else if (attempt > failures + hanging) events.opened()
      current = events
      const serverInfo = { name: 'flaky', version: '1' }
      const value = { protocolVersion: '2025-11-25', capabilities: {}, serverInfo }
      return {
        send(_, message) {
          if (!isRequest(message)) return
          asked.push(message.method)
          events.message(JSON.stringify({ jsonrpc: '2.0', id: message.id, result: value }))
        },
        close: () => events.closed({}),
      }
    },
  }
  const flood = (count: number): void => {
    for (let i = 0; i < count; i++) current?.message('{}')
  }
  return { transport, asked, attempts: () => attempt, flood, drop: () => current?.closed(lost) }
}

/** Time has to move for some of the waits of an orderly end. */
export async function closeWith(
  client: Client,
  clock: { advance(ms: number): Promise<void> },
): Promise<void> {
  const closed = client.close()
  await clock.advance(100)
  await closed
}
