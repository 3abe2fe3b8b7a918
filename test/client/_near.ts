import { isRequest, type JsonRpcRequest } from 'caduceus/protocol'
import type { ClientTransport, LinkEnd } from 'caduceus/transports'

/** A server in this process. */
export type Near = {
  readonly transport: ClientTransport
  /** The methods that it was sent, in order, the handshake's too. */
  readonly said: string[]
  /** Ends the connection there is. */
  cut(end?: LinkEnd): void
}

/** Starts one: it answers every request with an empty result, or as `answer` says; undefined is no answer. */
export function near(
  answer: (request: JsonRpcRequest) => object | undefined = () => ({ result: {} }),
  capabilities: object = {},
): Near {
  const said: string[] = []
  const greeting = {
    protocolVersion: '2025-11-25',
    capabilities,
    serverInfo: { name: 'near', version: '1' },
  }
  let closed = (_end: LinkEnd): void => {}
  const transport: ClientTransport = {
    name: 'near',
    connect(events) {
      closed = events.closed
      events.opened()
      return {
        send(_, message) {
          if ('method' in message) said.push(message.method)
          if (!isRequest(message)) return
          const told = message.method === 'initialize' ? { result: greeting } : answer(message)
          if (told !== undefined) events.message(JSON.stringify({ jsonrpc: '2.0', id: message.id, ...told }))
        },
        close: () => events.closed({}),
      }
    },
  }
  return { transport, said, cut: (end = {}) => closed(end) }
}
