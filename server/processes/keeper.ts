import { backoff } from '../../runtime/time/backoff.js'
import { RuntimeError } from '../../runtime/base/errors.js'
import { crash } from '../../runtime/base/exit.js'
import { emit } from '../../runtime/faults/events.js'
import { defineActor } from '../../runtime/process/behaviour.js'
import type { ActorContext } from '../../runtime/process/context.js'
import { type ProcessRef, processOf } from '../../runtime/process/ref.js'
import { pause } from '../../runtime/time/wait.js'
import { describe } from '../../runtime/watch/inspect.js'
import { type DynamicSupervisor, dynamicSupervisorAt } from '../../runtime/supervision/dynamic.js'
import type { ChildSpec } from '../../runtime/supervision/child-spec.js'
import { forever } from '../../runtime/process/ref.js'
import type { DoorRef } from './door.js'
import type { HostRef } from './host.js'
import type { NodeRef } from './node-ref.js'

interface KeeperInput {
  /** How many processes serve. */
  readonly count: number
  /** Milliseconds that a process has for requests in flight when it is replaced, or the server stops. */
  readonly drainTimeout: number
  /** Milliseconds of these in which a server that stops still takes connections. */
  readonly drainDelay: number
  /** The name of the process with this number: each number is used once. */
  nameOf(number: number): string
  spec(name: string): ChildSpec
  /** Ends the processes that are not up yet: the supervisor would wait for them. */
  endStarting(): void
  /** Whether the server stops for good: then no more connections are taken. */
  stopping(): boolean
  readonly supervisor: ProcessRef
  readonly host: HostRef
  readonly door: DoorRef
}

interface KeptNode {
  readonly ref: NodeRef
  readonly name: string
  readonly startedAt: number
}

interface Keeper extends Omit<KeeperInput, 'supervisor'> {
  readonly supervisor: DynamicSupervisor
  /** Those that serve, the oldest first. */
  nodes: KeptNode[]
  starting: number
  /** Starts that failed, or lasted too short, one after the other. */
  failures: number
  reloading: Promise<void> | undefined
  /** The reload that begins when the one at work is over. */
  next: Promise<void> | undefined
  [describe](): string
}

/** Milliseconds that a process has to live for its start to count as a good one. */
const settledAfter = 5_000
/** Until a failed start is tried again. */
const pauses = { first: 100, longest: 5_000 }
/** Milliseconds for a connection that is on its way to a process, at least. */
const settleTime = 1_000
/** Milliseconds that a process has to end, beyond `timeouts.drain`. */
const farewell = 5_000
/** Milliseconds between two looks at a process that somebody else starts. */
const lookAgain = 50

/**
 * Keeps so many processes serving: starts another one for each that ends, and replaces them one by one
 * (`reload`). One that cannot be started is tried again and again, and costs those that serve nothing.
 */
export const keeperActor = defineActor({
  name: 'keeper',
  trapExit: true,
  async init({ supervisor, ...input }: KeeperInput, ctx: ActorContext): Promise<Keeper> {
    const keeper: Keeper = {
      ...input,
      supervisor: dynamicSupervisorAt(supervisor),
      nodes: [],
      starting: 0,
      failures: 0,
      reloading: undefined,
      next: undefined,
      [describe]: () => `${keeper.nodes.length} of ${input.count} processes serve`,
    }
    await adopt(keeper, ctx)
    const missing = Math.max(0, input.count - keeper.nodes.length)
    const starts = Array.from({ length: missing }, () => startNode(keeper, ctx))
    const failed = (await Promise.allSettled(starts)).find((start) => start.status === 'rejected')
    if (failed !== undefined) throw failed.reason
    return keeper
  },
  call: {
    /**
     * Replaces all processes, one at a time. A second call meanwhile ends the start that is under way, as
     * what it loads is out of date, and both are answered by what comes of the second.
     */
    reload(keeper, _nothing: undefined, ctx) {
      const reply = ctx.defer<void>()
      reload(keeper, ctx).then(
        () => reply.resolve(undefined),
        (error) => reply.reject(error),
      )
      return reply
    },
    nodes: ({ nodes }): NodeRef[] => nodes.map(({ ref }) => ref),
  },
  info: {
    down(keeper, { process }, ctx) {
      const ended = keeper.nodes.find((node) => node.ref === process)
      if (ended === undefined) return
      withdraw(keeper, ended)
      const lived = ctx.clock.now() - ended.startedAt
      keeper.failures = lived < settledAfter ? keeper.failures + 1 : 0
      // the first time at once
      if (keeper.failures <= 1) void replace(keeper, ctx)
      else replaceLater(keeper, ctx)
    },
    timer: (keeper, _payload, ctx) => void replace(keeper, ctx),
  },
  async terminate(keeper, _reason, ctx) {
    const { endStarting, stopping } = keeper
    endStarting()
    if (!stopping()) return
    await drainAll(keeper, ctx)
    endStarting()
  },
})

/** Goes on with the processes of an earlier keeper that serve; ends those that it was about to start or end. */
async function adopt(keeper: Keeper, ctx: ActorContext): Promise<void> {
  const left = new Set((await keeper.supervisor.children()).map(({ ref }) => ref))
  for (const { name, ref, serves } of await keeper.host.call('nodes')) {
    if (!serves || !left.delete(ref)) continue
    keep(keeper, { name, ref, startedAt: ctx.clock.now() }, ctx)
  }
  await Promise.all([...left].map((ref) => ref && end(keeper, ref)))
}

