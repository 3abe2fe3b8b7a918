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

/** The connections that a process has been given, by their numbers there: what to call when one is over. */
interface Given {
  last: number
  readonly open: Map<number, () => void>
}

interface Door {
  readonly address: SharedAddress
  desks: Desk[]
  /** Also of those that serve no more, until they end. */
  readonly given: Map<NodeRef, Given>
  /** Connections that wait for a process, and what to call when they are over. */
  readonly waiting: Map<Connection, () => void>
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
    const waiting = new Map<Connection, () => void>()
    const take = ctx.bind((socket: Connection, ended: () => void) => admit(door, { socket, ended }, ctx))
    const address = await sharing.listen(ctx, take, place.address)
    const door: Door = { address, desks: [], given: new Map(), waiting, [describe]: () => address.url }
    place.address = address
    return door
  },
  cast: {
    /** Who serves from now on. */
    serve(door, refs: readonly NodeRef[], ctx) {
      for (const ref of refs) {
        if (door.given.has(ref)) continue
        door.given.set(ref, { last: 0, open: new Map() })
        ctx.monitor(ref)
      }
      door.desks = refs.map((ref) => door.desks.find((desk) => desk.ref === ref) ?? { ref, given: 0 })
      handOut(door)
    },
    taken(door, ref: NodeRef) {
      const desk = door.desks.find((each) => each.ref === ref)
      if (desk !== undefined) desk.given -= 1
      handOut(door)
    },
    /** A connection is over: the one that this process was given as so many. */
    ended({ given }, { ref, number }: { readonly ref: NodeRef; readonly number: number }) {
      const open = given.get(ref)?.open
      open?.get(number)?.()
      open?.delete(number)
    },
    close: ({ address }) => address.stopListening(),
  },
  info: {
    down({ given }, { process }) {
      const ref = process as NodeRef
      for (const ended of given.get(ref)?.open.values() ?? []) ended()
      given.delete(ref)
    },
  },
})

export type DoorRef = RefOf<typeof doorActor>

function admit(
  door: Door,
  { socket, ended }: { readonly socket: Connection; readonly ended: () => void },
  ctx: ActorContext,
): void {
  const { waiting } = door
  const drop = (): void => {
    waiting.delete(socket)
    socket.destroy()
    ended()
  }
  if (waiting.size >= maxWaiting) return drop()
  waiting.set(socket, ended)
  handOut(door)
  if (!waiting.has(socket)) return
  const timer = ctx.clock.setTimeout(() => {
    if (waiting.has(socket)) drop()
  }, patience)
  socket.once('close', () => {
    ctx.clock.clearTimeout(timer)
    if (waiting.has(socket)) drop()
  })
}

function handOut(door: Door): void {
  for (const [socket, ended] of door.waiting) {
    const desk = quickest(door)
    if (desk === undefined) return
    if (!giveSocket(desk.ref, 'connection', socket)) {
      door.desks = door.desks.filter((each) => each !== desk)
      continue
    }
    door.waiting.delete(socket)
    desk.given += 1
    const given = door.given.get(desk.ref)
    if (given !== undefined) {
      given.last += 1
      given.open.set(given.last, ended)
    }
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
