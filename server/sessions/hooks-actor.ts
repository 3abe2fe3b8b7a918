import { errorCodes, McpError } from '../../protocol/wire/errors.js'
import { isObject } from '../../protocol/wire/json.js'
import { buildRequest } from '../../protocol/wire/jsonrpc.js'
import { RuntimeError } from '../../runtime/base/errors.js'
import { crash } from '../../runtime/base/exit.js'
import { type Deferred, defineActor, type Down } from '../../runtime/process/behaviour.js'
import type { ActorContext } from '../../runtime/process/context.js'
import { describe } from '../../runtime/watch/inspect.js'
import type { ProcessRef } from '../../runtime/process/ref.js'
import type { TaskContext } from '../../runtime/tasks/task.js'
import { startTaskSupervisor, type TaskSupervisor } from '../../runtime/tasks/supervisor.js'
import { ToolError } from '../base/errors.js'
import { type ToldCrash, toldCrash } from '../base/exposed-error.js'
import type { SessionRef } from './session-actor.js'
import type { SessionContext, SessionHooks } from '../definitions/session-hooks.js'
import type { Session } from './session.js'
import { nowhere } from '../runs/seat.js'
import { SessionSeat } from './session-seat.js'

interface Beginning {
  readonly session: SessionRef
  readonly id: string
  readonly restored: boolean
}

interface HooksInput {
  readonly hooks: SessionHooks
  readonly initArg: unknown
}

interface Hooks extends HooksInput {
  tasks: TaskSupervisor
  /** Sessions whose `init` has succeeded. */
  readonly begun: Map<ProcessRef, Session>
  /** `terminate` hooks that still run, by the id of their session. */
  readonly ending: Map<string, Promise<void>>
  [describe](): string
}

/** What `init` runs for: there is no request, and nobody to tell. */
const nothing = Object.freeze({
  request: Object.freeze(buildRequest('initialize', 'initialize', Object.freeze({}))),
  sink: nowhere,
  peer: Object.freeze({ transport: 'none', headers: {}, remoteAddress: undefined }),
})
const initOptions = { name: 'session init', silent: 'nobody can be asked while a session begins' }
/** Milliseconds for a hook that has no `timeout`. */
const usual = 5_000
/** Milliseconds for `terminate` of a session that may be wanted back at once. */
const hurried = 1_000

/** Above the group: `terminate` runs however a session ends, and before the session is brought back. */
export const hooksActor = defineActor({
  name: 'hooks',
  trapExit: true,
  stray: 'report',
  async init(input: HooksInput, ctx: ActorContext): Promise<Hooks> {
    const begun = new Map<ProcessRef, Session>()
    const tasks = await startTasks(ctx)
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
    /**
     * Answers once `init` is done; rejects with the error for the client or, of a restored session, with what
     * it threw.
     */
    begin(state, beginning: Beginning, ctx): Deferred<undefined> {
      const reply = ctx.defer<undefined>()
      const watch = (session: Session): void => {
        state.begun.set(beginning.session, session)
        ctx.monitor(beginning.session)
        reply.resolve(undefined)
      }
      const before = state.ending.get(beginning.id) ?? Promise.resolve()
      before.then(() => runInit(state, beginning)).then(watch, (error: unknown) => reply.reject(error))
      return reply
    },
  },
  info: {
    down: (state, down) => runTerminate(state, down),
    /** Sessions that have begun are still to end with their hook. */
    async exit(state, { from }, ctx) {
      if (from === state.tasks.ref) state.tasks = await startTasks(ctx)
    },
  },
  /** All sessions have ended by now, and their hooks have their own time. */
  async terminate({ ending }) {
    await Promise.all(ending.values())
  },
})

function startTasks(ctx: ActorContext): Promise<TaskSupervisor> {
  return startTaskSupervisor(ctx, { name: 'hooks' })
}

async function runInit(
  { hooks, initArg, tasks }: Hooks,
  { session: ref, restored }: Beginning,
): Promise<Session> {
  const { init, timeout = usual } = hooks
  const session = await ref.call('share')
  if (init === undefined) return session
  const run = async (task: TaskContext): Promise<void> => {
    const ctx = new SessionSeat(session, nothing, initOptions).enter(task)
    await init.call(hooks, ctx as SessionContext, { restored, initArg })
  }
  const { result, ref: task } = tasks.start(run, { name: initOptions.name, link: ref, timeout })
  await result.catch((error: unknown) => {
    const { exposeErrors } = session.holdings.settings
    throw restored ? error : refusalOf(error, (thrown) => toldCrash(task, crash(thrown), exposeErrors))
  })
  return session
}

/** The error for the client when `init` throws: the author's own, if it is meant for clients. */
function refusalOf(error: unknown, tell: (thrown: unknown) => ToldCrash): unknown {
  // it took too long, or its session is gone
  if (error instanceof RuntimeError && error.code === 'EXITED') return error
  if (error instanceof McpError) return mayBeOurs.has(error.code) ? final(error) : error
  if (error instanceof ToolError) return final(McpError.internal(error.message, { code: error.code }))
  const { message, data } = tell(error)
  return final(McpError.internal(message, data))
}

/** Codes that say of themselves that something in between has failed, which clients try again. */
const mayBeOurs: ReadonlySet<number> = new Set([errorCodes.internalError, -32000, -32001])

/** Marks the error as not retryable, unless its author has said otherwise. */
function final({ code, message, data }: McpError): McpError {
  if (data !== undefined && !isObject(data)) return new McpError(code, message, { data })
  return new McpError(code, message, { data: { retryable: false, ...data } })
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
