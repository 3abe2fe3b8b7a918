import {
  childSpec,
  defineActor,
  multiCall,
  multiCast,
  partitionFor,
  partitionName,
  partitionOf,
  partitionsOf,
  partitionSupervisorSpec,
  Registry,
  type RefOf,
  startSupervisor,
  TopicRegistry,
} from 'caduceus/runtime'

const cache = defineActor({
  name: 'cache',
  init: (number: number) => ({ number, hits: 0 }),
  call: { number: ({ number }) => number, hits: ({ hits }) => hits },
  cast: {
    hit(state) {
      state.hits++
    },
  },
})

// four alike; a key always finds the same one
const registry = new Registry()
const tree = await startSupervisor({
  strategy: 'one_for_one',
  registry,
  logger: false,
  children: [
    partitionSupervisorSpec({
      name: 'caches',
      partitions: 4,
      child: (partition, name) => childSpec(cache, partition, { name }),
    }),
  ],
})
const number = partitionOf('ada', 4)
const mine = partitionFor(registry, 'caches', 'ada', 4) as RefOf<typeof cache>
console.log((await mine.call('number')) === number, partitionName('caches', number) === `caches/${number}`)

// several at once
const all = [...partitionsOf(registry, 'caches', 4).values()] as RefOf<typeof cache>[]
console.log('told:', multiCast(all, 'hit'))
const { replies } = await multiCall(all, 'hits')
console.log('hits:', replies.length)

// many processes under one key, for as long as they live
const topics = new TopicRegistry<string>()
for (const ref of all.slice(0, 2)) topics.register('readers', ref, 'reads')
console.log('readers:', topics.count('readers'))
await tree.stop()
console.log('readers:', topics.count('readers'))
