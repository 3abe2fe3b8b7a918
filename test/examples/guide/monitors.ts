import { defineActor, type ProcessRef, startActor } from 'caduceus/runtime'

/** Lends one desk, takes it back when its guest is gone, and closes when nobody has come for a while. */
const desk = defineActor({
  name: 'desk',
  init: () => ({ guest: undefined as ProcessRef | undefined }),
  call: {
    sit(state, guest: ProcessRef, ctx) {
      if (state.guest !== undefined) return 'taken'
      state.guest = guest
      ctx.monitor(guest)
      return 'sit down'
    },
  },
  info: {
    down(state, { process, reason }, ctx) {
      console.log(`${process.name} is gone: ${reason.type}`)
      state.guest = undefined
      ctx.idleAfter(20)
    },
    timeout: (_state, _nothing, ctx) => ctx.stop(),
  },
})
const person = defineActor({ name: 'person', init: () => ({}) })

const place = await startActor(desk, undefined, { logger: false })
const closed = new Promise((resolve) => place.onExit(resolve))
const ann = await startActor(person, undefined, { name: 'ann' })
const ben = await startActor(person, undefined, { name: 'ben' })
console.log(await place.call('sit', ann))
console.log(await place.call('sit', ben))
await ann.stop()
console.log(await place.call('sit', ben))
await ben.stop()
console.log('the desk is closed:', await closed)
