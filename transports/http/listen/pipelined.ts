import type { IncomingMessage, RequestListener } from 'node:http'
import { handlersSlice, Rota, type RotaWorld } from '../../../runtime/tasks/rota.js'

/** Requests of one connection whose answers are due: clients wait for an answer before they ask again. */
const maxPipelined = 32

/** The requests of a connection whose answers are due. */
class OwnRequests {
  count = 0
  readonly name: string

  constructor(name: string) {
    this.name = name
  }

  leave(): void {
    this.count -= 1
  }
}

/**
 * Node reads on to the end of what came, and would make a request, and an error for its end, of all that is left:
 * thousands with a stack each. Its parser, which is not documented, is told that they are nobody's.
 */
function cut(socket: IncomingMessage['socket']): void {
  const parser: unknown = Reflect.get(socket, 'parser')
  if (typeof parser === 'object' && parser !== null) Reflect.set(parser, 'onIncoming', () => 0)
  socket.destroy()
}

/**
 * Connections take turns, since a refusal takes time, too: what is pipelined (RFC 9112, section 9.3.2) comes in
 * one turn of the event loop, hundreds of requests with each read. One that asks for more before it is answered is
 * cut.
 */
export function takingTurns(world: RotaWorld): (listener: RequestListener) => RequestListener {
  const due = new WeakMap<IncomingMessage['socket'], OwnRequests>()
  const rota = new Rota(world, undefined, handlersSlice, false)
  let connections = 0
  return (listener) => (request, response) => {
    const { socket } = request
    // its parser goes on to the end of what was read
    if (socket.destroyed) return
    let own = due.get(socket)
    if (own === undefined) {
      connections += 1
      own = new OwnRequests(String(connections))
      due.set(socket, own)
    }
    const { name } = own
    if (own.count >= maxPipelined) return cut(socket)
    own.count += 1
    response.once('close', () => own.leave())
    const take = (): void => listener(request, response)
    if (rota.isFree) return rota.run(() => name, take)
    rota.wait(name, () => {
      if (!socket.destroyed) take()
    })
  }
}
