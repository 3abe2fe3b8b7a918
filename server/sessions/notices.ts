import { buildRequest, type JsonRpcNotification } from '../../protocol/wire/jsonrpc.js'
import type { Peer } from '../../transports/contract/contract.js'
import type { NotificationHandler } from '../definitions/low-level.js'
import type { Session } from './session.js'
import { nowhere } from '../runs/seat.js'
import { SessionSeat } from './session-seat.js'

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
  const delivery = { request: buildRequest(method, method, params), sink: nowhere, peer }
  const name = method.slice(0, 100)
  const silent = `${method}: a notification has nobody to ask`
  const seat = new SessionSeat(session, delivery, { name, silent })
  session.notices += 1
  const handling = tasks.start(
    async (task) => {
      await handler(params, seat.enter(task))
      await seat.save()
    },
    { name, link: self, timeout },
  )
  handling.ref.onExit(() => {
    session.notices -= 1
    // here, as a handler that is out of time does not come to say it
    if (seat.rollsBack && self.alive) self.cast('rollBack')
  })
}
