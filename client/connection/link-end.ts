import { TransportError } from '../../transports/base/errors.js'
import type { Incarnation } from './incarnation.js'

interface LinkEnding {
  readonly fatal?: boolean
  readonly again?: boolean
}

export function ended(state: Incarnation, reason: Error, { fatal = false, again = false }: LinkEnding): void {
  const sessionGone = reason instanceof TransportError && reason.code === 'SESSION_NOT_FOUND'
  state.link.forget()
  letGo(state)
  state.calls.linkEnded(reason, { sessionGone, fatal })
  state.connection.send({ type: 'lost', reason, fatal, fresh: sessionGone || again })
  for (const reply of state.closing.splice(0)) reply.resolve()
}

/** This connection is of no use: the client ends it. */
export function refused(
  state: Incarnation,
  reason: Error,
  { fatal = false, again = false }: LinkEnding = {},
): void {
  dropLink(state, reason)
  state.connection.send({ type: 'lost', reason, fatal, fresh: again })
}

/** The machine waits, and the connection is kept. */
export function unreachable(state: Incarnation, reason: Error): void {
  // each call that was in flight finds it out: the first one has done all of this
  if (state.connection.phase === 'disconnected') return
  state.calls.forgetOwn()
  state.listening.clear()
  state.taskListening.clear()
  state.wishTelling.clear()
  state.calls.interrupted(reason)
  state.connection.send({ type: 'unreachable', reason })
}

/** Does not wait for its end; `reason` is what calls in flight are told. */
export function dropLink(
  state: Incarnation,
  reason: Error = new TransportError('CONNECTION_LOST', 'the connection was given up', { retryable: true }),
): void {
  letGo(state)
  state.link.close()
  state.link.forget()
  state.calls.linkEnded(reason, { sessionGone: false, fatal: false })
}

/** A greeting that went on while its connection ends would fail, and forget whoever waits for that end. */
export function giveGreetingUp(state: Incarnation): void {
  state.greeting = undefined
  state.calls.forgetOwn()
}

function letGo(state: Incarnation): void {
  giveGreetingUp(state)
  state.listening.clear()
  state.taskListening.clear()
  state.wishTelling.clear()
  state.questions.clear()
}
