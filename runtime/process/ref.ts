import { badOption } from '../base/check.js'
import { RuntimeError, show } from '../base/errors.js'
import { checkReason, type ExitReason, normal } from '../base/exit.js'
import { handled } from '../base/promise.js'
import { currentOwner } from '../faults/containment.js'
import { reportNumber } from '../faults/events.js'
import { writesCrashes } from '../faults/log.js'
import { checkMs, msError } from '../time/clock.js'
import { waitWithin } from '../time/wait.js'
import { type Actor, Message } from './actor.js'
import { Call, refused } from './call.js'
import { deadCaller, fence, ProcessRef, processOf } from './process.js'
import type { InputOf, Messages, Program, ReplyOf } from './program.js'

export { ProcessRef, processOf } from './process.js'

/** The number of the report of a crash, as its line in the log has it; undefined if its tree writes none. */
export function reportOf(crashed: ProcessRef): string | undefined {
  const { tree } = processOf(crashed)
  return writesCrashes(tree.logging) ? reportNumber(tree.id, crashed.id) : undefined
}

/** Options of a call. */
export interface CallOptions {
  /** Milliseconds until the call rejects with TIMEOUT; a late reply is dropped. Default 5000. */
  timeout?: number
}

/** For a call whose server sets its own limit; it fails only with its server. */
export const forever: CallOptions = Object.freeze({ timeout: Number.POSITIVE_INFINITY })

/** The arguments after a message's name: its input, if the handler takes one, and options. */
export type MessageArgs<Input, Options> = [Input] extends [never]
  ? [input?: undefined, options?: Options]
  : unknown extends Input
    ? [input?: unknown, options?: Options]
    : undefined extends Input
      ? [input?: Input, options?: Options]
      : [input: Input, options?: Options]

/** A reference to an actor, typed by its behaviour. */
export class ActorRef<
  Calls extends Messages = Record<never, never>,
  Casts extends Messages = Record<never, never>,
> extends ProcessRef {
  /**
   * Sends a message and waits for its reply (OTP: gen_server:call). Rejects with TIMEOUT, NOPROC (already
   * ended), EXITED (ended before it replied; `data.reason`), MAILBOX_FULL, CALLING_SELF, ACTOR_DEAD (the
   * caller is a dead incarnation) or BAD_MESSAGE (no such call). Errors of `refuse` and of a deferred
   * `reject` arrive as they are.
   */
  call<Name extends keyof Calls & string>(
    name: Name,
    ...args: MessageArgs<InputOf<Calls[Name]>, CallOptions>
  ): Promise<ReplyOf<Calls[Name]>> {
    const [input, options] = args
    return callActor(actorOf(this), name, input, options) as Promise<ReplyOf<Calls[Name]>>
  }

  /**
   * Sends a message without waiting (OTP: gen_server:cast). False when the actor has ended or its mailbox is
   * full. Throws BAD_MESSAGE (no such cast), ACTOR_DEAD (the caller is a dead incarnation).
   */
  cast<Name extends keyof Casts & string>(
    name: Name,
    ...args: MessageArgs<InputOf<Casts[Name]>, never>
  ): boolean {
    const actor = actorOf(this)
    const entry = actor.behaviour.casts.get(name)
    if (entry === undefined) throw unknownMessage(actor, 'cast', name)
    fence(actor)
    return actor.post(new Message(entry, args[0], null))
  }

  /** Sends anything to `info.message`, as `cast`. Without that handler it is reported and dropped. */
  send(message: unknown): boolean {
    const actor = actorOf(this)
    fence(actor)
    return actor.send(message)
  }

  /**
   * Stops the actor after the messages before this one (OTP: gen_server:stop); default reason `normal`. Runs
   * `terminate`, and resolves with the reason once all that the actor owned is released. Rejects with TIMEOUT
   * after `timeout` ms (default 5000; the actor goes on ending), NOPROC if it had ended, and ACTOR_DEAD or
   * BAD_OPTION.
   */
  stop(reason: ExitReason = normal, timeout = 5_000): Promise<ExitReason> {
    return handled(stopActor(actorOf(this), this, reason, timeout))
  }
}

/** The reference type of a behaviour: `RefOf<typeof counter>`. */
export type RefOf<B> =
  B extends Program<infer _State, infer _Input, infer Calls, infer Casts> ? ActorRef<Calls, Casts> : never

function actorOf(ref: ProcessRef): Actor {
  return ProcessRef.reveal(ref) as Actor
}

export function callActor(
  actor: Actor,
  name: string,
  input: unknown,
  options: CallOptions | undefined,
): Promise<unknown> {
  const entry = actor.behaviour.calls.get(name)
  if (entry === undefined) return refused(unknownMessage(actor, 'call', name))
  const wrong = options === undefined ? undefined : wrongOptions(options)
  if (wrong !== undefined) return refused(wrong)
  const timeout = options?.timeout ?? 5_000
  const owner = currentOwner()
  if (owner !== undefined) {
    if (owner.fenced) return refused(deadCaller(actor, owner.name))
    if (owner === actor.token && (actor.handling || actor.phase !== 'running'))
      return refused(
        new RuntimeError(
          'CALLING_SELF',
          `${actor.name}.${name}: an actor cannot call itself while it handles a message, it would wait for itself`,
        ),
      )
  }
  const call = new Call(actor, name, timeout)
  if (actor.reason !== null) call.fail(actor.reason, 'NOPROC')
  else if (!actor.post(new Message(entry, input, call))) {
    call.reject(
      new RuntimeError(
        'MAILBOX_FULL',
        `${actor.name}.${name}: ${actor.backlog} messages are waiting already`,
        { retryable: true, data: { sent: false } },
      ),
    )
  }
  return call.promise
}

export function wrongOptions(options: CallOptions): RuntimeError | undefined {
  if (typeof options !== 'object' || options === null) return badOption('options', 'an object', options)
  for (const field in options)
    if (field !== 'timeout' && Object.hasOwn(options, field))
      return badOption(field, 'no option of a call but timeout', field)
  return options.timeout === undefined ? undefined : msError(options.timeout, 'timeout')
}

async function stopActor(
  actor: Actor,
  ref: ProcessRef,
  reason: ExitReason,
  timeout: number,
): Promise<ExitReason> {
  checkReason(reason, 'stop')
  fence(actor)
  checkMs(timeout, 'timeout')
  if (!ref.alive) throw new RuntimeError('NOPROC', `stop: ${actor.name} has already ended`)
  const late = (): never => {
    throw new RuntimeError('TIMEOUT', `stop: ${actor.name} did not end within ${timeout} ms`, {
      data: actor.doing(),
      retryable: true,
    })
  }
  return waitWithin<ExitReason>({ clock: actor.tree.clock, ms: timeout, late }, (resolve) => {
    const unwatch = ref.onExit((ended) => {
      // Waits for what it owned, too: a port is free then.
      resolve(actor.released === null ? ended : actor.released.then(() => ended))
    })
    actor.stopWith(reason)
    return unwatch
  })
}

function unknownMessage(actor: Actor, kind: 'call' | 'cast', name: unknown): RuntimeError {
  const known = [...(kind === 'call' ? actor.behaviour.calls : actor.behaviour.casts).keys()]
  return new RuntimeError(
    'BAD_MESSAGE',
    `${actor.name}: expected a ${kind} among [${known.join(', ')}], got ${show(name)}`,
  )
}
