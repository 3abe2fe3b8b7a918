import type { Actor } from './actor.js'
import { emit } from '../faults/events.js'
import { Message } from './message.js'

/** News from the runtime: a message to the actor's `info` handler, or a notice when there is none. */
export function inform(actor: Actor, kind: 'timer' | 'timeout' | 'down' | 'exit', input: unknown): void {
  const entry = actor.behaviour.info[kind]
  if (entry === undefined) return unexpected(actor, kind, input)
  actor.deliver(new Message(entry, input, null))
}

/**
 * Anything that `ref.send` is given: a message to `info.message`, or a notice; false when the actor has ended
 * or is full.
 */
export function sendInfo(actor: Actor, message: unknown): boolean {
  const entry = actor.behaviour.info.message
  if (entry !== undefined) return actor.post(new Message(entry, message, null))
  unexpected(actor, 'message', message)
  return actor.reason === null
}

/** A message too many: reported once until half of the mailbox is free again. */
export function refuseMessage(actor: Actor): false {
  const rare = actor.sometimes()
  if (!rare.full)
    emit('notice', () => ({ ...actor.facts(), notice: 'mailbox_full', detail: actor.behaviour.mailboxLimit }))
  rare.full = true
  return false
}

function unexpected(actor: Actor, kind: string, detail: unknown): void {
  emit('notice', () => ({ ...actor.facts(), notice: 'unexpected_message', detail: { kind, detail } }))
}
