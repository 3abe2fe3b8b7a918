import { messageOf } from '../../runtime/base/errors.js'
import { type Deferred, defineActor, refuse } from '../../runtime/process/behaviour.js'
import type { ActorContext } from '../../runtime/process/context.js'
import type { ProcessRef, RefOf } from '../../runtime/process/ref.js'
import { TaskSupervisor } from '../../runtime/tasks/supervisor.js'
import { describe } from '../../runtime/watch/inspect.js'
import { type Bell, type Engine, taskMark } from '../engine/engine.js'
import type { LocalEngineParts, OpenEngine } from '../engine/local-engine.js'
import { isRefusal } from '../engine/refusal.js'
import { MemoryEngine } from '../engine/memory-engine.js'
import type { SessionLimits } from '../engine/session-store.js'
import { isTaskRecord, type TaskRecord } from '../engine/task-store.js'
import { recordOf, recordText } from '../nodes/record-text.js'
import { Seal } from '../nodes/seal.js'
import { unavailable } from '../nodes/unavailable.js'
import { noSession } from '../sessions/access.js'
import { Turns } from '../base/turns.js'
import { askStore } from '../sessions/saving.js'
import type { NodeRef } from './node-ref.js'

interface HostInput extends SessionLimits {
  /** Undefined: the processes share an engine of their own, and meet here no more than to be known. */
  readonly engine: LocalEngineParts | undefined
  /** Where the stores of the engine are asked: they may be an author's. */
  readonly tasks: ProcessRef
}

/** The methods of an engine that its nodes ask for. */
export type EngineMethod = Exclude<keyof Engine, 'isUp' | 'risk' | 'onHealth' | 'onBell'>

export type EngineCall = {
  readonly [Method in EngineMethod]: {
    readonly method: Method
    readonly args: Parameters<Engine[Method]>
  }
}[EngineMethod]

interface HostedNode {
  readonly name: string
  /** The reference that it has sent itself. */
  readonly own: NodeRef
  /** As its supervisor knows it; undefined while it starts. */
  ref: NodeRef | undefined
  /** Whether it is not about to end. */
  serves: boolean
}

interface Host {
  readonly core: MemoryEngine
  readonly engine: LocalEngineParts | undefined
  readonly open: OpenEngine | undefined
  readonly tasks: TaskSupervisor
  readonly nodes: Map<string, HostedNode>
  /** What the stores are being asked, by name: one thing after the other. */
  readonly asked: Turns
  /** How many processes there have been. */
  count: number
  [describe](): string
}

/** Signs nothing: only the processes of one program read these texts. */
const seal = new Seal()
/** What stands for a text that a store has. */
const elsewhere = ''

/**
 * The engine of several processes, in the program that starts them: who owns which session is in memory here,
 * records are in the stores of the option `engine`. A process that ends has left at once.
 */
export const hostActor = defineActor({
  name: 'engine',
  stray: 'report',
  async init({ engine, tasks, ...limits }: HostInput, ctx: ActorContext): Promise<Host> {
    const open = await engine?.open(ctx, limits)
    const host: Host = {
      core: new MemoryEngine(ctx.clock.now, ctx.world.id()),
      engine,
      open,
      tasks: new TaskSupervisor(tasks as TaskSupervisor['ref']),
      nodes: new Map(),
      asked: new Turns(),
      count: 0,
      [describe]: () => `${host.core.sessions} sessions on ${host.nodes.size} processes`,
    }
    for await (const record of open?.tasks.list() ?? []) bringTask(host, record, ctx)
    return host
  },
  call: {
    /** A process starts: it gets the bells of its node, and leaves the cluster when it ends. */
    join({ nodes }, { name, ref }: { name: string; ref: NodeRef }, ctx) {
      nodes.set(name, { name, own: ref, ref: undefined, serves: false })
      ctx.monitor(ref)
    },
    /** A process has started, or is about to end. */
    serves({ nodes }, { name, ref, serves }: { name: string; ref: NodeRef; serves: boolean }) {
      const node = nodes.get(name)
      if (node !== undefined) Object.assign(node, { ref, serves })
    },
    /** Those that have started. */
    nodes: ({ nodes }) =>
      [...nodes.values()].flatMap(({ name, ref, serves }) =>
        ref === undefined ? [] : [{ name, ref, serves }],
      ),
    /** The number of a new process. */
    number(host) {
      host.count += 1
      return host.count
    },
    /** What cursors and `requestState` are sealed with; undefined: what the nodes agree on. */
    secrets: ({ open }) => open?.secrets,
    do: (host, asked: EngineCall, ctx) => perform(host, asked, ctx),
  },
  info: {
    down(host, { process }) {
      const ended = [...host.nodes.values()].find((node) => node.own === process)
      if (ended === undefined) return
      host.nodes.delete(ended.name)
      host.core.leave(ended.name)
      ringAll(host, 'nodes')
    },
  },
})