/** Starts a process, and has it serve once it is ready. */
async function startNode(keeper: Keeper, ctx: ActorContext): Promise<void> {
  keeper.starting += 1
  try {
    const name = keeper.nameOf(await keeper.host.call('number'))
    if (keeper.stopping()) throw new RuntimeError('NOPROC', 'the server stops')
    const started = await keeper.supervisor.startChild(keeper.spec(name)).catch((error: unknown) => {
      report(keeper, name, error, ctx)
      throw error
    })
    const ref = started.ref as NodeRef
    await keeper.host.call('serves', { name, ref, serves: true }).catch(async (error: unknown) => {
      await end(keeper, ref)
      throw error
    })
    keep(keeper, { ref, name, startedAt: ctx.clock.now() }, ctx)
  } finally {
    keeper.starting -= 1
  }
}

function keep(keeper: Keeper, node: KeptNode, ctx: ActorContext): void {
  keeper.nodes.push(node)
  ctx.monitor(node.ref)
  tellDoor(keeper)
}

/** Starts what is missing; what cannot be started is tried again later. */
async function replace(keeper: Keeper, ctx: ActorContext): Promise<void> {
  while (isShort(keeper)) {
    try {
      await startNode(keeper, ctx)
    } catch {
      if (ctx.signal.aborted) return
      keeper.failures += 1
      return replaceLater(keeper, ctx)
    }
  }
}

function replaceLater(keeper: Keeper, ctx: ActorContext): void {
  ctx.sendAfter(backoff(pauses, keeper.failures - 1))
}

function reload(keeper: Keeper, ctx: ActorContext): Promise<void> {
  if (keeper.reloading === undefined) {
    const work = replaceAll(keeper, ctx).finally(() => {
      keeper.reloading = undefined
      // what has ended meanwhile counted on a start that may have failed
      if (!ctx.signal.aborted) replaceLater(keeper, ctx)
    })
    keeper.reloading = work
    return work.catch((error: unknown) => {
      if (keeper.next === undefined) throw error
      return keeper.next
    })
  }
  keeper.next ??= keeper.reloading
    .catch(() => {})
    .then(() => {
      keeper.next = undefined
      return reload(keeper, ctx)
    })
  keeper.endStarting()
  return keeper.next
}

/** Rejects when a new process cannot be started: the old ones, as far as they are left, go on. */
async function replaceAll(keeper: Keeper, ctx: ActorContext): Promise<void> {
  for (const old of [...keeper.nodes]) {
    if (!keeper.nodes.includes(old)) continue
    await startNode(keeper, ctx)
    if (!keeper.nodes.includes(old)) continue
    await keeper.host.call('serves', { name: old.name, ref: old.ref, serves: false })
    withdraw(keeper, old)
    // a connection that is on its way to it is served there
    await keeper.door
      .call('withdraw', old.ref, { timeout: Math.max(settleTime, keeper.drainTimeout) })
      .catch(ignoreEnd)
    await old.ref.call('retire', keeper.drainTimeout, forever).catch(ignoreEnd)
    await end(keeper, old.ref)
  }
  // those that were missing before, or have ended meanwhile
  while (keeper.nodes.length < keeper.count && !ctx.signal.aborted) {
    if (isShort(keeper)) await startNode(keeper, ctx)
    else await pause(lookAgain, ctx.clock, ctx.signal)
  }
}

/** Ends all processes together; until then they pass messages on. */
async function drainAll(keeper: Keeper, ctx: ActorContext): Promise<void> {
  const { door, host, drainDelay } = keeper
  // also those that are being replaced
  const nodes = (await host.call('nodes').catch(() => [])).map(({ ref }) => ref)
  if (drainDelay === 0) {
    door.cast('close')
    // a connection that is on its way to one is answered there
    const timeout = settleTime
    await Promise.allSettled(nodes.map((ref) => door.call('withdraw', ref, { timeout })))
  }
  const timeout = keeper.drainTimeout + farewell
  const drained = Promise.allSettled(nodes.map((ref) => ref.call('drain', undefined, { timeout })))
  await Promise.race([drained, pause(drainDelay, ctx.clock)])
  door.cast('close')
  await drained
}

function isShort({ nodes, starting, count }: Keeper): boolean {
  return nodes.length + starting < count
}

function end({ supervisor }: Keeper, ref: ProcessRef): Promise<void> {
  return supervisor.terminateChild(ref).catch(ignoreEnd)
}

/** Reports a process that ends while it starts. */
function report({ supervisor, next }: Keeper, id: string, error: unknown, ctx: ActorContext): void {
  if (ctx.signal.aborted || next !== undefined) return
  emit('supervisor', () => ({
    tree: processOf(ctx.self).tree.id,
    supervisor: supervisor.ref.name,
    context: 'start_error',
    reason: crash(error),
    child: { id, process: undefined, restart: 'temporary' },
  }))
}

/** It gets no more connections. */
function withdraw(keeper: Keeper, node: KeptNode): void {
  keeper.nodes = keeper.nodes.filter((each) => each !== node)
  tellDoor(keeper)
}

function tellDoor({ door, nodes }: Keeper): void {
  door.cast(
    'serve',
    nodes.map(({ ref }) => ref),
  )
}

/** It has ended by itself meanwhile. */
function ignoreEnd(error: unknown): void {
  if (!(error instanceof RuntimeError)) throw error
}
