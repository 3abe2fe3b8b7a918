import { McpError } from '../../protocol/wire/errors.js'
import { type Deferred, defineActor, type Refusal, refuse } from '../../runtime/process/behaviour.js'
import type { ActorContext } from '../../runtime/process/context.js'
import { describe } from '../../runtime/watch/inspect.js'
import type { ActorRef, ProcessRef, RefOf } from '../../runtime/process/ref.js'
import { childSpec } from '../../runtime/supervision/child-spec.js'
import { dynamicSupervisorAt } from '../../runtime/supervision/dynamic.js'
import { RestartWindow } from '../../runtime/supervision/restart-window.js'
import { taskSupervisorAt } from '../../runtime/tasks/supervisor.js'
import type { TimerRef } from '../../runtime/process/timers.js'
import type { Peer } from '../../transports/contract/contract.js'
import { tooManyRequests } from '../base/errors.js'
import type { Holdings } from '../holdings/holdings-actor.js'
import type { TaskSettings } from '../holdings/task-options.js'
import type { SharedTaskStore, TaskCommand } from '../engine/shared-task-store.js'
import { isTaskRecord, type TaskRecord, type TaskStore } from '../engine/task-store.js'
import { mcpTaskActor, type McpTaskRef, runOn } from './actor.js'
import { askTaskStore, sizeOf, type TaskHost, type Tell } from './mcp-task.js'

interface LedgerInput {
  readonly holdings: Holdings
  readonly settings: TaskSettings
  readonly store: TaskStore
}

/** Whose request became a task. */
interface From {
  readonly peer: Peer
  /** What the task is counted by; absent for anonymous clients of this machine. */
  readonly client?: string
  readonly tell?: Tell
}

/** One task, at work or kept. */
interface TaskEntry {
  readonly id: string
  readonly owner: string | undefined
  /** What it is counted by: undefined for anonymous clients of this machine. */
  readonly client: string | undefined
  /** The order of all tasks. */
  readonly place: number
  bytes: number
  /** Undefined for one that is not at work. */
  live: McpTaskRef | undefined
  readonly expiry: TimerRef
  /** Crashes of its actor. */
  readonly window: RestartWindow
}

/** What has the streams of `subscriptions/listen`. */
type Streams = ActorRef<
  Record<never, never>,
  { readonly taskChanged: (state: never, record: TaskRecord, ctx: never) => unknown }
>

interface Ledger extends LedgerInput {
  readonly self: RefOf<typeof ledgerActor>
  readonly entries: Map<string, TaskEntry>
  readonly byRef: Map<ProcessRef, string>
  readonly perClient: Map<string, number>
  bytes: number
  places: number
  /** When the server began to stop. */
  releasedAt: number | undefined
  [describe](): string
}

/** Where a task was found. */
export type TaskLookup =
  | { readonly type: 'unknown' }
  | { readonly type: 'live'; readonly ref: McpTaskRef }
  /** It has ended, or its actor has died and is about to come back. */
  | { readonly type: 'stored' }

/** A page of tasks: their ids, and after which place the next page begins. */
export interface ListedTasks {
  readonly found: readonly { readonly id: string }[]
  readonly next: { readonly id: string; readonly place: number } | undefined
}

const crashes = 2
const periodMs = 5_000
/** Milliseconds until a task that could not be brought back is tried again. */
const tryAgain = 1_000
/** Milliseconds between two looks for tasks of nodes that have ended, how many are taken then, and at once. */
const lookAfter = 1_000
const orphansAtOnce = 256
const adoptedAtOnce = 16
/** Milliseconds that a task has to be saved in. */
const beginTime = 15_000

/**
 * NAME/mcp-tasks/ledger: which tasks there are, whose, and until when. It brings back those whose actor or
 * program has died, and deletes those whose time is over. It runs no author's code but that of the store.
 */
