import { type ActorRef, type Behaviour, crash, defineActor, type ProcessRef, refuse } from 'caduceus/runtime'

/** Runs in a thread or process of its own, in tests of peers. */
const counter = defineActor({
  name: 'counter',
  init: ({ from = 0 }: { from?: number } = {}) => ({ count: from }),
  call: {
    add(state, by: number) {
      state.count += by
      return state.count
    },
    echo: (_state, value: unknown) => value,
    refuse: (_state, error: Error) => refuse(error),
    never: (_state, _nothing: undefined, ctx) => ctx.defer<never>(),
    pid: () => process.pid,
    /** Spins, and tells so all the time. */
    spinAloud(_state, listener: ActorRef<never, { heard(state: unknown): void }>) {
      for (let last = 0; ; ) {
        const now = Math.floor(performance.now() / 20)
        if (now !== last) listener.cast('heard')
        last = now
      }
    },
    spin(_state) {
      for (;;);
    },
    exit: (_state, code: number) => process.exit(code),
    die: () => process.kill(process.pid, 'SIGKILL'),
    ask: (_state, whom: ActorRef<{ name(state: unknown): string }>) => whom.call('name'),
    alive: (_state, ref: ProcessRef) => ref.alive,
    link: (_state, ref: ProcessRef, ctx) => ctx.link(ref),
    async child(_state, _nothing: undefined, ctx): Promise<ActorRef> {
      return ctx.start(counter as Behaviour<unknown, unknown>)
    },
    throw(_state, message: string): void {
      throw new Error(message)
    },
  },
  cast: {
    tell(
      _state,
      { whom, what }: { whom: ActorRef<never, { told(state: unknown, what: unknown): void }>; what: unknown },
    ) {
      whom.cast('told', what)
    },
    crash(_state, message: string, ctx) {
      ctx.stop(crash(new Error(message)))
    },
  },
})

export class Overdrawn extends Error {
  readonly by: number

  constructor(by: number) {
    super(`overdrawn by ${by}`)
    this.by = by
  }
}

export const errors = { Overdrawn }

export { counter as default }
