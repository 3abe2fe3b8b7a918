import { type ActorContext, defineActor, startActor } from 'caduceus/runtime'

const helper = defineActor({
  name: 'helper',
  init: (attempt: number) => ({ attempt }),
  call: {
    work({ attempt }) {
      if (attempt === 1) throw new Error('no idea how')
      console.log('done at attempt', attempt)
    },
  },
})

/** Waits before the next attempt, which a supervisor would not. */
const boss = defineActor({
  name: 'boss',
  trapExit: true, // else the crash of the helper would end the boss, too
  async init(_input: undefined, ctx) {
    await begin(1, ctx)
    return { attempts: 1 }
  },
  info: {
    exit(_state, { reason }, ctx) {
      console.log('the helper is gone:', reason.type)
      ctx.sendAfter(10, 'again')
    },
    async timer(state, payload, ctx) {
      console.log('the timer says:', payload)
      state.attempts += 1
      await begin(state.attempts, ctx)
      ctx.stop()
    },
  },
})

async function begin(attempt: number, ctx: ActorContext): Promise<void> {
  const started = await ctx.start(helper, attempt) // linked: it ends with the boss
  await started.call('work').catch(() => {})
}

const ref = await startActor(boss, undefined, { logger: false })
const ended = new Promise((resolve) => ref.onExit(resolve))
console.log('the boss is gone:', await ended)
