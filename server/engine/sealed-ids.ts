import { isImplementation } from '../../protocol/stateless/envelope.js'
import { isObject, type JsonObject } from '../../protocol/wire/json.js'
import type { Implementation } from '../../protocol/messages/base.js'
import type { ClientCapabilities } from '../../protocol/messages/capabilities.js'
import { systemWorld, type World } from '../../runtime/time/world.js'
import { ServerError } from '../base/errors.js'
import { readersOf } from '../base/read-options.js'
import { Sealing, type Secrets } from '../base/sealing.js'

/** Options of `sealed()`. */
export interface SealedOptions {
  /**
   * 1 to 16 secrets of at least 32 bytes or characters each: the first seals, all open. To replace one, put
   * the new one second everywhere, then first, and remove the old one after `maxAge`. Give the same ones to
   * every program that serves these sessions.
   */
  readonly keys: Secrets
  /** Milliseconds from `initialize` to the end of the id and its session. Default 24 h. */
  readonly maxAge?: number
  /** Ended sessions that are remembered; beyond it the first one ended may be used again. Default 100,000. */
  readonly maxRevoked?: number
}

export interface SealedFacts {
  readonly revision: string
  readonly client: Implementation
  readonly capabilities: ClientCapabilities
  /**
   * The owner, as a digest of at most 64 characters; undefined if the session belongs to whoever has the id.
   */
  readonly principal?: string
}

interface SealedId {
  readonly id: string
  readonly facts: SealedFacts
  /** In ms since 1970. */
  readonly expiresAt: number
}

/** Characters of an id. */
const maxLength = 720
/** Bytes that the facts of a session may take. */
const maxBytes = 500
/** Bytes that are left of a long name or version. */
const maxText = 60

/** The capabilities of clients in the specification. */
const known = {
  roots: { listChanged: {} },
  sampling: { context: {}, tools: {} },
  elicitation: { form: {}, url: {} },
  tasks: {
    list: {},
    cancel: {},
    requests: { sampling: { createMessage: {} }, elicitation: { create: {} } },
  },
}

/**
 * Session ids that carry revision, client, capabilities and owner, encrypted (AES-256-GCM): every program
 * with the key continues the session. They have at most 720 characters. Ended sessions are remembered until the
 * program ends.
 */
export class SealedIds {
  /** As they were given. */
  readonly options: SealedOptions
  readonly #sealing: Sealing
  readonly #maxAge: number
  readonly #maxRevoked: number
  /** When each revoked id ends by itself, in the order of revoking. */
  readonly #revoked = new Map<string, number>()

