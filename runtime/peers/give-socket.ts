import { Duplex } from 'node:stream'
import { badOption } from '../base/check.js'
import { fence, type ProcessRef, processOf } from '../process/process.js'
import { StandIn } from './border.js'
import type { Socket } from './messages.js'

/** The input of a cast that brings a socket. */
export interface GivenSocket {
  /** Undefined when it ended on its way. */
  readonly socket: Socket | undefined
  /** The number that the sender gave it. */
  readonly id: number
}

/**
 * Hands a socket to an actor that runs in a process of its own: a cast there has it (GivenSocket). Answers
 * whether it was taken; if not, because the actor is gone, runs in a thread or has too much to do, it is
 * still the caller's. A socket that is taken and cannot be delivered any more is closed.
 *
 * It must be a plain TCP or pipe socket of which nothing was read yet (`pauseOnConnect`): what was read stays
 * here. Throws BAD_OPTION, ACTOR_DEAD.
 */
export function giveSocket(ref: ProcessRef, cast: string, socket: Socket, id = 0): boolean {
  const actor = processOf(ref)
  if (!(socket instanceof Duplex) || 'encrypted' in socket)
    throw badOption('socket', 'a plain socket of node:net', socket)
  fence(actor)
  return actor instanceof StandIn && actor.give(cast, socket, id)
}
