import {
  defineActor,
  describe,
  formatTree,
  getState,
  getStatus,
  inspect,
  replaceState,
  resume,
  startActor,
  statistics,
  suspend,
  trace,
} from 'caduceus/runtime'

const counter = defineActor({
  name: 'counter',
  init: () => ({ count: 0, [describe]: () => 'counts' }),
  call: { add: (state, by: number) => (state.count += by) },
})
const ref = await startActor(counter, undefined, { logger: false })

const counts = statistics(ref)
const stop = trace(ref, ({ what, name }) => console.log('traced:', what, name))
await ref.call('add', 2)
stop()
console.log(counts().messagesIn, 'message came in')
counts.stop()

console.log(await getState(ref, (state) => (state as { count: number }).count))
await replaceState<{ count: number }>(ref, (state) => ({ ...state, count: 40 }))
suspend(ref) // messages wait
const answer = ref.call('add', 2)
console.log(getStatus(ref).mailbox, 'waits')
resume(ref)
console.log(await answer)
console.log(formatTree(inspect(ref)))
await ref.stop()
