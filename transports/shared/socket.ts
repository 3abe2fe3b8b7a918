import { lstatSync } from 'node:fs'
import type { Socket } from 'node:net'
import type { ProtocolError } from '../../protocol/wire/errors.js'
import { createLineDecoder } from '../../protocol/wire/lines.js'
import { TransportError } from '../base/errors.js'
import { isPipeName } from './local-socket.js'

interface SocketEvents {
  connected(): void
  line(text: string): void
  /** A line was too long, and skipped. */
  skipped(error: ProtocolError): void
  read(): void
  /** Told once, also after `destroy`; without an error after an orderly end. */
  closed(error: TransportError | undefined): void
}

/** Opens a socket to the owner, read by lines. One of another user is refused: that user would read ours. */
export function openShared(path: string, maxMessageBytes: number, events: SocketEvents): Socket {
  checkOwner(path)
  const lines = createLineDecoder({ maxMessageBytes })
  const socket = process.getBuiltinModule('node:net').connect({ path })
  let failure: TransportError | undefined
  let isOpen = false
  socket.on('connect', () => {
    isOpen = true
    events.connected()
  })
  socket.on('data', (chunk) => {
    for (const item of lines.push(chunk)) {
      if (item.type === 'line') events.line(item.text)
      else if (item.type === 'too_long') events.skipped(item.error)
      else {
        failure ??= new TransportError('BAD_RESPONSE', item.error.message, {
          cause: item.error,
          retryable: true,
        })
        return void socket.destroy()
      }
    }
    events.read()
  })
  socket.on('error', (cause) => {
    const code = isOpen ? 'CONNECTION_LOST' : 'CONNECT_FAILED'
    const what = isOpen ? `the connection to ${path} broke` : `${path} cannot be reached`
    failure ??= new TransportError(code, `${what}: ${cause.message}`, { cause, retryable: true })
  })
  socket.once('close', () => events.closed(failure))
  return socket
}

function checkOwner(path: string): void {
  const found = isPipeName(path) ? undefined : lstatSync(path, { throwIfNoEntry: false })
  const us = process.getuid?.()
  if (found === undefined || us === undefined || found.uid === us || found.uid === 0) return
  const message = `${path} belongs to user ${found.uid}, and not to us (user ${us})`
  throw new TransportError('CONNECT_FAILED', message, { data: { uid: found.uid } })
}
