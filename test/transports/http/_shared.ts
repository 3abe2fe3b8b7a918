import type { Socket } from 'node:net'
import { defineActor, startActor } from 'caduceus/runtime'
import type { ServerTransport } from 'caduceus/transports'
import type {
  Address,
  SharedConnections,
  SharedAddress,
  Sharing,
} from '../../../transports/contract/sharing.js'
import type { TestContext } from '../../support/suite.js'

/** An address whose connections go where the test says. */
export type SharedPort = SharedAddress & {
  readonly sharing: Sharing
  /** From now on. */
  giveTo(take: (socket: Socket, ended: () => void) => void): void
  /** Gives the address back. */
  release(): Promise<void>
}

/** Takes the address of a transport, as the parent of several processes does. */
export async function sharePort(
  t: Pick<TestContext, 'after'>,
  { sharing }: ServerTransport,
  take: (socket: Socket, ended: () => void) => void = (socket) => void socket.destroy(),
  previous?: Address,
): Promise<SharedPort> {
  if (sharing === undefined) throw new Error('this transport cannot be shared')
  let taking = take
  const holder = defineActor({
    name: 'holder',
    trapExit: true,
    init: (_: undefined, ctx) => sharing.listen(ctx, (...args) => taking(...args), previous),
    call: { address: (address) => address },
  })
  const root = await startActor(holder, undefined, { logger: false })
  const release = async (): Promise<void> => {
    if (root.alive) await root.stop()
  }
  t.after(release)
  return {
    ...(await root.call('address')),
    sharing,
    release,
    giveTo(next) {
      taking = next
    },
  }
}

/** A source of connections within this process. */
export type Fed = SharedConnections & { give(socket: Socket): void }

export function feeding(address: Address): Fed {
  const waiting: Socket[] = []
  let taking: ((socket: Socket) => void) | undefined
  return {
    address,
    take(fn) {
      taking = fn
      for (const socket of waiting.splice(0)) fn(socket)
      return () => {
        taking = undefined
      }
    },
    give: (socket) => (taking === undefined ? void waiting.push(socket) : taking(socket)),
  }
}
