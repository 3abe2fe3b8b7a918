import type { InputOf, Messages, ReplyOf } from '../process/program.js'
import { NamedRef } from '../process/registry.js'
import { badOption } from '../base/check.js'
import { handled } from '../base/promise.js'
import { ActorRef, type CallOptions, type MessageArgs } from '../process/ref.js'

/** Replies and failures, each in the order of the references. */
export interface MultiReply<Reply, Target> {
  readonly replies: readonly { readonly ref: Target; readonly reply: Reply }[]
  readonly failures: readonly { readonly ref: Target; readonly error: unknown }[]
}

/**
 * Calls many actors at once and waits for all replies or the deadline (OTP: gen_server:multi_call). Actors
 * that are gone, late or refuse are `failures`. Rejects with BAD_OPTION for what is no reference.
 */
export function multiCall<Calls extends Messages, Casts extends Messages, Name extends keyof Calls & string>(
  refs: Iterable<ActorRef<Calls, Casts>>,
  name: Name,
  ...args: MessageArgs<InputOf<Calls[Name]>, CallOptions>
): Promise<MultiReply<ReplyOf<Calls[Name]>, ActorRef<Calls, Casts>>> {
  const replies = callAll(refs as Iterable<ActorRef>, name, args)
  return handled(replies) as Promise<MultiReply<ReplyOf<Calls[Name]>, ActorRef<Calls, Casts>>>
}

async function callAll(
  refs: Iterable<ActorRef>,
  name: string,
  args: readonly unknown[],
): Promise<MultiReply<unknown, ActorRef>> {
  const targets = readRefs(refs)
  const settled = await Promise.allSettled(targets.map((ref) => ref.call(name as never, ...(args as []))))
  const outcomes = targets.map((ref, i) => ({ ref, outcome: settled[i] }))
  return {
    replies: outcomes.flatMap(({ ref, outcome }) =>
      outcome?.status === 'fulfilled' ? [{ ref, reply: outcome.value as unknown }] : [],
    ),
    failures: outcomes.flatMap(({ ref, outcome }) =>
      outcome?.status === 'rejected' ? [{ ref, error: outcome.reason as unknown }] : [],
    ),
  }
}

/** Casts to many actors; answers how many took it (OTP: abcast). Throws BAD_OPTION. */
export function multiCast<Calls extends Messages, Casts extends Messages, Name extends keyof Casts & string>(
  refs: Iterable<ActorRef<Calls, Casts>>,
  name: Name,
  ...args: MessageArgs<InputOf<Casts[Name]>, never>
): number {
  let taken = 0
  for (const ref of readRefs(refs)) if (ref.cast(name, ...args)) taken += 1
  return taken
}

/** Checks all before the first is sent anything. */
function readRefs<Ref>(refs: Iterable<Ref>): Ref[] {
  if (refs == null || !(Symbol.iterator in Object(refs)))
    throw badOption('refs', 'references to actors, as something iterable', refs)
  const targets = [...refs]
  for (const ref of targets)
    if (!(ref instanceof ActorRef || ref instanceof NamedRef))
      throw badOption('refs', 'a reference to an actor', ref)
  return targets
}
