import { isObject } from '../../protocol/wire/json.js'
import { isPromise } from '../../runtime/base/promise.js'
import { lastingWorld } from '../../runtime/process/context.js'
import type { World } from '../../runtime/time/world.js'
import { readersOf } from '../base/read-options.js'
import { Sealing, type Secrets } from '../base/sealing.js'
import { LocalEngine, type OpenEngine } from './local-engine.js'
import { askCheck, readRefusal } from './refusal.js'
import type { SessionRecord, SessionStore } from './session-store.js'
import { MemoryValues } from './values.js'
import { createMemoryTaskStore, type TaskStore } from './task-store.js'

/** Options of `records()`: where the records of sessions are, and, if you like, those of tasks. */
export interface RecordsOptions extends SessionStore {
  /** Where tasks are. Default: in the memory of the program. */
  readonly tasks?: TaskStore
  /** What cursors and `requestState` are sealed with. Default: a random secret of the program. */
  readonly keys?: Secrets
}

/** Milliseconds that a store has for an answer. */
const givenUp = 5_000

/**
 * The smallest engine: sessions are wherever three functions of yours keep their records. It serves one program,
 * and its `processes`; with `shared` several programs take turns in the same sessions, each of one process. Throws
 * ServerError BAD_OPTION.
 */
export function records(options: RecordsOptions): LocalEngine {
  const { badOption, readFlag } = readersOf('records')
  if (!has(options, 'load', 'save', 'delete'))
    throw badOption('options', 'an object with load, save and delete', options)
  readFlag(options.shared, 'shared', false)
  if (options.check !== undefined && typeof options.check !== 'function')
    throw badOption('check', 'a function', options.check)
  const { tasks, keys } = options
  // wrong options throw here, not when a server starts
  if (keys !== undefined) new Sealing(keys, { purpose: 'caduceus records', field: 'keys', of: 'records' })
  if (tasks !== undefined && !has(tasks, 'load', 'save', 'delete', 'list'))
    throw badOption('tasks', 'an object with load, save, delete and list', tasks)
  let open: OpenEngine | undefined
  return new LocalEngine({
    name: 'records',
    outlives: true,
    isShared: options.shared === true,
    async open(ctx) {
      const world = lastingWorld(ctx.world)
      open ??= {
        sessions: inOrder(options, world),
        tasks: tasks ?? createMemoryTaskStore(),
        // those of one program are not for all
        ...(options.shared !== true && { values: new MemoryValues(world.now) }),
        secrets: keys ?? [world.randomBytes(32)],
      }
      return open
    },
  })
}

/**
 * A record is deleted once what was being saved of it is settled: a save that comes after would bring its
 * session back.
 */
function inOrder(store: SessionStore, { now }: World): SessionStore {
  /** What is being saved, by id, and since when. */
  const saves = new Map<string, Map<Promise<void>, number>>()
  return {
    ...(store.shared !== undefined && { shared: store.shared }),
    ...(store.check !== undefined && { check: (record: SessionRecord) => askCheck(store, record) }),
    load: (id) => store.load(id),
    save(record) {
      const { id } = record
      const saving = saved(store, record)
      if (!isPromise(saving)) return saving
      const all = saves.get(id) ?? new Map<Promise<void>, number>()
      const settled = Promise.resolve(saving).then(ignore, ignore)
      saves.set(id, all.set(settled, now()))
      void settled.then(() => {
        all.delete(settled)
        if (all.size === 0 && saves.get(id) === all) saves.delete(id)
      })
      return saving
    },
    delete(id) {
      const all = saves.get(id)
      // one that takes longer was given up, and may never settle
      const recent = [...(all ?? [])].flatMap(([settled, at]) => (now() - at < givenUp ? [settled] : []))
      return recent.length === 0 ? store.delete(id) : Promise.all(recent).then(() => store.delete(id))
    },
  }
}

/** Throws, or rejects with, BAD_STATE for a record that is refused as such. */
function saved(store: SessionStore, record: SessionRecord): unknown {
  const refused = (error: unknown): never => {
    throw readRefusal(error, record, store)
  }
  try {
    const saving = store.save(record)
    return isPromise(saving) ? saving.then(undefined, refused) : saving
  } catch (error) {
    return refused(error)
  }
}

/** It may be of a class of yours. */
function has(value: unknown, ...methods: readonly string[]): boolean {
  return isObject(value) && methods.every((method) => typeof value[method] === 'function')
}

function ignore(): void {}
