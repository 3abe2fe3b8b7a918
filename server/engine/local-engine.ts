import { isObject } from '../../protocol/wire/json.js'
import type { ActorContext } from '../../runtime/process/context.js'
import { show } from '../../runtime/base/errors.js'
import { optionError } from '../base/errors.js'
import type { Secrets } from '../base/sealing.js'
import type { ClusterEngine } from './engine.js'
import type { SealedIds } from './sealed-ids.js'
import type { SessionLimits, SessionStore } from './session-store.js'
import type { TaskStore } from './task-store.js'
import type { ValueEngine } from './values.js'

/**
 * Where what must survive lives, for the option `engine` of `startServer`: what `inMemory()`, `files()`,
 * `sealed()`, `records()` and `durableObject()` return, and what `redis()` returns, or an engine of your own
 * (`ClusterEngine`).
 */
export type ServerEngine = LocalEngine | ClusterEngine

/** What a local engine is made of. */
export interface LocalEngineParts {
  /** As errors and reports call it: `files /var/lib/shop`. */
  readonly name: string
  /** Whether sessions are still there when their program has ended. */
  readonly outlives: boolean
  /** Whether other programs take turns in the same sessions, so that each message looks for what they did. */
  readonly isShared?: boolean
  /** Bytes of one session, as they are in its file; undefined: `check` of the store knows, if anything. */
  readonly maxBytes?: number
  /** Ids that say what a session is; undefined: random ones. */
  readonly ids?: SealedIds | undefined
  /** Called at each start of a server, which ends with the scope of `ctx`. Throws BAD_OPTION. */
  open(ctx: ActorContext, limits: SessionLimits): Promise<OpenEngine>
}

/** A local engine that is open. */
export interface OpenEngine {
  readonly sessions: SessionStore
  readonly tasks: TaskStore
  /** Where logins of users are kept; absent: nowhere. */
  readonly values?: ValueEngine
  /** What cursors and `requestState` are sealed with; undefined: a random secret of this program. */
  readonly secrets?: Secrets | undefined
}

/** An engine of one program, and its processes; made by `inMemory()`, `files()` and their like. */
export class LocalEngine {
  /** As errors and reports call it. */
  readonly name: string
  readonly #parts: LocalEngineParts

  constructor(parts: LocalEngineParts) {
    this.name = parts.name
    this.#parts = parts
  }

  /** What it is made of: for the server. */
  static parts(engine: LocalEngine): LocalEngineParts {
    return engine.#parts
  }
}

/** Reads the option `engine`. Throws BAD_OPTION. */
export function readEngine(engine: unknown): ServerEngine | undefined {
  if (engine === undefined || engine instanceof LocalEngine || isClusterEngine(engine)) return engine
  const expected = 'what inMemory(), files(), redis(), sealed(), records() or durableObject() returns'
  throw optionError('engine', `engine: expected ${expected}, got ${show(engine)}`)
}

function isClusterEngine(value: unknown): value is ClusterEngine {
  return isObject(value) && typeof value.open === 'function' && isObject(value.settings)
}
