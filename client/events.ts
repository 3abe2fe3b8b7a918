import { type Channel, channel } from 'node:diagnostics_channel'
import { tell } from '../runtime/containment.js'

/** Something that a client put up with. */
export interface WarningEvent {
  /** The name of the client. */
  readonly client: string
  readonly tree: number
  /**
   * `bad_tool`: a tool was left out of a list, since the rules for its headers are broken. `bad_schema`: an output schema cannot be used, and
   * results are not checked against it. `too_many_questions`: the server asked more than the client answers at once.
   */
  readonly type: 'bad_tool' | 'bad_schema' | 'too_many_questions'
  /** The name of the tool, at most 100 characters. */
  readonly tool?: string
  /** What is wrong with it, in a sentence. */
  readonly reason: string
}

/** What clients tell: published on `node:diagnostics_channel` as `caduceus.client.NAME`. No event has params, results or headers in it. */
export interface ClientEvents {
  warning: WarningEvent
}

const channels: { readonly [Name in keyof ClientEvents]: Channel } = Object.freeze({
  warning: channel('caduceus.client.warning'),
})

/** Tells subscribers of an event; the payload is made only when somebody listens, and what they throw is nobody's crash. */
export function emitClient<Name extends keyof ClientEvents>(
  name: Name,
  payload: () => ClientEvents[Name],
): void {
  const target = channels[name]
  if (target.hasSubscribers) tell(() => target.publish(payload()))
}

/** Hears every event of that name, of all clients in this process of Node, until the returned function is called. */
export function subscribeClient<Name extends keyof ClientEvents>(
  name: Name,
  fn: (event: ClientEvents[Name]) => void,
): () => void {
  const listener = (event: unknown): void => fn(event as ClientEvents[Name])
  channels[name].subscribe(listener)
  return () => {
    channels[name].unsubscribe(listener)
  }
}
