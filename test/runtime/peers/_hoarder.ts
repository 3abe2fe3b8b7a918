import { defineActor } from 'caduceus/runtime'

/** Takes 16 MiB every few ms, and lets its loop turn in between. */
const hoarder = defineActor({
  name: 'hoarder',
  init: (_input: undefined, ctx) => {
    const kept: Buffer[] = []
    const take = (): void => {
      if (kept.length < 64) kept.push(Buffer.alloc(2 ** 24, 1))
      ctx.clock.setTimeout(take, 5)
    }
    take()
    return { kept }
  },
})

export { hoarder as default }
