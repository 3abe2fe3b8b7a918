import { childSpec, definePeer, peerSpec, Registry, startActor, startSupervisor } from 'caduceus/runtime'
import type primes from './peer-actor.js'

const module = new URL('./peer-actor.js', import.meta.url)

// a thread that spins for longer than `blockedTimeout` is ended; the program goes on
const peer = definePeer<typeof primes>({ kind: 'thread', module, blockedTimeout: 300 })
const ref = await startActor(peer, undefined, { logger: false })
console.log(await ref.call('nth', 1_000))
console.log(await ref.call('spin', undefined).catch(({ code }: { code: string }) => code))

// below a supervisor it comes back, under its name
const registry = new Registry()
const tree = await startSupervisor({
  strategy: 'one_for_one',
  registry,
  logger: false,
  children: [
    peerSpec({ kind: 'process', module }, { name: 'primes' }),
    childSpec(peer, undefined, { id: 'thread' }),
  ],
})
const named = registry.named<typeof primes>('primes')
console.log(await named.call('nth', 10))
named.current?.kill()
console.log(await named.call('nth', 10))
await tree.stop()
