import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { badOption, checkFields } from '../base/check.js'
import { entryOf, moduleUrl } from '../base/entries.js'
import type { ErrorClasses } from './values.js'

/** Where an actor runs that has a thread or process of its own, and what it may use there. */
export interface PeerOptions {
  /**
   * `thread`: starts faster and costs less; ends at once in JavaScript that spins, but not in native code,
   * and a native crash ends the whole program. `process`: whatever it does, it can be ended, and costs nobody
   * else anything.
   */
  kind: 'thread' | 'process'
  /**
   * The module whose default export is the behaviour, as `defineActor` returns it: a `file:` URL or absolute
   * path.
   */
  module: URL | string
  /** What the actor's `init` is given. It is copied; references to actors in it work on the other side. */
  args?: unknown
  /**
   * Classes of errors that arrive as instances of their class on both sides, by name; one before the class
   * that it extends. The module exports the same ones as `errors`. Those of this floor always do; others
   * arrive as `Error`.
   */
  errors?: ErrorClasses
  /** How it is called in reports and errors. Default: the file name of the module. */
  name?: string
  /** Environment variables besides those of this program. */
  env?: Readonly<Record<string, string>>
  /**
   * Arguments of node, such as `--import`. Default: those of this program, but none that run text, tests or a
   * debugger in a process, and none at all for a thread of a program that is text (`--input-type`).
   */
  execArgv?: readonly string[]
  /**
   * Bytes it may use; beyond that it ends. The heap and Buffers of a thread, and all that a process has in
   * memory (an idle one some 60 MB), are looked at every 250 ms, also where JavaScript spins. A thread on
   * Node 20 and a process without `/proc` are asked, and V8 limits the heap; when a thread fills it, V8 may
   * end the whole program. Default: no limit but Node's.
   */
  memory?: number
  /**
   * Bytes of one value that it sends, such as a reply, about: a larger one is refused over there, where it is
   * NOT_CLONEABLE for whoever sends it. To copy much blocks this side. Default: no limit.
   */
  maxMessageBytes?: number
  /** Milliseconds its event loop may be blocked before it is killed. Default 5000; Infinity: for ever. */
  blockedTimeout?: number
}

/** Options with every default filled in. */
export interface PeerSettings {
  readonly kind: 'thread' | 'process'
  readonly module: string
  readonly args: unknown
  readonly errors: ErrorClasses
  readonly name: string
  readonly env: Readonly<Record<string, string>> | undefined
  readonly execArgv: readonly string[] | undefined
  readonly memory: number | undefined
  readonly maxMessageBytes: number
  readonly blockedTimeout: number
}

const peerFields = [
  'kind',
  'module',
  'args',
  'errors',
  'name',
  'env',
  'execArgv',
  'memory',
  'maxMessageBytes',
  'blockedTimeout',
] as const

/** Checks the options of a peer. Throws BAD_OPTION, also for a module that is not there. */
export function readPeerOptions(options: PeerOptions): PeerSettings {
  checkFields(options, peerFields)
  const { kind, args, errors = {}, env, execArgv, memory, blockedTimeout = 5_000 } = options
  const { maxMessageBytes = Number.POSITIVE_INFINITY } = options
  if (kind !== 'thread' && kind !== 'process') throw badOption('kind', "'thread' or 'process'", kind)
  if (!isFile(boot))
    throw badOption(
      'module',
      'caduceus as an external package of this bundle, with the file beside it',
      boot.href,
    )
  const module = readModule(options.module)
  const { name = module.slice(module.lastIndexOf('/') + 1).replace(/\.[cm]?[jt]s$/, '') } = options
  if (typeof name !== 'string' || name === '') throw badOption('name', 'a non-empty string', name)
  if (!areClasses(errors)) throw badOption('errors', 'an object of classes of errors', errors)
  if (env !== undefined && !isStrings(env)) throw badOption('env', 'an object of strings', env)
  if (
    execArgv !== undefined &&
    !(Array.isArray(execArgv) && execArgv.every((arg) => typeof arg === 'string'))
  )
    throw badOption('execArgv', 'an array of strings', execArgv)
  if (memory !== undefined && !(Number.isInteger(memory) && memory > 0))
    throw badOption('memory', 'a whole number of bytes above 0', memory)
  if (
    !(
      maxMessageBytes === Number.POSITIVE_INFINITY ||
      (Number.isInteger(maxMessageBytes) && maxMessageBytes > 0)
    )
  )
    throw badOption('maxMessageBytes', 'a whole number of bytes above 0, or Infinity', maxMessageBytes)
  if (!(typeof blockedTimeout === 'number' && blockedTimeout >= 100))
    throw badOption('blockedTimeout', 'milliseconds of 100 or more', blockedTimeout)
  return { kind, module, args, errors, name, env, execArgv, memory, maxMessageBytes, blockedTimeout }
}

function readModule(module: unknown): string {
  const url = moduleUrl(module)
  if (url?.protocol !== 'file:') throw badOption('module', 'a file: URL or an absolute path', module)
  if (!isFile(url)) throw badOption('module', 'the URL of a file that is there', url.href)
  return url.href
}

/** What runs first in a peer. */
export const boot = entryOf('runtime/peers/boot.js')

function isFile(url: URL): boolean {
  return url.protocol === 'file:' && existsSync(fileURLToPath(url))
}

function areClasses(errors: unknown): boolean {
  return (
    typeof errors === 'object' &&
    errors !== null &&
    Object.values(errors).every((each) => typeof each === 'function' && each.prototype instanceof Error)
  )
}

function isStrings(value: unknown): boolean {
  return (
    typeof value === 'object' &&
    value !== null &&
    Object.values(value).every((each) => typeof each === 'string')
  )
}
