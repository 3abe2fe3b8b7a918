import { buildRequest, type JsonRpcNotification } from '../../protocol/wire/jsonrpc.js'
import type { Peer } from '../../transports/contract/contract.js'
import { ToolContext } from '../context/context.js'
import type { NotificationHandler } from '../definitions/low-level.js'
import { saveSeen } from './saving.js'
import type { Session } from './session.js'
import { nowhere, SessionScope } from './session-scope.js'

/** Handlers of one session at once: nobody waits for a notification, so nothing slows down its sender. */
const maxRunning = 64
/** Milliseconds. */
const timeout = 60_000

/** Runs a notification handler as a task; faults are reported. Beyond 64, the notification is dropped. */
export function takeNotice(
  session: Session,
  handler: NotificationHandler,
  { method, params = {} }: JsonRpcNotification,
  peer: Peer,
): void {
  const { tasks, self } = session
  // without tasks the group is being restarted
  if (session.notices >= maxRunning || !tasks.ref.alive) return
  const run = {
    request: buildRequest(method, method, params),
    outlet: nowhere,
    peer,
    work: { name: method.slice(0, 100) },
    silent: `${method}: a notification has nobody to ask`,
    task: undefined,
    cancelled: false,
    saw: 0,
  }
  session.notices += 1
  const how = { name: run.work.name, link: self, timeout }
  const handling = tasks.start(async (task) => {
    await handler(params, new ToolContext(new SessionScope(session, run, task)))
    await saveSeen(session, run.saw)
  }, how)
  handling.ref.onExit(() => {
    session.notices -= 1
  })
}