export const ledgerActor = defineActor({
  name: 'ledger',
  stray: 'report',
  async init(input: LedgerInput, ctx: ActorContext): Promise<Ledger> {
    const ledger: Ledger = {
      ...input,
      self: ctx.self as RefOf<typeof ledgerActor>,
      entries: new Map(),
      byRef: new Map(),
      perClient: new Map(),
      bytes: 0,
      places: 0,
      releasedAt: undefined,
      [describe]: () => `${ledger.entries.size} tasks, ${ledger.byRef.size} at work`,
    }
    const shared = sharedIn(ledger)
    if (shared === undefined) {
      const unfinished = await readAll(ledger, ctx)
      if (unfinished.length > 0) ctx.sendAfter(0, { revive: unfinished })
      return ledger
    }
    const lost = (ids: readonly string[]): void => void ledger.self.cast('lost', ids)
    ctx.own(shared.attach({ lost, run: (id, command) => runCommand(ledger.self, id, command) }))
    ctx.sendAfter(0, 'look')
    return ledger
  },
  call: {
    create: (ledger, { record, ...from }: { record: TaskRecord } & From, ctx) =>
      create(ledger, record, from, ctx),
    /** Where a task is, for its owner: to anybody else it is unknown. */
    find: ({ entries }, { id, owner }: { id: string; owner: string | undefined }): TaskLookup => {
      const entry = entries.get(id)
      if (entry === undefined || entry.owner !== owner) return { type: 'unknown' }
      return entry.live?.alive === true ? { type: 'live', ref: entry.live } : { type: 'stored' }
    },
    /** The actor of a task that is at work here. */
    live: ({ entries }, id: string): McpTaskRef | undefined => entries.get(id)?.live,
    list: (ledger, page: { owner: string | undefined; after: number; size: number }): ListedTasks =>
      list(ledger, page),
    /** Those that are at work here, and when the server began to stop. */
    atWork: ({ byRef, releasedAt }) => ({ tasks: [...byRef.keys()] as McpTaskRef[], releasedAt }),
    /** Whether there is room for a record of so many bytes, in place of the one before. */
    weigh: (ledger, { id, bytes }: { id: string; bytes: number }): boolean => weigh(ledger, id, bytes),
    started: (ledger, { id, ref }: { id: string; ref: McpTaskRef }, ctx) => {
      const entry = ledger.entries.get(id)
      if (entry === undefined) return false
      entry.live = ref
      ledger.byRef.set(ref, id)
      ctx.monitor(ref)
      return true
    },
  },
  cast: {
    ended(ledger, id: string) {
      const entry = ledger.entries.get(id)
      if (entry?.live === undefined) return
      ledger.byRef.delete(entry.live)
      entry.live = undefined
    },
    drop: (ledger, id: string) => drop(ledger, id),
    /** Other nodes have taken them over. */
    lost(ledger, ids: readonly string[]) {
      for (const id of ids) {
        ledger.entries.get(id)?.live?.cast('lost')
        drop(ledger, id)
      }
    },
    /** The server is stopping. Requests that wait for what is in memory have the time that calls have. */
    release(ledger, _nothing: undefined, ctx) {
      const { byRef, store } = ledger
      ledger.releasedAt = ctx.clock.now()
      if (store.durable !== true) return
      for (const ref of byRef.keys()) (ref as McpTaskRef).cast('release')
    },
  },
  info: {
    down(ledger, { process }, ctx) {
      const id = ledger.byRef.get(process)
      ledger.byRef.delete(process)
      const entry = id === undefined ? undefined : ledger.entries.get(id)
      if (entry === undefined || entry.live !== process) return
      entry.live = undefined
      ctx.sendAfter(entry.window.add(ctx.clock.now()) ? 0 : periodMs, { revive: [entry.id] })
    },
    timer(ledger, what: LedgerTimer, ctx) {
      if (what === 'look') return void adoptOrphans(ledger, ctx)
      if ('expire' in what) return expire(ledger, what.expire, ctx)
      for (const id of what.revive) void revive(ledger, id, ctx)
      return undefined
    },
  },
})

type LedgerTimer = { readonly revive: readonly string[] } | { readonly expire: string } | 'look'

function sharedIn({ holdings }: Ledger): SharedTaskStore | undefined {
  return holdings.settings.cluster?.tasks
}

/** Carries out a command that came to another node. */
async function runCommand(
  ledger: RefOf<typeof ledgerActor>,
  id: string,
  command: TaskCommand,
): Promise<boolean> {
  const task = await ledger.call('live', id)
  if (task === undefined) return false
  await runOn(task, command)
  return true
}

