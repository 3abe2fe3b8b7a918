import { childSpec, defineActor, Registry, startSupervisor } from 'caduceus/runtime'

const counter = defineActor({
  name: 'counter',
  init: () => ({ count: 0 }),
  call: { next: (state) => ++state.count },
})

const registry = new Registry()
const children = [childSpec(counter, undefined, { name: 'hits' })]
const tree = await startSupervisor({ strategy: 'one_for_one', registry, logger: false, children })

const hits = registry.named<typeof counter>('hits') // found at every call, also after a restart
console.log(await hits.call('next'), await hits.call('next'))
hits.current?.kill()
console.log('after the crash:', await hits.call('next'))
await tree.stop()
