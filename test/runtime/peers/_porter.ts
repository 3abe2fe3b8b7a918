import type { GivenSocket } from '../../../runtime/peers/give-socket.js'
import { defineActor } from 'caduceus/runtime'

/** Serves sockets that it is given, in tests of peers. */
const porter = defineActor({
  name: 'porter',
  init: () => ({ served: 0 }),
  call: {
    served: (state) => state.served,
    pid: () => process.pid,
    block(_state, ms: number) {
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms)
    },
  },
  cast: {
    serve(state, { socket }: GivenSocket) {
      if (socket === undefined) return
      state.served += 1
      socket.on('data', (chunk) => socket.end(`${process.pid}: ${String(chunk)}`))
    },
  },
})

export { porter as default }
