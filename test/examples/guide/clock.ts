import { createFakeClock, defineActor, startActor, systemClock, systemWorld } from 'caduceus/runtime'

// a tree asks its clock for everything about time, so a test decides what time it is
const clock = createFakeClock()
const reminder = defineActor({
  name: 'reminder',
  init(_input: undefined, ctx) {
    ctx.sendAfter(60_000, 'time is up')
    return { heard: 'nothing yet' }
  },
  call: { heard: ({ heard }) => heard },
  info: {
    timer(state, text) {
      state.heard = String(text)
    },
  },
})
const ref = await startActor(reminder, undefined, { clock, logger: false })
await clock.advance(59_999)
console.log(await ref.call('heard'))
await clock.advance(1)
console.log(await ref.call('heard'))
await ref.stop()
console.log(typeof systemClock.now(), typeof systemWorld.now()) // what is there without a fake one
