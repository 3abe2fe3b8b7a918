import { giveSocket } from '../../runtime/peers/give-socket.js'
import { defineActor } from '../../runtime/process/behaviour.js'
import type { ActorContext } from '../../runtime/process/context.js'
import type { RefOf } from '../../runtime/process/ref.js'
import { describe } from '../../runtime/watch/inspect.js'
import type { Connection, SharedAddress, Sharing } from '../../transports/contract/sharing.js'
import type { NodeRef } from './node-ref.js'

/** Where the processes of a server are reached. It outlives the door. */
export interface DoorPlace {
  address: SharedAddress | undefined
}

interface DoorInput {
  readonly sharing: Sharing
  readonly place: DoorPlace
}

/** A process that serves connections. */
interface Desk {
  readonly ref: NodeRef
  /** Connections that it was given, and has not taken yet. */
  given: number
}

interface Door {
  readonly address: SharedAddress
  desks: Desk[]
  /** Connections that wait for a process. */
  readonly waiting: Set<Connection>
  [describe](): string
}

/** Connections that may wait for a process, and how many ms. */
const maxWaiting = 1_000
const patience = 5_000
/** Connections that one process may have been given without having taken them. */
const maxGiven = 16

/** Takes the connections, reads nothing of them, and gives each to a process that is quick to take it. */
export const doorActor = defineActor({
  name: 'door',
  stray: 'report',
  async init({ sharing, place }: DoorInput, ctx: ActorContext): Promise<Door> {
    const waiting = new Set<Connection>()
    const take = ctx.bind((socket: Connection) => admit(door, socket, ctx))
    const address = await sharing.listen(ctx, take)
    const door: Door = { address, desks: [], waiting, [describe]: () => address.url }
    place.address = address
    ctx.own(() => {
      for (const socket of waiting) socket.destroy()
    })
    return door
  },
  cast: {
    /** Who serves from now on. */
    serve(door, refs: readonly NodeRef[]) {
      door.desks = refs.map((ref) => door.desks.find((desk) => desk.ref === ref) ?? { ref, given: 0 })
      handOut(door)
    },
    taken(door, ref: NodeRef) {
      const desk = door.desks.find((each) => each.ref === ref)
      if (desk !== undefined) desk.given -= 1
      handOut(door)
    },
    close: ({ address }) => address.stopListening(),
  },
})

export type DoorRef = RefOf<typeof doorActor>

function admit(door: Door, socket: Connection, ctx: ActorContext): void {
  const { waiting } = door
  if (waiting.size >= maxWaiting) return void socket.destroy()
  waiting.add(socket)
  handOut(door)
  if (!waiting.has(socket)) return
  const timer = ctx.clock.setTimeout(() => {
    if (waiting.delete(socket)) socket.destroy()
  }, patience)
  socket.once('close', () => {
    ctx.clock.clearTimeout(timer)
    waiting.delete(socket)
  })
}

function handOut(door: Door): void {
  for (const socket of door.waiting) {
    const desk = quickest(door)
    if (desk === undefined) return
    if (!giveSocket(desk.ref, 'connection', socket)) {
      door.desks = door.desks.filter((each) => each !== desk)
      continue
    }
    door.waiting.delete(socket)
    desk.given += 1
    // it is the next one's turn
    door.desks = [...door.desks.filter((each) => each !== desk), desk]
  }
}

/** The one that has the fewest connections to take; of these, the one that was given none for longest. */
function quickest({ desks }: Door): Desk | undefined {
  const [first, ...others] = desks.filter((desk) => desk.given < maxGiven)
  if (first === undefined) return undefined
  return others.reduce((best, desk) => (desk.given < best.given ? desk : best), first)
}
