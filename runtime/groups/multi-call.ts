import type { InputOf, Messages, ReplyOf } from '../process/program.js'
import { NamedRef } from '../process/registry.js'
import { badOption } from '../base/check.js'
import { handled } from '../base/promise.js'
import { ActorRef, type CallOptions, type MessageArgs } from '../process/ref.js'

/** What came back from many: who replied with what, and who failed how, in the order they were asked. */
export interface MultiReply<Reply, Target> {
  readonly replies: readonly { readonly ref: Target; readonly reply: Reply }[]
  readonly failures: readonly { readonly ref: Target; readonly error: unknown }[]
}

/**
 * Makes one call to many actors at once and collects what comes back until the deadline (OTP:
 * gen_server:multi_call). Never rejects for what a single actor does: those that are gone or late are listed
 * as failures. Rejects with BAD_OPTION for what are no references.
 */
export function multiCall<Calls extends Messages, Casts extends Messages, Name extends keyof Calls & string>(
  refs: Iterable<ActorRef<Calls, Casts>>,
  name: Name,
  ...args: MessageArgs<InputOf<Calls[Name]>, CallOptions>
): Promise<MultiReply<ReplyOf<Calls[Name]>, ActorRef<Calls, Casts>>> {
  return handled(callAll(refs, name, args))
}

async function callAll<Calls extends Messages, Casts extends Messages, Name extends keyof Calls & string>(
  refs: Iterable<ActorRef<Calls, Casts>>,
  name: Name,
  args: MessageArgs<InputOf<Calls[Name]>, CallOptions>,
): Promise<MultiReply<ReplyOf<Calls[Name]>, ActorRef<Calls, Casts>>> {
  const targets = readRefs(refs)
  const settled = await Promise.allSettled(targets.map((ref) => ref.call(name, ...args)))
  const replies: { ref: ActorRef<Calls, Casts>; reply: ReplyOf<Calls[Name]> }[] = []
  const failures: { ref: ActorRef<Calls, Casts>; error: unknown }[] = []
  settled.forEach((outcome, i) => {
    const ref = targets[i]
    if (ref === undefined) return
    if (outcome.status === 'fulfilled') replies.push({ ref, reply: outcome.value })
    else failures.push({ ref, error: outcome.reason })
  })
  return { replies, failures }
}

/**
 * Casts one message to many actors; answers how many took it (OTP: abcast). Throws BAD_OPTION for what are no
 * references.
 */
export function multiCast<Calls extends Messages, Casts extends Messages, Name extends keyof Casts & string>(
  refs: Iterable<ActorRef<Calls, Casts>>,
  name: Name,
  ...args: MessageArgs<InputOf<Casts[Name]>, never>
): number {
  let taken = 0
  for (const ref of readRefs(refs)) if (ref.cast(name, ...args)) taken += 1
  return taken
}

/** All are looked at before the first is asked. */
function readRefs<Ref>(refs: Iterable<Ref>): Ref[] {
  if (refs == null || !(Symbol.iterator in Object(refs)))
    throw badOption('refs', 'references to actors, as something iterable', refs)
  const targets = [...refs]
  for (const ref of targets)
    if (!(ref instanceof ActorRef || ref instanceof NamedRef))
      throw badOption('refs', 'a reference to an actor', ref)
  return targets
}
