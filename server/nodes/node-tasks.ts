import { outside } from '../../runtime/faults/containment.js'
import { RuntimeError } from '../../runtime/base/errors.js'
import { pause, waitWithin } from '../../runtime/time/wait.js'
import type { World } from '../../runtime/time/world.js'
import { TransportError } from '../../transports/base/errors.js'
import { errorOf, type Problem, problemOf } from '../cluster/message.js'
import type { ListedTask, SharedTaskStore, TaskCommand, TaskRunner } from '../engine/shared-task-store.js'
import { isTaskRecord, type TaskRecord } from '../engine/task-store.js'
import { Claims, type Reclaim } from './claims.js'
import { type Engine, taskMark } from '../engine/engine.js'
import type { Seal, SealedAs } from './seal.js'
import { isUnavailable } from './unavailable.js'

/** A message between nodes about a task; plain data. `id` is that of the `ask`. */
export type TaskMessage =
  | { readonly type: 'ask'; readonly id: string; readonly task: string; readonly command: TaskCommand }
  | { readonly type: 'answer'; readonly id: string; readonly isDone: boolean }
  | { readonly type: 'failed'; readonly id: string; readonly problem: Problem }

interface NodeTasksInput {
  readonly node: string
  /** Milliseconds of its lease. */
  readonly lease: number
  readonly world: World
  readonly seal: Seal
  /** Throws CLUSTER_UNAVAILABLE while this node may not do anything. */
  readonly engine: () => Engine
  /** Rejects if the engine may have lost what somebody still has. */
  readonly confirm: () => Promise<void>
  readonly mayTakeOver: () => boolean
  /** Whether this node is about to end. */
  readonly isRetiring: () => boolean
  /** Whether it has, and nothing it does counts any more. */
  readonly hasLeft: () => boolean
  /** False when there is no room. */
  readonly send: (node: string, message: TaskMessage) => boolean
}

interface PendingTaskRequest {
  readonly node: string
  resolve(isDone: boolean): void
  reject(error: unknown): void
}

interface VersionWatcher {
  readonly key: string
  readonly version: number
  wake(): void
}

/** Milliseconds between two looks at the tasks that somebody waits for. */
const lookAfter = 500
/** Milliseconds that another node has for a command. */
const commandTimeout = 10_000
/** Commands to other nodes in flight at once. */
const maxAsked = 10_000
/** Milliseconds until a failed save is tried again. */
const saveAgain = 100
/** Milliseconds that a save waits for the engine to come back. */
const saveTimeout = 15_000
/** Milliseconds that the claim of a task is kept whose first save has failed. */
const brief = 60_000

/**
 * The tasks of all nodes, as one of them sees them. Each task is claimed as a session is, under a name that no
 * session has: epochs keep a node from saving what another one works on.
 */
export class NodeTasks implements SharedTaskStore {
  readonly durable = true
  readonly saveTimeout = saveTimeout
  readonly #input: NodeTasksInput
  readonly #claims: Claims
  readonly #asked = new Map<string, PendingTaskRequest>()
  readonly #watchers = new Set<VersionWatcher>()
  #runner: TaskRunner | undefined
  #timer: unknown

