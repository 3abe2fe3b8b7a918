import { createHash } from 'node:crypto'
import { isObject } from '../../protocol/wire/json.js'
import type { Clock } from '../../runtime/time/clock.js'
import type { Values } from '../../transports/contract/values.js'
import type { UpstreamLists, UpstreamRecord } from '../definitions/upstreams.js'

/** What a server had when the gateway ran last. */
export interface Kept {
  readonly server: NonNullable<UpstreamRecord['server']>
  readonly lists: UpstreamLists
  /** Whether it was listed to one user, and not to nobody in particular. */
  readonly isOfUser: boolean
}

/** Milliseconds that it is kept: a server that is away for longer is as a new one. */
const ttl = 30 * 86_400_000
/** Milliseconds between two writes for one server: some change their lists all the time. */
const pace = 10_000
const lists = ['tools', 'resources', 'templates', 'prompts'] as const

/**
 * The last known lists of the servers behind a gateway, in its engine. What goes wrong there costs lists
 * only.
 */
export class KeptLists {
  readonly #values: Values
  readonly #gateway: string
  readonly #clock: Clock
  /** What is written next, by server; undefined while its time is not over and nothing has changed. */
  readonly #next = new Map<string, { kept: Kept | undefined; readonly timer: unknown }>()
  /** Digests of what was read or written last. */
  readonly #known = new Map<string, string>()

  constructor(values: Values, gateway: string, clock: Clock) {
    this.#values = values
    this.#gateway = gateway
    this.#clock = clock
  }

  /** Undefined where nothing is kept, or it cannot be had. */
  async read(server: string): Promise<Kept | undefined> {
    try {
      const { text = '' } = (await this.#values.get(this.#keyOf(server))) ?? {}
      this.#known.set(server, digestOf(text))
      return readKept(JSON.parse(text))
    } catch {
      return undefined
    }
  }

  /** Soon after the first change, later after the next ones. */
  save(server: string, kept: Kept): void {
    const waiting = this.#next.get(server)
    if (waiting === undefined) this.#write(server, kept)
    else waiting.kept = kept
  }

  end(): void {
    for (const { timer } of this.#next.values()) this.#clock.clearTimeout(timer)
    this.#next.clear()
  }

  #write(server: string, kept: Kept): void {
    const timer = this.#clock.setTimeout(() => {
      const { kept: later } = this.#next.get(server) ?? {}
      this.#next.delete(server)
      if (later !== undefined) this.#write(server, later)
    }, pace)
    this.#next.set(server, { kept: undefined, timer })
    const text = JSON.stringify(kept)
    const digest = digestOf(text)
    if (digest === this.#known.get(server)) return
    const key = this.#keyOf(server)
    // another node may write the same: either one will do
    this.#values
      .get(key)
      .then((was) => this.#values.set(key, text, { ttl, was }))
      .then((isDone) => isDone && this.#known.set(server, digest))
      .catch(() => {})
  }

  #keyOf(server: string): string {
    return `gateway lists ${JSON.stringify([this.#gateway, server])}`
  }
}

/** As another version, or a damaged engine, may have left it. */
function readKept(value: unknown): Kept | undefined {
  const { server, lists: found, isOfUser } = isObject(value) ? value : {}
  if (!isObject(server) || !isObject(server.info) || !isObject(server.capabilities) || !isObject(found))
    return undefined
  if (!lists.every((name) => Array.isArray(found[name]) && found[name].every(isObject))) return undefined
  return { server, lists: found, isOfUser: isOfUser === true } as unknown as Kept
}

function digestOf(text: string): string {
  return createHash('sha256').update(text).digest('base64url')
}