/**
 * Continues the tasks of this node that its last ledger had, and those of nodes that have ended, and looks again
 * later. Of the nodes that do so, one gets a task.
 */
async function adoptOrphans(ledger: Ledger, ctx: ActorContext): Promise<void> {
  const { entries, settings } = ledger
  const shared = sharedIn(ledger) as SharedTaskStore
  const adopt = async (id: string): Promise<void> => {
    if (entries.has(id) || entries.size >= settings.maxTasks || !(await shared.adopt(id))) return
    const record = await shared.load(id)
    if (record === undefined || entries.has(id)) return
    enter(ledger, record, record.owner, ctx)
    await revive(ledger, id, ctx)
  }
  try {
    const found = shared.held.filter((id) => !entries.has(id))
    found.push(...(await shared.orphans(orphansAtOnce)))
    const next = async (): Promise<void> => {
      for (let id = found.pop(); id !== undefined; id = found.pop()) await adopt(id)
    }
    await Promise.all(Array.from({ length: adoptedAtOnce }, next))
  } catch {
    // while the engine is away it is unknown whose they are
  } finally {
    // it may have ended meanwhile
    if (!ctx.signal.aborted) ctx.sendAfter(lookAfter, 'look')
  }
}

/** Enters what the store has; answers the ids of those that were at work. */
async function readAll(ledger: Ledger, ctx: ActorContext): Promise<string[]> {
  const { store } = ledger
  const now = ctx.world.date()
  // what they hold is read again when it is asked for
  const found: (Entered & { readonly bytes: number; readonly isOver: boolean })[] = []
  for await (const record of store.list()) {
    if (!isTaskRecord(record)) continue
    const { id, owner, createdAt, ttl, end } = record
    // what cannot be deleted now is deleted at the next start
    if (createdAt + ttl <= now) await askTaskStore(ctx.world, () => store.delete(id)).catch(() => {})
    else found.push({ id, owner, createdAt, ttl, bytes: sizeOf(record), isOver: end !== undefined })
  }
  for (const record of found.sort((one, other) => one.createdAt - other.createdAt)) {
    enter(ledger, record, record.owner, ctx)
    weigh(ledger, record.id, record.bytes)
  }
  return found.flatMap(({ id, isOver }) => (isOver ? [] : [id]))
}

type Entered = Pick<TaskRecord, 'id' | 'createdAt' | 'ttl'> & { readonly owner?: string | undefined }

function enter(ledger: Ledger, record: Entered, client: string | undefined, ctx: ActorContext): TaskEntry {
  const { id, owner, createdAt, ttl } = record
  ledger.places += 1
  const left = Math.max(0, createdAt + ttl - ctx.world.date())
  const entry: TaskEntry = {
    id,
    owner,
    client,
    place: ledger.places,
    bytes: 0,
    live: undefined,
    expiry: ctx.sendAfter(left, { expire: id }),
    window: new RestartWindow(crashes, periodMs),
  }
  ledger.entries.set(id, entry)
  if (client !== undefined) ledger.perClient.set(client, (ledger.perClient.get(client) ?? 0) + 1)
  return entry
}

function drop(ledger: Ledger, id: string): void {
  const entry = ledger.entries.get(id)
  if (entry === undefined) return
  entry.expiry.cancel()
  ledger.entries.delete(id)
  ledger.bytes -= entry.bytes
  if (entry.live !== undefined) ledger.byRef.delete(entry.live)
  if (entry.client === undefined) return
  const left = (ledger.perClient.get(entry.client) ?? 1) - 1
  if (left > 0) ledger.perClient.set(entry.client, left)
  else ledger.perClient.delete(entry.client)
}

function weigh(ledger: Ledger, id: string, bytes: number): boolean {
  const entry = ledger.entries.get(id)
  if (entry === undefined) return false
  const total = ledger.bytes - entry.bytes + bytes
  // what gets smaller always may
  if (total > ledger.settings.maxTotalBytes && bytes > entry.bytes) return false
  ledger.bytes = total
  entry.bytes = bytes
  return true
}

