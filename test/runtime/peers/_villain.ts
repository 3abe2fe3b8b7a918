import { parentPort } from 'node:worker_threads'
import { type ActorRef, defineActor, definePeer, type PeerOptions, refuse } from 'caduceus/runtime'

type Bad = 'function' | 'symbol' | 'weak' | 'getter' | 'deep' | 'promise' | 'error'

/** Does what it should not, in tests of peers. */
const villain = defineActor({
  name: 'villain',
  init({ dies = false }: { dies?: boolean } = {}) {
    if (dies) setTimeout(() => process.exit(9), 200)
    return {}
  },
  call: {
    echo: (_state, value: unknown) => value,
    give: (_state, what: Bad): unknown => bad(what),
    refuse: (_state, what: Bad) => refuse(bad(what)),
    post(_state, message: unknown) {
      if (parentPort === null) process.send?.(message)
      else parentPort.postMessage(message)
    },
    start: (_state, options: PeerOptions, ctx): Promise<ActorRef> =>
      ctx.start(definePeer(options), undefined, { startTimeout: 20_000 }),
  },
  cast: { note() {} },
})

function bad(what: Bad): unknown {
  switch (what) {
    case 'function':
      return { at: () => {} }
    case 'symbol':
      return Symbol('x')
    case 'weak':
      return new WeakSet()
    case 'promise':
      return { later: Promise.resolve() }
    case 'getter':
      return {
        get it() {
          throw () => {}
        },
      }
    case 'deep':
      return Array.from({ length: 200_000 }).reduce((inside) => [inside], 1)
    case 'error':
      return Object.assign(new Error('with a function'), { data: { weak: new WeakMap() }, fn() {} })
  }
}

export { villain as default }
