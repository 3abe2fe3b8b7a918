import type { ActorContext } from '../runtime/process/context.js'
import type { ServerPort } from '../transports/contract/contract.js'
import { Exchanges } from './exchanges/exchanges.js'
import type { Holdings } from './holdings/holdings-actor.js'
import { BaseListening } from './subscriptions/listening.js'
import { OpenConversations } from './exchanges/open-conversations.js'
import { Sessions } from './sessions/sessions.js'

/**
 * What the listener of one incarnation of the group asks of its server: sessions for the revisions with a
 * handshake, exchanges for those without. Throws RuntimeError NOPROC when the group is not complete.
 */
export function openPort(holdings: Holdings, ctx: ActorContext): ServerPort {
  const { revisions, maxRequests, maxExchanges, maxWaiting } = holdings.settings
  const sessions = new Sessions(holdings, ctx)
  const exchanges = new Exchanges(holdings, ctx, ({ clock }) => ({
    conversations: new OpenConversations(holdings, clock),
    listening: new BaseListening(holdings, ctx),
  }))
  return Object.freeze({
    revisions,
    maxOpen: Math.min(maxRequests, maxExchanges) + maxWaiting,
    open: (request, peer) => sessions.open(request, peer),
    deliver: (id, message, outlet, peer) => sessions.deliver(id, message, outlet, peer),
    deliverBatch: (id, batch, outlet, peer) => sessions.deliverBatch(id, batch, outlet, peer),
    knows: (id) => sessions.knows(id),
    admit: (id, peer) => sessions.admit(id, peer),
    attach: (id, outlet, peer) => sessions.attach(id, outlet, peer),
    close: (id, peer) => sessions.close(id, peer),
    exchange: (call) => exchanges.exchange(call),
    endSubscriptions: () => exchanges.endSubscriptions(),
  } satisfies ServerPort)
}