function create(
  ledger: Ledger,
  record: TaskRecord,
  { client, peer, tell }: From,
  ctx: ActorContext,
): Deferred<TaskRecord> | Refusal {
  const { entries, perClient, settings } = ledger
  const { maxTasks, maxTasksPerClient = 1_000 } = settings
  if (entries.size >= maxTasks) return refuse(noRoom(`the server has ${maxTasks} tasks (tasks.maxTasks)`))
  if (client !== undefined && (perClient.get(client) ?? 0) >= maxTasksPerClient)
    return refuse(noRoom(`one client has ${maxTasksPerClient} tasks (tasks.maxTasksPerClient)`))
  const reply = ctx.defer<TaskRecord>()
  enter(ledger, record, client, ctx)
  launch(ledger, record, { peer, tell, isNew: true }, ctx).then(
    () => reply.resolve(record),
    (error) => {
      ledger.self.cast('drop', record.id)
      reply.reject(error)
    },
  )
  return reply
}

/** Starts the actor of a task, and has it begin. Rejects if it is not saved. */
async function launch(
  { holdings, settings, store, self }: Ledger,
  record: TaskRecord,
  {
    peer,
    tell: tellSession,
    isNew,
  }: { readonly peer?: Peer; readonly tell?: Tell | undefined; readonly isNew: boolean },
  { registry }: ActorContext,
): Promise<void> {
  const { names } = holdings.settings
  const { ref: runs } = taskSupervisorAt(registry.whereis(names.taskRuns))
  const tell = (changed: TaskRecord): void => {
    // the base of the group has the streams; it knows the message
    const base = registry.whereis(names.base) as Streams | undefined
    base?.cast('taskChanged', changed)
  }
  const host: TaskHost = { holdings, settings, store, runs: taskSupervisorAt(runs), ledger: self, tell }
  const { ref } = await dynamicSupervisorAt(registry.whereis(names.liveTasks)).startChild(
    childSpec(
      mcpTaskActor,
      { host, record, peer, tell: tellSession },
      { name: names.mcpTask(record.id), restart: 'temporary', shutdown: 1_000 },
    ),
  )
  const task = ref as McpTaskRef
  if (!(await self.call('started', { id: record.id, ref: task }))) return void task.cast('expire')
  try {
    await task.call('begin', isNew, { timeout: beginTime })
  } catch (error) {
    self.cast('ended', record.id)
    await task.stop().catch(() => {})
    throw error
  }
}

/** Brings a task back whose actor or program died. If that fails, it is tried again: no task is lost. */
async function revive(ledger: Ledger, id: string, ctx: ActorContext): Promise<void> {
  const entry = ledger.entries.get(id)
  if (entry === undefined || entry.live !== undefined) return
  try {
    const record = await askTaskStore(ctx.world, () => ledger.store.load(id))
    if (record === undefined) return void ledger.self.cast('drop', id)
    if (record.end === undefined) await launch(ledger, record, { isNew: false }, ctx)
  } catch {
    ctx.sendAfter(tryAgain, { revive: [id] })
  }
}

async function expire(ledger: Ledger, id: string, ctx: ActorContext): Promise<void> {
  const live = ledger.entries.get(id)?.live
  drop(ledger, id)
  if (live?.cast('expire') === true) return
  // what cannot be deleted now is deleted at the next start
  void askTaskStore(ctx.world, () => ledger.store.delete(id)).catch(() => {})
}

function list(
  { entries }: Ledger,
  {
    owner,
    after,
    size,
  }: { readonly owner: string | undefined; readonly after: number; readonly size: number },
): ListedTasks {
  const found: TaskEntry[] = []
  for (const entry of entries.values()) {
    if (entry.owner !== owner || entry.place <= after) continue
    if (found.length === size) return { found: found.map(toListed), next: found.at(-1) }
    found.push(entry)
  }
  return { found: found.map(toListed), next: undefined }
}

function toListed({ id }: TaskEntry): { readonly id: string } {
  return { id }
}

function noRoom(problem: string): McpError {
  return new McpError(tooManyRequests, `too many tasks: ${problem}: try again later`, {
    data: { retryable: true },
  })
}
