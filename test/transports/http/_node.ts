import { buildResult, isRequest } from 'caduceus/protocol'
import { defineActor } from 'caduceus/runtime'
import { type Sink, serveHttp } from 'caduceus/transports'
import type { Services } from '../../support/ports.js'
import type { GivenSocket } from '../../../runtime/peers/give-socket.js'
import type { Address } from '../../../transports/contract/sharing.js'
import { startListener } from '../_listener.js'
import { feeding } from './_shared.js'

/** A process that serves connections that it is given. Its answers name it; `wait` is answered by a call. */
const node = defineActor({
  name: 'node',
  async init({ options, address }: { readonly options: object; readonly address: Address }, ctx) {
    const source = feeding(address)
    const transport = serveHttp(options).sharing?.serve(source)
    if (transport === undefined) throw new Error('this transport cannot be shared')
    const waiting = new Set<(result: object) => void>()
    const readers = new Set<Sink>()
    const port: Partial<Services> = {
      async deliver(_id, message, sink) {
        if (!isRequest(message)) return undefined
        if (message.method === 'wait') {
          sink.send({ jsonrpc: '2.0', method: 'notifications/waiting' })
          return buildResult(message.id, await new Promise<object>((resolve) => waiting.add(resolve)))
        }
        return buildResult(message.id, { pid: process.pid })
      },
      async attach(_id, sink) {
        readers.add(sink)
        return () => readers.delete(sink)
      },
    }
    const listening = await startListener(
      { after: (undo) => void ctx.own(async () => void (await undo())) },
      port,
      {},
      { transport },
    )
    return { source, waiting, readers, listening, open: 0 }
  },
  call: {
    pid: () => process.pid,
    url: ({ listening }) => listening.url,
    open: ({ open }) => open,
    answer({ waiting }) {
      for (const resolve of waiting) resolve({ pid: process.pid })
    },
    block(_state, ms: number) {
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms)
    },
  },
  cast: {
    take(state, { socket }: GivenSocket) {
      if (socket === undefined) return
      state.open += 1
      socket.once('close', () => {
        state.open -= 1
      })
      state.source.give(socket)
    },
  },
})

export { node as default }
