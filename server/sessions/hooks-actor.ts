import { type Deferred, defineActor, type Down } from '../../runtime/process/behaviour.js'
import type { ActorContext } from '../../runtime/process/context.js'
import { describe } from '../../runtime/watch/inspect.js'
import type { ProcessRef, RefOf } from '../../runtime/process/ref.js'
import type { TaskContext } from '../../runtime/tasks/task.js'
import { startTaskSupervisor, type TaskSupervisor } from '../../runtime/tasks/supervisor.js'
import { type OpenSessionFacts, ToolContext } from '../context/context.js'
import type { sessionActor } from './session-actor.js'
import type { SessionContext, SessionHooks } from '../definitions/session-hooks.js'
import type { SessionFrame } from '../context/session-frame.js'
import { SessionScope } from './session-scope.js'

type SessionRef = RefOf<typeof sessionActor>

/** A session that begins, or was brought back. */
export interface Beginning {
  readonly session: SessionRef
  readonly facts: OpenSessionFacts
  readonly restored: boolean
}

/** The hooks of an author, and what whoever starts the server has to say to them. */
export interface HooksInput {
  readonly hooks: SessionHooks
  readonly initArg: unknown
}

interface Hooks extends HooksInput {
  readonly tasks: TaskSupervisor
  /** Sessions whose `init` was well. */
  readonly begun: Map<ProcessRef, Begun>
  /** What is still being cleaned up, by the id of its session. */
  readonly ending: Map<string, Promise<void>>
  [describe](): string
}

interface Begun {
  readonly facts: OpenSessionFacts
  readonly frame: SessionFrame
}

/** What there is of a session that begins. */
const beginning = Object.freeze({
  peer: Object.freeze({ transport: 'none', headers: {}, remoteAddress: undefined }),
  request: Object.freeze({ id: 'initialize', method: 'initialize', params: Object.freeze({}) }),
  silent: 'nobody can be asked while a session begins',
})
const usual = 5_000
/** Milliseconds for a session that may be wanted back at once. */
const hurried = 1_000

/**
 * Runs an author's hooks in tasks, above the group and watching its sessions: so a session is cleaned up on
 * every road to its end, its supervisor's included. A session that is brought back waits until it was cleaned
 * up.
 */
export const hooksActor = defineActor({
  name: 'hooks',
  trapExit: true,
  stray: 'report',
  async init(input: HooksInput, ctx: ActorContext): Promise<Hooks> {
    const begun = new Map<ProcessRef, Begun>()
    const tasks = await startTaskSupervisor(ctx, { name: 'hooks' })
    const ending = new Map<string, Promise<void>>()
    return {
      ...input,
      tasks,
      begun,
      ending,
      [describe]: () => `${begun.size} sessions, ${ending.size} ending`,
    }
  },
  call: {
    /** Answers once `init` is done; rejects with what it threw. */
    begin(state, beginning: Beginning, ctx): Deferred<undefined> {
      const reply = ctx.defer<undefined>()
      const watch = (frame: SessionFrame): void => {
        state.begun.set(beginning.session, { facts: beginning.facts, frame })
        ctx.monitor(beginning.session)
        reply.resolve(undefined)
      }
      const before = state.ending.get(beginning.facts.id) ?? Promise.resolve()
      before.then(() => runInit(state, beginning)).then(watch, (error: unknown) => reply.reject(error))
      return reply
    },
  },
  info: {
    down: (state, down) => runTerminate(state, down),
  },
  /** All sessions have ended by now, and their hooks have their own time. */
  async terminate({ ending }) {
    await Promise.all(ending.values())
  },
})

async function runInit(
  { hooks, initArg, tasks }: Hooks,
  { session, facts, restored }: Beginning,
): Promise<SessionFrame> {
  const { init, timeout = usual } = hooks
  const frame = await session.call('frame')
  if (init === undefined) return frame
  const run = async (task: TaskContext): Promise<void> => {
    const ctx = new ToolContext(
      new SessionScope({ ...beginning, session: facts, self: session, task, frame }),
    )
    await init.call(hooks, ctx as SessionContext, { restored, initArg })
  }
  await tasks.start(run, { name: 'session init', link: session, timeout }).result
  return frame
}

function runTerminate({ hooks, tasks, begun, ending }: Hooks, { process, reason }: Down): void {
  const known = begun.get(process)
  begun.delete(process)
  const { terminate, timeout = usual } = hooks
  if (known === undefined || terminate === undefined) return
  const { facts: session, frame } = known
  const limit = reason.type === 'normal' ? timeout : Math.min(timeout, hurried)
  const run = async ({ signal }: TaskContext): Promise<void> => {
    await terminate.call(hooks, { session, signal, assigns: frame.assigns }, reason)
  }
  const over: Promise<void> = tasks
    .start(run, { name: 'session terminate', timeout: limit })
    .result.catch(() => {}) // reported as the crash of its task
    .then(() => {
      if (ending.get(session.id) === over) ending.delete(session.id)
    })
  ending.set(session.id, over)
}
