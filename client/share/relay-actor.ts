import { isNotification, isRequest, type Message } from '../../protocol/wire/jsonrpc.js'
import type { InitializeResult } from '../../protocol/messages/lifecycle.js'
import { type Deferred, defineActor } from '../../runtime/process/behaviour.js'
import type { ActorContext } from '../../runtime/process/context.js'
import { normal } from '../../runtime/base/exit.js'
import type { Outlet, Response } from '../../transports/contract/contract.js'
import { Relay, type RelayInput } from './relay.js'
import { relayCall } from './relay-calls.js'

/** One message of a program, and where what comes before its answer goes. */
export interface RelayDelivery {
  readonly message: Message
  readonly outlet: Outlet
}

/** One program that uses a shared client: whatever it does, or becomes of it, costs nobody else. */
export const relayActor = defineActor({
  name: 'relay',
  stray: 'report',
  mailboxLimit: 10_000,
  init(input: RelayInput, ctx: ActorContext): Relay {
    const { self } = ctx
    const relay = new Relay(input, () => void self.stop(normal))
    ctx.own(() => relay.end())
    return relay
  },
  call: {
    welcome: (relay): InitializeResult => relay.welcome(),
    /** Takes a message; a call is answered when its server has. */
    deliver(relay, { message, outlet }: RelayDelivery, ctx): Deferred<Response | undefined> | undefined {
      if (isNotification(message)) relay.heed(message)
      // a program is asked nothing: what is no request now is an answer to nothing
      if (!isRequest(message)) return undefined
      const reply = ctx.defer<Response | undefined>()
      void relayCall(relay, message, outlet).then((response) => reply.resolve(response))
      return reply
    },
    attach(relay, reader: Outlet): undefined {
      relay.reader = reader
    },
  },
  cast: {
    detach(relay, reader: Outlet) {
      if (relay.reader === reader) relay.reader = undefined
    },
  },
})
