import { type GivenSocket, giveSocket } from '../../runtime/peers/give-socket.js'
import { defineActor } from '../../runtime/process/behaviour.js'
import type { ActorContext } from '../../runtime/process/context.js'
import type { ProcessRef, RefOf } from '../../runtime/process/ref.js'
import { describe } from '../../runtime/watch/inspect.js'
import type { AcceptedSocket, SharedAddress, Sharing } from '../../transports/contract/sharing.js'
import type { NodeRef } from './node-ref.js'

/** Where the processes of a server are reached. It outlives the door. */
export interface DoorPlace {
  address: SharedAddress | undefined
}

interface DoorInput {
  readonly sharing: Sharing
  readonly place: DoorPlace
}

/** A process that serves connections, or has served some that are still open. */
interface DoorNode {
  readonly ref: NodeRef
  /** Connections that it was given, and has not taken yet. */
  given: number
  /** Called when it has taken them all, or has ended. */
  readonly taken: (() => void)[]
  /** Calls what counts a connection no more, by the connection's number. */
  readonly open: Map<number, () => void>
}

interface Door {
  readonly address: SharedAddress
  readonly nodes: Map<ProcessRef, DoorNode>
  /** Those that get connections, the one whose turn it is first. */
  serving: DoorNode[]
  /** Connections that wait for a process, with what counts each no more. */
  readonly waiting: Map<AcceptedSocket, () => void>
  last: number
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
    const waiting = new Map<AcceptedSocket, () => void>()
    const take = ctx.bind((socket: AcceptedSocket, ended: () => void) => admit(door, socket, ended, ctx))
    const address = await sharing.listen(ctx, take, place.address)
    const count = (): number => [...door.nodes.values()].reduce((all, { open }) => all + open.size, 0)
    const door: Door = {
      address,
      nodes: new Map(),
      serving: [],
      waiting,
      last: 0,
      [describe]: () => `${address.url}, ${count()} connections`,
    }
    place.address = address
    return door
  },
  call: {
    /** A process gets no more connections: resolves when it has taken those that it was given. */
    withdraw(door, ref: NodeRef, ctx) {
      door.serving = door.serving.filter((node) => node.ref !== ref)
      const node = door.nodes.get(ref)
      if (node === undefined || node.given === 0) return undefined
      const reply = ctx.defer<undefined>()
      node.taken.push(() => reply.resolve(undefined))
      return reply
    },
  },
  cast: {
    /** Who gets connections from now on. */
    serve(door, refs: readonly NodeRef[], ctx) {
      door.serving = refs.map((ref) => door.nodes.get(ref) ?? newNode(door, ref, ctx))
      handOut(door, ctx)
    },
    /** A connection that a process had is over. */
    ended: ({ nodes }, { node, id }: { node: NodeRef; id: number }) => end(nodes.get(node), id),
    close: ({ address }) => address.stopListening(),
  },
  info: {
    down(door, { process }) {
      const node = door.nodes.get(process)
      door.nodes.delete(process)
      for (const id of node?.open.keys() ?? []) end(node, id)
      for (const resolve of node?.taken ?? []) resolve()
    },
  },
})

export type DoorRef = RefOf<typeof doorActor>
export type { GivenSocket }

function newNode({ nodes }: Door, ref: NodeRef, ctx: ActorContext): DoorNode {
  const node: DoorNode = { ref, given: 0, taken: [], open: new Map() }
  nodes.set(ref, node)
  ctx.monitor(ref)
  return node
}

function end(node: DoorNode | undefined, id: number): void {
  const ended = node?.open.get(id)
  node?.open.delete(id)
  ended?.()
}

function admit(door: Door, socket: AcceptedSocket, ended: () => void, ctx: ActorContext): void {
  const { waiting } = door
  if (waiting.size >= maxWaiting) return refuse(socket, ended)
  waiting.set(socket, ended)
  handOut(door, ctx)
  if (!waiting.has(socket)) return
  const timer = ctx.clock.setTimeout(() => {
    if (waiting.delete(socket)) refuse(socket, ended)
  }, patience)
  socket.once('close', () => {
    ctx.clock.clearTimeout(timer)
    if (waiting.delete(socket)) ended()
  })
}

function refuse(socket: AcceptedSocket, ended: () => void): void {
  socket.destroy()
  ended()
}

function handOut(door: Door, ctx: ActorContext): void {
  for (const [socket, ended] of door.waiting) {
    const node = quickest(door.serving)
    if (node === undefined) return
    door.waiting.delete(socket)
    if (socket.destroyed) ended()
    else if (!hand(door, node, { socket, ended }, ctx)) return
  }
}

/** Answers false when the process takes none at the moment: the connection waits for it, or another one. */
function hand(
  door: Door,
  node: DoorNode,
  { socket, ended }: { readonly socket: AcceptedSocket; readonly ended: () => void },
  ctx: ActorContext,
): boolean {
  door.last += 1
  if (!giveSocket(node.ref, 'connection', socket, door.last)) {
    door.waiting.set(socket, ended)
    return false
  }
  node.given += 1
  node.open.set(door.last, ended)
  // ours is closed as soon as the process has its own
  socket.once(
    'close',
    ctx.bind(() => {
      node.given -= 1
      if (node.given === 0) for (const resolve of node.taken.splice(0)) resolve()
      handOut(door, ctx)
    }),
  )
  // it is the next one's turn
  door.serving = [...door.serving.filter((each) => each !== node), node]
  return true
}

/** The one that has the fewest connections to take; of these, the one that was given none for longest. */
function quickest(serving: readonly DoorNode[]): DoorNode | undefined {
  const [first, ...others] = serving.filter((node) => node.given < maxGiven)
  if (first === undefined) return undefined
  return others.reduce((best, node) => (node.given < best.given ? node : best), first)
}
