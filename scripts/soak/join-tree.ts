import { type Client, clientSpec, type Supervisor } from 'caduceus'
import type { ClientTransport } from '../../transports/contract/contract.js'
import { answerTo, callTimeout } from './calls.js'
import { type Member, ownUri } from './members.js'
import type { Place } from './plan.js'

/** Puts one client into the tree; it connects in its own time. */
export async function joinTree(
  tree: Supervisor,
  { name, way, era, health, durable }: Place,
  transport: ClientTransport,
): Promise<Member> {
  const spec = clientSpec({
    name,
    transport,
    era,
    timeout: callTimeout,
    handshakeTimeout: 10_000,
    // Nothing stands still for as long as it takes to lose patience.
    ...(health && { health: { every: 5_000, misses: 3 } }),
    ...(way.style === 'own' && {
      onElicit: ({ message }) => ({ action: 'accept', content: { word: answerTo(message) } }),
    }),
  })
  const { extra } = await tree.startChild(spec)
  const member: Member = {
    name,
    client: extra as Client,
    style: way.style,
    era: era === 'handshake' ? 'session' : 'modern',
    durable,
    updates: 0,
  }
  member.client.onNotification('notifications/resources/updated', ({ uri }) => {
    if (uri === ownUri(name)) member.updates += 1
  })
  return member
}

/** The process of a client's server on standard input and output; 0 while there is none. */
export function serverPid(client: Client): number {
  const about = client.inspect().tree?.children[1]?.about ?? ''
  return Number(/pid (\d+)/.exec(about)?.[1] ?? 0)
}