export type HostRef = RefOf<typeof hostActor>

function perform(host: Host, asked: EngineCall, ctx: ActorContext): unknown {
  const { core, engine } = host
  switch (asked.method) {
    case 'load': {
      const [id] = asked.args
      // its id alone would bring it back
      if (engine?.ids?.isRevoked(id) === true) return refuse(noSession())
      return askStores(host, id, (open) => load(open, id, ctx), ctx)
    }
    case 'save': {
      const [node, id, epoch, { text, ...saved }] = asked.args
      const version = core.versions([id])[0] ?? 0
      if (!core.save(node, id, epoch, { ...saved, text: elsewhere })) return false
      if (saved.version < version) return true
      return askStores(host, id, (open) => save(open, id, text), ctx)
    }
    case 'delete': {
      const [node, id, epoch] = asked.args
      if (!core.delete(node, id, epoch)) return false
      engine?.ids?.revoke({ id }, ctx.world)
      return askStores(host, id, (open) => remove(open, id), ctx)
    }
    case 'send': {
      const [to] = asked.args
      const outcome = core.send(...asked.args)
      if (outcome === 'taken') ring(host, to, 'inbox')
      return outcome
    }
    case 'publish': {
      const number = core.publish(...asked.args)
      ringAll(host, 'news')
      return number
    }
    case 'value': {
      const [key] = asked.args
      const values = host.open?.values
      return values === undefined ? core.value(key) : askStores(host, key, () => values.value(key), ctx)
    }
    case 'setValue': {
      const { args } = asked
      const values = host.open?.values
      if (values === undefined) return core.setValue(...args)
      return askStores(host, args[0], () => values.setValue(...args), ctx)
    }
    case 'leave':
      core.leave(...asked.args)
      return ringAll(host, 'nodes')
    default: {
      const method = core[asked.method] as (...args: readonly unknown[]) => unknown
      return method.apply(core, asked.args)
    }
  }
}

function ring({ nodes }: Host, name: string, bell: Bell): void {
  nodes.get(name)?.own.cast('bell', bell)
}

function ringAll(host: Host, bell: Bell): void {
  for (const name of host.nodes.keys()) ring(host, name, bell)
}

async function load({ sessions, tasks }: OpenEngine, id: string, ctx: ActorContext) {
  if (id.startsWith(taskMark)) {
    const record = await tasks.load(id.slice(taskMark.length))
    return record && leftOf(record, ctx) > 0 ? textOfTask(record) : undefined
  }
  const record = await sessions.load(id)
  return record && seal.close({ kind: 'session', place: id }, recordText(record))
}

async function save({ sessions, tasks }: OpenEngine, id: string, text: string): Promise<true> {
  const record = seal.open({ kind: 'session' }, text, id.startsWith(taskMark) ? JSON.parse : recordOf)
  await (id.startsWith(taskMark) ? tasks.save(record as TaskRecord) : sessions.save(record))
  return true
}

async function remove({ sessions, tasks }: OpenEngine, id: string): Promise<true> {
  await (id.startsWith(taskMark) ? tasks.delete(id.slice(taskMark.length)) : sessions.delete(id))
  return true
}

/** A task of an earlier program: one that had not ended continues in the process that takes it. */
function bringTask({ core }: Host, record: TaskRecord, ctx: ActorContext): void {
  const ttl = isTaskRecord(record) ? leftOf(record, ctx) : 0
  if (ttl <= 0) return
  const { id, version, owner, end } = record
  core.bring(taskMark + id, { text: elsewhere, version, ttl, list: owner }, end === undefined)
}

function textOfTask(record: TaskRecord): string {
  return seal.close({ kind: 'task', place: record.id }, JSON.stringify(record))
}

function leftOf({ createdAt, ttl }: TaskRecord, { world }: ActorContext): number {
  return createdAt + ttl - world.date()
}

/** A store may take a while: what a former owner has saved is there before a new one loads. */
function askStores<Answer>(
  { asked, tasks, open, engine }: Host,
  id: string,
  ask: (open: OpenEngine) => Answer | Promise<Answer>,
  ctx: ActorContext,
): Deferred<Answer> {
  const reply = ctx.defer<Answer>()
  const work = (): Promise<Answer> => askStore(tasks, () => ask(open as OpenEngine))
  asked.take(id, work).then(
    (answer) => reply.resolve(answer),
    (error) => {
      // it is there, and will never take this
      if (isRefusal(error)) return reply.reject(error)
      const name = String(engine?.name)
      reply.reject(unavailable(name, `${name} failed: ${messageOf(error)}`))
    },
  )
  return reply
}
