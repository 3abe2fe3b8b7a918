import { realpath, stat } from 'node:fs/promises'
import { basename, dirname } from 'node:path'
import type { PinnedDefinition, Pins } from 'caduceus/server'
import { lockFile } from '../../client/auth/file-storage.js'
import { isObject } from '../../protocol/wire/json.js'
import { ifThere, readIfThere, replaceFile } from '../../runtime/base/files.js'
import { messageOf } from '../../runtime/base/errors.js'
import { systemWorld, type World } from '../../runtime/time/world.js'
import { UsageError } from '../base/usage-error.js'
import { jsonText } from '../terminal/screen.js'

/** What the file says: definitions of servers, by server and by what they are of. */
type PinnedServers = ReadonlyMap<string, ReadonlyMap<string, PinnedDefinition>>

/** Ms that another program may have the file: what one that was killed has left is taken over after 30 s. */
const patience = 45_000
const version = 1
/**
 * Characters of one server in the file, and of its definitions that are there in full: of others it has the
 * digest. All of the file is read and written with each change, and any server may list what it likes.
 */
const mostCharacters = 4 * 1024 * 1024
const mostInFull = 1024 * 1024
/** Characters before each line of a definition. */
const outerIndent = 8

/** The lock file of a configuration: `mcp.lock.json` of `mcp.json`. */
export function lockFileOf(file: string): string {
  return `${file.replace(/\.jsonc?$/i, '')}.lock.json`
}

/**
 * Definitions that are accepted, in a file beside the configuration: JSON, for people and repositories.
 * Several programs may write to it at once, and none loses what another has written.
 */
export class LockFile implements Pins {
  readonly path: string
  readonly #command: string
  readonly #world: World
  readonly #listeners = new Set<() => void>()
  #servers: PinnedServers = new Map()
  /** Why the file cannot be read; then nothing is known of any server. */
  #problem: UsageError | undefined
  #last: Promise<unknown> = Promise.resolve()

  /** `command` is what accepts a change, without the name of the server. */
  constructor(path: string, command: string, world: World = systemWorld) {
    this.path = path
    this.#world = world
    this.#command = command
  }

  /** Reads it again. Rejects with UsageError where it is broken: then nothing is known until it is mended. */
  async read(): Promise<void> {
    const before = this.#text()
    try {
      this.#servers = await readLockFile(this.path)
      this.#problem = undefined
    } catch (error) {
      this.#problem = error instanceof UsageError ? error : new UsageError(messageOf(error))
    }
    if (this.#text() !== before) for (const fn of this.#listeners) fn()
    if (this.#problem !== undefined) throw this.#problem
  }

  /** What is pinned of a server. */
  definitionsOf(server: string): ReadonlyMap<string, PinnedDefinition> {
    if (this.#problem !== undefined) throw this.#problem
    return this.#servers.get(server) ?? new Map()
  }

  of(server: string): ReadonlyMap<string, string> {
    return new Map([...this.definitionsOf(server)].map(([key, { digest }]) => [key, digest]))
  }

  /** Rejects with UsageError where there is no room for more of the server. */
  async add(server: string, definitions: ReadonlyMap<string, PinnedDefinition>): Promise<void> {
    const remedy = `${this.howToAccept(server)} forgets what is gone`
    const full = new UsageError(`${this.path} has ${mostCharacters} characters of it: ${remedy}`)
    // without a look at the file: whoever fills it tries again and again
    if (this.#problem === undefined && !hasRoom(this.#servers.get(server))) throw full
    await this.#change((before) => {
      const all = added(before.get(server) ?? new Map(), definitions)
      if (all === undefined) throw full
      return new Map(before).set(server, all)
    })
  }

  /** From now on the definitions of a server are these, and no others. */
  accept(server: string, definitions: ReadonlyMap<string, PinnedDefinition>): Promise<void> {
    return this.#change((before) => {
      const all = added(new Map(), definitions)
      if (all === undefined)
        throw new UsageError(
          `${server} lists more than the ${mostCharacters} characters that fit ${this.path}`,
        )
      return new Map(before).set(server, all)
    })
  }

  onChange(fn: () => void): () => void {
    this.#listeners.add(fn)
    return () => void this.#listeners.delete(fn)
  }

  howToAccept(server: string): string {
    return `${this.#command} ${/^[\w.-]+$/.test(server) ? server : JSON.stringify(server)}`
  }