  constructor(input: NodeTasksInput) {
    this.#input = input
    this.#claims = new Claims(input.node, {
      lease: input.lease,
      maxSessions: Number.POSITIVE_INFINITY,
      maxSessionsPerClient: undefined,
      ttl: brief,
    })
  }

  get isServing(): boolean {
    try {
      this.#input.engine()
      return true
    } catch {
      return false
    }
  }

  get isLeaving(): boolean {
    return this.#input.isRetiring()
  }

  sendAway(): void {
    for (const watcher of [...this.#watchers]) watcher.wake()
  }

  attach(runner: TaskRunner): () => void {
    this.#runner = runner
    return () => {
      if (this.#runner === runner) this.#runner = undefined
    }
  }

  async load(id: string): Promise<TaskRecord | undefined> {
    const text = await this.#input.engine().load(keyOf(id))
    if (text === undefined) {
      await this.#input.confirm()
      return undefined
    }
    const record = this.#input.seal.open(sealedAs(id), text, recordOf)
    return record !== undefined && record.id === id && this.#leftOf(record) > 0 ? record : undefined
  }

  /** A step waits for an engine that is away: its handler has done it. A task that is new is refused. */
  async save(record: TaskRecord): Promise<void> {
    const { world } = this.#input
    const deadline = world.now() + saveTimeout
    for (;;) {
      try {
        return await this.#save(record)
      } catch (error) {
        const isNew = record.version === 1
        if (isNew) await this.#forsake(record.id)
        const isHopeless = this.#input.hasLeft() || world.now() >= deadline
        if (isNew || isHopeless || !isUnavailable(error)) throw error
        await pause(saveAgain, world)
      }
    }
  }

  async delete(id: string): Promise<void> {
    const key = keyOf(id)
    const engine = this.#input.engine()
    const claim = this.#claims.get(key)
    if (claim?.epoch === undefined) return
    if (await engine.delete(this.#input.node, key, claim.epoch)) return this.#claims.forget(key)
    if (this.#claims.get(key) === claim) this.#lose([key])
  }

  /** The ledger asks for those that are `held`. */
  list(): readonly TaskRecord[] {
    return []
  }

  get held(): readonly string[] {
    return this.#claims.names.map(idOf)
  }

  async orphans(max: number): Promise<readonly string[]> {
    if (this.#input.isRetiring() || !this.#input.mayTakeOver()) return []
    return (await this.#input.engine().orphans(max)).map(idOf)
  }

  async adopt(id: string): Promise<boolean> {
    const engine = this.#input.engine()
    const key = keyOf(id)
    const isOurs = await this.#claim(engine, id)
    // it may have changed until it was claimed
    const record = isOurs ? await this.load(id) : undefined
    const claim = this.#claims.get(key)
    if (record === undefined || record.end !== undefined || claim === undefined) {
      this.#claims.release(engine, key)
      return false
    }
    claim.saved = this.#savedOf(record)
    return true
  }

  async #claim(engine: Engine, id: string): Promise<boolean> {
    const key = keyOf(id)
    // a record that cannot be read may be of a newer version
    const record = await this.load(id)
    if (record === undefined) return false
    // the answer to an earlier claim may have been lost
    if (this.#claims.get(key)?.epoch !== undefined) return true
    const how = { peer: undefined, mayTakeOver: this.#input.mayTakeOver(), ttl: this.#leftOf(record) }
    const { type } = await this.#claims.claim(engine, key, how)
    if (type !== 'claimed') this.#claims.forget(key)
    return type === 'claimed'
  }

  async send(id: string, command: TaskCommand): Promise<boolean> {
    const { node, world } = this.#input
    const owner = await this.#input.engine().ownerOf(keyOf(id))
    // nobody's: it is about to be adopted
    if (owner === undefined || owner === node || this.#asked.size >= maxAsked) return false
    const message = { type: 'ask', id: world.id(), task: id, command } as const
    return waitWithin<boolean>({ clock: world, ms: commandTimeout, late: () => false }, (resolve, reject) => {
      this.#asked.set(message.id, { node: owner, resolve, reject })
      if (!this.#input.send(owner, message)) resolve(false)
      return () => void this.#asked.delete(message.id)
    })
  }

  changed(id: string, version: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const wake = (): void => {
        this.#watchers.delete(watcher)
        signal.removeEventListener('abort', wake)
        resolve()
      }
      const watcher: VersionWatcher = { key: keyOf(id), version, wake }
      if (signal.aborted || this.isLeaving) return resolve()
      signal.addEventListener('abort', wake)
      this.#watchers.add(watcher)
      this.#lookLater()
    })
  }

  async page(owner: string, after: ListedTask | undefined, size: number): Promise<readonly ListedTask[]> {
    const from = after && { session: keyOf(after.id), place: after.place }
    const found = await this.#input.engine().listed(owner, from, size)
    return found.map(({ session, place }) => ({ id: idOf(session), place }))
  }

  /** Takes a message of another node. */
  hear(from: string, message: TaskMessage): void {
    if (message.type === 'ask') return void this.#serve(from, message)
    const asked = this.#asked.get(message.id)
    if (message.type === 'answer') asked?.resolve(message.isDone)
    else asked?.reject(errorOf(message.problem))
  }

  /** Nothing comes from a node any more of what it was asked before. */
  gone(node: string): void {
    for (const asked of [...this.#asked.values()]) if (asked.node === node) asked.resolve(false)
  }

  /** Asks whether the tasks of this node are still its own. */
  reclaim(engine: Engine, how: Omit<Reclaim, 'lost'>): Promise<void> {
    return this.#claims.reclaim(engine, { ...how, lost: (key) => this.#lose([key]) })
  }

  releaseRest(engine: Engine | undefined): void {
    this.#claims.releaseRest(engine)
  }

  /** This node has left: its tasks are anybody's. */
  close(): void {
    this.#claims.forgetAll()
    for (const { resolve } of [...this.#asked.values()]) resolve(false)
    this.sendAway()
    this.#input.world.clearTimeout(this.#timer)
    this.#timer = undefined
  }

  async #save(record: TaskRecord): Promise<void> {
    const { node, confirm } = this.#input
    const engine = this.#input.engine()
    const key = keyOf(record.id)
    const saved = this.#savedOf(record)
    if (record.version === 1)
      await this.#claims.claim(engine, key, { peer: undefined, mayTakeOver: false, ttl: saved.ttl })
    const claim = this.#claims.get(key)
    if (claim?.epoch === undefined) throw notOurs()
    if (await engine.save(node, key, claim.epoch, saved)) {
      if (claim.saved === undefined || claim.saved.version < saved.version) claim.saved = saved
      if (record.end !== undefined) this.#claims.release(engine, key)
      return
    }
    // an engine that has lost the task is about to be told of it
    await confirm()
    if (this.#claims.get(key) === claim) this.#lose([key])
    throw notOurs()
  }

  /** A task that was not begun: its client has no id of it. */
  async #forsake(id: string): Promise<void> {
    await this.delete(id).catch(() => {}) // it expires
    if (this.#claims.get(keyOf(id)) !== undefined && this.isServing)
      this.#claims.release(this.#input.engine(), keyOf(id))
    this.#claims.forget(keyOf(id))
  }

  async #serve(from: string, { id, task, command }: Extract<TaskMessage, { readonly type: 'ask' }>) {
    try {
      const isDone = this.#claims.get(keyOf(task)) !== undefined && (await this.#runner?.run(task, command))
      this.#input.send(from, { type: 'answer', id, isDone: isDone === true })
    } catch (error) {
      // it has ended meanwhile, or its actor has died
      if (error instanceof RuntimeError) this.#input.send(from, { type: 'answer', id, isDone: false })
      else this.#input.send(from, { type: 'failed', id, problem: problemOf(error) })
    }
  }

  #lose(keys: readonly string[]): void {
    for (const key of keys) this.#claims.forget(key)
    if (keys.length > 0) outside(() => this.#runner?.lost(keys.map(idOf)))
  }

  #lookLater(): void {
    const { world } = this.#input
    this.#timer ??= outside(() =>
      world.setTimeout(() => {
        this.#timer = undefined
        void this.#look()
      }, lookAfter),
    )
  }

  async #look(): Promise<void> {
    const keys = [...new Set(Array.from(this.#watchers, ({ key }) => key))]
    try {
      const found = await this.#input.engine().versions(keys)
      const versions = new Map(keys.map((key, at) => [key, found[at]]))
      for (const watcher of [...this.#watchers])
        if (versions.has(watcher.key) && versions.get(watcher.key) !== watcher.version) watcher.wake()
    } catch (error) {
      if (!isUnavailable(error)) throw error
    }
    if (this.#watchers.size > 0) this.#lookLater()
  }

  #leftOf({ createdAt, ttl }: TaskRecord): number {
    return createdAt + ttl - this.#input.world.date()
  }

  #savedOf(record: TaskRecord) {
    const ttl = Math.max(1, this.#leftOf(record))
    const text = this.#input.seal.close(sealedAs(record.id), JSON.stringify(record))
    return { text, version: record.version, ttl, list: record.owner }
  }
}

function keyOf(id: string): string {
  return taskMark + id
}

function idOf(key: string): string {
  return key.slice(taskMark.length)
}

function sealedAs(task: string): SealedAs {
  return { kind: 'task', place: task }
}

function recordOf(text: string): TaskRecord | undefined {
  const record: unknown = JSON.parse(text)
  return isTaskRecord(record) ? record : undefined
}

function notOurs(): TransportError {
  return new TransportError('SEND_FAILED', 'the task is for another node', { retryable: true })
}
