import { defineActor, startActor } from 'caduceus/runtime'

const counter = defineActor({
  name: 'counter',
  init: (start: number) => ({ count: start }),
  call: {
    read: (state) => state.count,
    add(state, by: number) {
      state.count += by
      return state.count
    },
  },
})

const hits = await startActor(counter, 40)
console.log(await hits.call('add', 1), await hits.call('add', 1))
console.log('ended:', (await hits.stop()).type)
