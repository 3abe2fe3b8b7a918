import {
  type ActorRef,
  defineActor,
  type ExitReason,
  type ExitRequest,
  ignore,
  type ProcessRef,
} from 'caduceus/runtime'

/** What an actor here is told by one in a peer. */
export type Listener = ActorRef<never, { heard(state: unknown, what: unknown): void }>

interface Args {
  readonly listener?: Listener
  readonly init?: 'throw' | 'ignore' | 'stop' | 'never' | 'greet'
  readonly ending?: number
}

const calls = {
  link: (_state: State, ref: ProcessRef, ctx: Ctx) => void ctx.link(ref),
  unlink: (_state: State, ref: ProcessRef, ctx: Ctx) => void ctx.unlink(ref),
  monitor: (_state: State, ref: ProcessRef, ctx: Ctx) => void ctx.monitor(ref),
  exit: (_state: State, { ref, request }: { ref: ProcessRef; request: ExitRequest }, ctx: Ctx) =>
    void ctx.exit(ref, request),
  heard: (state: State) => state.heard,
  self: (_state: State, _nothing: undefined, ctx: Ctx) => ctx.self,
  async child(_state: State, _nothing: undefined, ctx: Ctx): Promise<ActorRef> {
    return ctx.start(sleeper)
  },
  wait: (_state: State, ms: number) => new Promise<string>((resolve) => setTimeout(resolve, ms, 'waited')),
  relay: (
    _state: State,
    { to, what }: { to: ActorRef<{ echo(state: never, v: unknown): unknown }>; what: unknown },
  ) => to.call('echo', what),
  echo: (_state: State, what: unknown) => what,
  kill: () => process.kill(process.pid, 'SIGKILL'),
}

const casts = {
  note: (state: State, what: unknown) => void state.heard.push(what),
  end: (_state: State, reason: ExitReason, ctx: Ctx) => ctx.stop(reason),
  crash() {
    throw Object.assign(new TypeError('out of order'), { code: 'E_ORDER', data: { at: 7 } })
  },
  block(_state: State, ms: number) {
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms)
  },
}

interface State {
  readonly heard: unknown[]
  readonly listener: Listener | undefined
  readonly ending: number
}

type Ctx = Parameters<NonNullable<Parameters<typeof defineActor>[0]['init']>>[1]

const sleeper = defineActor({ name: 'sleeper', init: () => ({}) })

function define(name: string, trapExit: boolean) {
  return defineActor({
    name,
    trapExit,
    init({ listener, init, ending = 0 }: Args = {}, ctx): State | Promise<State> | typeof ignore {
      if (init === 'throw') throw new TypeError('no start')
      if (init === 'ignore') return ignore
      if (init === 'stop') ctx.stop({ type: 'shutdown', detail: 'not today' })
      if (init === 'never') return new Promise(() => {})
      if (init === 'greet') listener?.cast('heard', ctx.self)
      return { heard: [], listener, ending }
    },
    call: calls,
    cast: casts,
    info: {
      exit: (state, { reason }) => void state.heard.push(['exit', reason.type, wordsOf(reason)]),
      down: (state, { reason }) => void state.heard.push(['down', reason.type, wordsOf(reason)]),
      message: (state, message) => void state.heard.push(['message', message]),
    },
    async terminate({ listener, ending }, reason) {
      listener?.cast('heard', ['terminate', reason.type])
      await new Promise((resolve) => setTimeout(resolve, ending))
      listener?.cast('heard', 'terminated')
    },
  })
}

function wordsOf(reason: ExitReason): unknown {
  return reason.type === 'crash' ? (reason.error as Error).message : undefined
}

/** Traps exits. */
export const trapper = define('trapper', true)
export const partner = define('partner', false)
