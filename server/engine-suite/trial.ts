import { deepEqual, equal, fail, ok } from 'node:assert/strict'
import { defineActor } from '../../runtime/process/behaviour.js'
import { startActor } from '../../runtime/process/root.js'
import { systemWorld, type World } from '../../runtime/time/world.js'
import {
  type Bell,
  type ClaimRequest,
  type ClusterEngine,
  type Engine,
  type NodeFacts,
  type NodeName,
  type SavedRecord,
  type StreamLimits,
  taskMark,
} from '../engine/engine.js'
import type { SessionRecord } from '../engine/session-store.js'
import type { TaskRecord } from '../engine/task-store.js'
import { recordText } from '../nodes/record-text.js'
import { Seal } from '../nodes/seal.js'

/** An empty engine for one test, and functions that break it. An option `lacks` names those that are left out. */
export interface EngineBench {
  /** It, for the option `engine`, as one more machine has it. */
  at(): ClusterEngine
  /** It ends; `start` has it begin with nothing of what it had. */
  stop?(): Promise<void> | void
  start?(): Promise<void> | void
  /** Connections stay, nothing is done, until `thaw`. */
  freeze?(): Promise<void> | void
  thaw?(): Promise<void> | void
  /** All is deleted while it runs. */
  wipe?(): Promise<void> | void
  /** The test is over, and nobody has it open any more. */
  close?(): Promise<void> | void
}

/**
 * What an engine, or its bench, may do without:
 *
 * - `outage`: `stop` and `start`; calls are refused at once, and a new run begins.
 * - `silence`: `freeze` and `thaw`; calls are refused after a second.
 * - `loss`: `wipe`, and claims that are restored (`mayRestore`). For an engine whose `run` stays the same.
 * - `listeners`: it knows which node hears bells, and shortens the lease of one that does not.
 * - `expiry`: records end when their `ttl` does. For one that keeps them in a store with its own times.
 */
export type EngineLack = 'outage' | 'silence' | 'loss' | 'listeners' | 'expiry'

/** One test: an engine, and those who have it open. */
interface Trial {
  readonly bench: EngineBench
  readonly undo: (() => Promise<void> | void)[]
}

/** Defines a test of what every engine does, or of what one may lack. */
export type DefineTrial = (name: string, body: (t: Trial) => Promise<void>, needs?: EngineLack) => void

export const long = 60_000
export const soon = 300
export const limits: StreamLimits = { maxEntries: 100, ttl: long }
export const stream = { session: 's', stream: 'x' }

/** The two nodes of most tests. */
export async function two(t: Trial): Promise<[Engine, Engine]> {
  return (await begin(t)) as [Engine, Engine]
}

/** Nodes `a`, `b` and so on, whose leases hold. */
export async function begin(t: Trial, count = 2): Promise<Engine[]> {
  const nodes: Engine[] = []
  for (const name of ['a', 'b', 'c'].slice(0, count)) {
    const { engine } = await open(t, name)
    await engine.beat(name, long, facts())
    nodes.push(engine)
  }
  return nodes
}

/** What a node sees of the engine, until `close` or the end of the test. */
export async function open(t: Trial, node: string): Promise<{ engine: Engine; close(): Promise<void> }> {
  const ref = await startActor(holder, { engine: t.bench.at(), node, server: 'tests' }).catch(
    (error: unknown) => {
      throw (error as Error).cause
    },
  )
  const close = async (): Promise<void> => {
    if (ref.alive) await ref.stop()
  }
  t.undo.push(close)
  return { engine: await ref.call('share'), close }
}

const holder = defineActor({
  name: 'engine',
  init: ({ engine, ...name }: NodeName & { engine: ClusterEngine }, ctx) => engine.open(ctx, name),
  call: { share: (engine) => engine },
})

/** Uses a hand of the bench. */
export async function hand(
  { bench }: Trial,
  name: 'stop' | 'start' | 'freeze' | 'thaw' | 'wipe',
): Promise<void> {
  if (bench[name] === undefined) fail(`the bench has no ${name}: give it one, or say that it lacks it`)
  await bench[name]()
}

