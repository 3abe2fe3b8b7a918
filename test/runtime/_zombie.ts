import { type ActorContext, type ActorRef, defineActor } from 'caduceus/runtime'
import { deferred, turn } from './_actors.js'

/** An actor with an asynchronous handler that runs `work` once it is resumed, whether the actor lives or not. */
export function zombie(work: (ctx: ActorContext) => unknown) {
  const gate = deferred()
  const outcome = deferred<unknown>()
  const behaviour = defineActor({
    name: 'zombie',
    init: () => ({}),
    cast: {
      async go(_, __: undefined, ctx) {
        await gate.promise
        try {
          outcome.resolve(await work(ctx))
        } catch (error) {
          outcome.reject(error)
        }
      },
    },
  })
  const die = async (ref: ActorRef): Promise<unknown> => {
    ;(ref as ActorRef as unknown as { cast(name: string): void }).cast('go')
    await turn()
    ref.kill()
    gate.resolve()
    return outcome.promise
  }
  return { behaviour, die }
}
