import { childSpec, defineActor, definePeer, startSupervisor } from 'caduceus/runtime'

const child = defineActor({ name: 'child', init: () => ({}), cast: { work() {} } })
const module = new URL('../peers/_counter.js', import.meta.url)

/** Runs in a thread or process of its own: a tree with children, and, if wanted, a peer of that. */
const parent = defineActor({
  name: 'parent',
  async init({ deep = false }: { deep?: boolean }, ctx) {
    const family = await startSupervisor({
      name: 'family',
      strategy: 'one_for_one',
      children: ['a', 'b'].map((id) => childSpec(child, undefined, { id })),
      logger: false,
    })
    if (deep)
      await ctx.start(definePeer({ kind: 'thread', module, name: 'deep' }), undefined, {
        startTimeout: 30_000,
      })
    return { family }
  },
})

export { parent as default }