/** Asks again and again: by an engine nobody hears when a time is over. */
export async function eventually(
  holds: () => boolean | Promise<boolean>,
  within = 20_000,
  world: World = systemWorld,
): Promise<void> {
  const deadline = world.now() + within
  while (!(await holds())) {
    if (world.now() > deadline) fail(`it did not hold within ${within} ms`)
    await new Promise<void>((resolve) => void world.setTimeout(resolve, 10))
  }
}

/** Milliseconds that it took, and whether it was refused as unavailable. */
export async function refused(
  ask: () => Promise<unknown>,
  within = 500,
  world: World = systemWorld,
): Promise<void> {
  const began = world.now()
  const error: unknown = await ask().then(
    () => fail('it was done'),
    (error: unknown) => error,
  )
  const { code, retryable } = error as { readonly code?: unknown; readonly retryable?: unknown }
  deepEqual({ code, retryable }, { code: 'CLUSTER_UNAVAILABLE', retryable: true }, String(error))
  const took = world.now() - began
  ok(took < within, `it took ${took} ms, of ${within}`)
}

/** Rings until the bell is heard: one may be lost. */
export async function rings(ring: () => Promise<unknown>, bells: readonly Bell[], bell: Bell): Promise<void> {
  await eventually(async () => {
    if (!bells.includes(bell)) await ring()
    return bells.includes(bell)
  })
}

export function facts(more: Partial<NodeFacts> = {}): NodeFacts {
  return { isRetiring: false, isSettled: false, sessions: 0, incarnation: 1, marks: [], ...more }
}

export function claim(node: string, session: string, more: Partial<ClaimRequest> = {}): ClaimRequest {
  const free = { lease: 2_500, client: undefined, ttl: long, maxSessions: 1_000, maxPerClient: 1_000 }
  return { node, session, ...free, mayTakeOver: true, ...more }
}

/** The epoch of a claim that succeeds. */
export async function claimed(engine: Engine, request: ClaimRequest): Promise<number> {
  const answer = await engine.claim(request)
  if (answer.type !== 'claimed') fail(`not claimed: ${JSON.stringify(answer)}`)
  return answer.epoch
}

/** A record as nodes save it, with a note to tell it from others. */
export function saved(id: string, note: string, version: number, world: World = systemWorld): SavedRecord {
  const isTask = id.startsWith(taskMark)
  const text = isTask
    ? JSON.stringify(taskWith(id, note, version, world))
    : recordText(sessionWith(id, note, version))
  return { text: seal.close({ kind: isTask ? 'task' : 'session', place: id }, text), version, ttl: long }
}

/** The note of the record that is kept. */
export async function noteOf(engine: Engine, id: string): Promise<string | undefined> {
  const text = await engine.load(id)
  if (text === undefined) return undefined
  const record = JSON.parse(text.slice(text.indexOf('\n'))) as SessionRecord & TaskRecord
  equal(`${id.startsWith(taskMark) ? taskMark : ''}${record.id}`, id, 'it is of another session')
  return String(record.state?.note ?? record.statusMessage)
}

const seal = new Seal()
const client = Object.freeze({
  client: { name: 'suite', version: '1' },
  capabilities: {},
  revision: '2025-11-25',
})

function sessionWith(id: string, note: string, version: number): SessionRecord {
  return { id, version, ...client, catalog: 1, state: { note } }
}

function taskWith(id: string, note: string, version: number, world: World): TaskRecord {
  const at = { createdAt: world.date(), updatedAt: world.date(), ttl: long }
  const work = { transport: 'http', params: {}, begun: 1, steps: [], answers: [], asked: [] }
  return { id: id.slice(taskMark.length), version, ...client, ...at, ...work, statusMessage: note }
}

export async function members(engine: Engine, name: string): Promise<string[]> {
  const { nodes } = await engine.beat(name, long, facts())
  return nodes.map((node) => node.name).sort()
}

export function nameOf(at: number): string {
  return 'abc'[at] ?? ''
}