  /** Resolves with what releases it. Rejects where another program does not give it back. */
  async #locked(path: string): Promise<() => Promise<void>> {
    const late = new AbortController()
    const problem = `another program has had ${path} for ${patience} ms: end it, or remove that file`
    const timer = this.#world.setTimeout(() => late.abort(new UsageError(problem)), patience)
    try {
      return await lockFile(path, late.signal)
    } finally {
      this.#world.clearTimeout(timer)
    }
  }

  #text(): string {
    return this.#problem?.message ?? textOf(this.#servers)
  }

  /** One change after the other, each of what the file says by then. */
  #change(change: (before: PinnedServers) => PinnedServers): Promise<void> {
    const changed = this.#last.then(async () => {
      const path = await placeOf(this.path)
      const release = await this.#locked(`${path}.lock`)
      try {
        const before = await readLockFile(path)
        const after = change(before)
        const text = textOf(after)
        if (text !== textOf(before)) {
          const mode = (await ifThere(() => stat(path)))?.mode
          await replaceFile(dirname(path), basename(path), text, {
            mode: (mode ?? 0o644) & 0o777,
            durable: true,
            id: this.#world.id,
          })
        }
        this.#servers = after
      } finally {
        await release()
      }
    })
    this.#last = changed.catch(() => {})
    return changed
  }
}

type Definitions = ReadonlyMap<string, PinnedDefinition>

/** Those of before, and what is new, in full while there is room for that; undefined: there is none at all. */
function added(before: Definitions, fresh: Definitions): Definitions | undefined {
  const all = new Map(before)
  let used = charactersOf(before)
  for (const [key, pinned] of fresh) {
    if (all.has(key)) continue
    const short = { digest: pinned.digest, definition: undefined }
    const kept = used + sizeOf(key, pinned) <= mostInFull ? pinned : short
    used += sizeOf(key, kept)
    if (used > mostCharacters) return undefined
    all.set(key, kept)
  }
  return all
}

function hasRoom(definitions: Definitions = new Map()): boolean {
  return charactersOf(definitions) + sizeOf('', { digest: '', definition: undefined }) <= mostCharacters
}

function charactersOf(definitions: Definitions): number {
  return [...definitions].reduce((sum, [key, pinned]) => sum + sizeOf(key, pinned), 0)
}

/** Characters as they stand in the file, with what is around them: what is nested deep has long lines there. */
function sizeOf(key: string, { digest, definition }: PinnedDefinition): number {
  const text = definition === undefined ? '' : jsonText(definition, 2)
  const lines = text.split('\n').length
  return jsonText(key).length + digest.length + text.length + lines * outerIndent + 100
}

/** Empty for a file that is not there. Rejects with UsageError for one that is none, or is broken. */
async function readLockFile(path: string): Promise<PinnedServers> {
  const wrong = (problem: string): UsageError =>
    new UsageError(`${path}: ${problem}: mend it, or remove it to begin anew`)
  let text: string | undefined
  try {
    text = (await readIfThere(await placeOf(path)))?.bytes.toString('utf8')
  } catch (error) {
    throw wrong(`cannot be read (${messageOf(error)})`)
  }
  if (text === undefined) return new Map()
  let whole: unknown
  try {
    whole = JSON.parse(text)
  } catch {
    throw wrong('is no JSON')
  }
  if (!isObject(whole) || whole.version !== version || !isObject(whole.servers))
    throw wrong(`expected version ${version} and servers`)
  return new Map(
    Object.entries(whole.servers).map(([server, given]) => {
      if (!isObject(given)) throw wrong(`servers.${server}: expected an object`)
      const definitions = Object.entries(given).map(([key, pinned]) => {
        if (!isObject(pinned) || typeof pinned.digest !== 'string')
          throw wrong(`servers.${server}.${key}: expected an object with a digest`)
        return [key, { digest: pinned.digest, definition: pinned.definition }] as const
      })
      return [server, new Map(definitions)]
    }),
  )
}

/** In order, so that a change of one definition is one of a few lines; escaped where nobody would see it. */
function textOf(servers: PinnedServers): string {
  const sorted = <Value>(all: ReadonlyMap<string, Value>): (readonly [string, Value])[] =>
    [...all].sort(([one], [other]) => (one < other ? -1 : 1))
  const all = sorted(servers).map(([name, definitions]) => [name, Object.fromEntries(sorted(definitions))])
  return `${jsonText({ version, servers: Object.fromEntries(all) }, 2)}\n`
}

/** What a link leads to: that is replaced, not the link. */
async function placeOf(path: string): Promise<string> {
  return (await ifThere(() => realpath(path))) ?? path
}