  constructor(options: SealedOptions) {
    const { badOption, readCount, readFields, readMs } = readersOf('sealed')
    readFields(options, 'options', ['keys', 'maxAge', 'maxRevoked'])
    const { keys } = options
    const maxAge = readMs(options.maxAge, 'maxAge', 24 * 60 * 60_000)
    if (!Number.isFinite(maxAge)) throw badOption('maxAge', 'a finite number', maxAge)
    this.#sealing = new Sealing(keys, {
      purpose: 'caduceus sealed session ids',
      field: 'keys',
      of: 'sealed',
    })
    this.options = options
    this.#maxAge = maxAge
    this.#maxRevoked = readCount(options.maxRevoked, 'maxRevoked', 100_000)
  }

  /** An id for a new session. `server` is the name of the definition: other servers cannot open it. */
  seal(facts: SealedFacts, server: string, world: World = systemWorld): SealedId {
    // whole seconds: they are shorter
    const expiresAt = Math.ceil((world.date() + this.#maxAge) / 1000) * 1000
    const id = this.#sealing.seal(encodeFacts(facts, expiresAt), about(server), world)
    return { id, facts, expiresAt }
  }

  /** The content of an id; undefined if it is of another server, was changed or revoked, or has expired. */
  open(id: string, server: string, world: World = systemWorld): SealedId | undefined {
    if (id.length > maxLength || this.#revoked.has(id)) return undefined
    const plain = this.#sealing.open(id, about(server))
    const opened = plain === undefined ? undefined : decodeFacts(plain)
    return opened !== undefined && opened.expiresAt > world.date() ? { id, ...opened } : undefined
  }

  /** Whether an id was ended early. */
  isRevoked(id: string): boolean {
    return this.#revoked.has(id)
  }

  /** Ends an id early, in this program. Default of `expiresAt`: the latest that it may be. */
  revoke({ id, expiresAt }: Pick<SealedId, 'id'> & Partial<SealedId>, world: World = systemWorld): void {
    this.#revoked.set(id, expiresAt ?? world.date() + this.#maxAge)
    if (this.#revoked.size <= this.#maxRevoked) return
    for (const [other, end] of this.#revoked) if (end <= world.date()) this.#revoked.delete(other)
    for (const [other] of this.#revoked) {
      if (this.#revoked.size <= this.#maxRevoked) return
      this.#revoked.delete(other)
    }
  }
}

/** Is not in the id, but must be the same to open it. */
function about(server: string): string {
  return `caduceus session ${server}`
}

/**
 * Drops what does not fit: extra client fields, then unknown capabilities and settings of extensions, then the
 * ends of long names, then the extensions.
 * Throws BAD_STATE if even that does not fit.
 */
function encodeFacts(facts: SealedFacts, expiresAt: number): Buffer {
  const { revision, client, capabilities, principal } = facts
  const { name, version, title } = client
  const plain = pick(capabilities, known)
  const withExtensions = { ...plain, ...extensionIds(capabilities) }
  const forms: [object, object][] = [
    [client, capabilities],
    [{ name, version, ...(title !== undefined && { title }) }, capabilities],
    [{ name, version }, withExtensions],
    [{ name: cut(name), version: cut(version) }, withExtensions],
    [{ name: cut(name), version: cut(version) }, plain],
  ]
  for (const [who, what] of forms) {
    const bytes = Buffer.from(JSON.stringify([Math.ceil(expiresAt / 1000), revision, who, what, principal]))
    if (bytes.length <= maxBytes) return bytes
  }
  throw new ServerError('BAD_STATE', `a sealed id: expected facts of at most ${maxBytes} bytes`)
}

/** What `encodeFacts` wrote; undefined for anything else. */
function decodeFacts(bytes: Buffer): { readonly facts: SealedFacts; readonly expiresAt: number } | undefined {
  let value: unknown
  try {
    value = JSON.parse(bytes.toString())
  } catch {
    return undefined
  }
  const [seconds, revision, client, capabilities, principal] = Array.isArray(value) ? value : []
  if (typeof seconds !== 'number' || typeof revision !== 'string') return undefined
  if (!isImplementation(client) || !isObject(capabilities)) return undefined
  const facts = { revision, client, capabilities, ...(typeof principal === 'string' && { principal }) }
  return { facts, expiresAt: seconds * 1000 }
}

/** The keys of a value that the shape has, too, at every depth. */
function pick(value: object, shape: JsonObject): object {
  const entries = Object.entries(value).flatMap(([key, inner]): [string, unknown][] => {
    const below = Object.hasOwn(shape, key) ? shape[key] : undefined
    if (!isObject(below)) return []
    if (isObject(inner)) return [[key, pick(inner, below)]]
    return typeof inner === 'boolean' ? [[key, inner]] : []
  })
  return Object.fromEntries(entries)
}

function extensionIds({ extensions }: ClientCapabilities): Pick<ClientCapabilities, 'extensions'> {
  if (!isObject(extensions)) return {}
  return { extensions: Object.fromEntries(Object.keys(extensions).map((id) => [id, {}])) }
}

function cut(text: string): string {
  let end = Math.min(text.length, maxText)
  while (Buffer.byteLength(JSON.stringify(text.slice(0, end))) > maxText) end -= 1
  return text.slice(0, end)
}
