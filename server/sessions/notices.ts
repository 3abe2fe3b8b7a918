import type { SessionFrame } from '../context/session-frame.js'
import type { JsonRpcNotification } from '../../protocol/wire/jsonrpc.js'
import type { RefOf } from '../../runtime/process/ref.js'
import type { TaskContext } from '../../runtime/tasks/task.js'
import type { TaskSupervisor } from '../../runtime/tasks/supervisor.js'
import type { Peer } from '../../transports/contract/contract.js'
import { type OpenSessionFacts, ToolContext } from '../context/context.js'
import type { NotificationHandler } from '../definitions/low-level.js'
import type { sessionActor } from './session-actor.js'
import { saveInTime } from './saving.js'
import { SessionScope } from './session-scope.js'
import type { SessionStore } from '../stores/session-store.js'

/** What the handlers of a session's notifications run with. */
export interface NoticeHost {
  readonly frame: SessionFrame
  readonly facts: OpenSessionFacts
  readonly self: RefOf<typeof sessionActor>
  readonly store: SessionStore
  readonly tasks: TaskSupervisor
}

/** At once in a session: nobody waits for a notification, so that nobody would slow down who sends them. */
const maxRunning = 64
/** Milliseconds. */
const timeout = 60_000

/**
 * Runs the author's handlers of one session's notifications, each as a task; what one throws is reported, and
 * costs nothing else.
 */
export class SessionNotices {
  #running = 0

  /** Starts the handler of a notification; false when too many run, and the notification is dropped. */
  take(
    host: NoticeHost,
    handler: NotificationHandler,
    notification: JsonRpcNotification,
    peer: Peer,
  ): boolean {
    if (this.#running >= maxRunning) return false
    if (!host.tasks.ref.alive) return false // the group is being restarted
    this.#running += 1
    const how = { name: notification.method.slice(0, 100), link: host.self, timeout }
    const task = host.tasks.start((ctx) => handle(host, handler, notification, { ctx, peer }), how)
    task.ref.onExit(() => {
      this.#running -= 1
    })
    return true
  }
}

async function handle(
  { facts, self, store, tasks, frame }: NoticeHost,
  handler: NotificationHandler,
  { method, params = {} }: JsonRpcNotification,
  { ctx, peer }: { readonly ctx: TaskContext; readonly peer: Peer },
): Promise<void> {
  const request = Object.freeze({ id: method, method, params })
  const silent = `${method}: a notification has nobody to ask`
  const scope = new SessionScope({ session: facts, self, task: ctx, peer, request, silent, frame })
  await handler(params, new ToolContext(scope))
  if (scope.changed) await saveInTime({ store, tasks }, await self.call('record'))
}
