import type { Message } from '../../../protocol/wire/jsonrpc.js'

/**
 * Whether a message ends the handshake. One that got lost on its way cannot be left at that: the server would
 * refuse, for as long as the session lasts, whatever belongs after it.
 */
export function isInitialized(message: Message): boolean {
  return 'method' in message && message.method === 'notifications/initialized'
}
