import type { Component } from '../catalog/catalog.js'
import type { Owner, UpstreamLists } from '../definitions/upstreams.js'
import { schemeOf } from './names.js'

/** Templates of a server that keep addresses from the lists of others: each is tried with each new address. */
const maxKeeping = 100

/** What servers have had before and still list: it stays theirs, whoever lists it later. */
export class Owners {
  readonly #owners = new Map<string, Owner>()
  /** Those that say which addresses are theirs, by scheme. */
  readonly #templates = new Map<string, Owner[]>()
  /** How many templates of a server are among those. */
  readonly #kept = new Map<string, number>()

  constructor(known: Iterable<readonly [string, Owner]>, lists: ReadonlyMap<string, UpstreamLists>) {
    const listed = new Map([...lists].map(([server, each]) => [server, ownKeys(each)]))
    for (const [key, owner] of known)
      if (listed.get(owner.server)?.has(`${owner.kind} ${owner.own}`)) this.add(key, owner)
  }

  /** What a server has from now on, unless another one has it: servers that come together, in their order. */
  add(key: string, owner: Owner): void {
    if (this.#owners.has(key)) return
    this.#owners.set(key, owner)
    const { server, own, matcher } = owner
    const scheme = schemeOf(own)
    const count = this.#kept.get(server) ?? 0
    if (matcher === undefined || scheme === undefined || count === maxKeeping) return
    this.#kept.set(server, count + 1)
    const others = this.#templates.get(scheme)
    if (others === undefined) this.#templates.set(scheme, [owner])
    else others.push(owner)
  }

  /** By kind and name as they are listed here, the oldest first. */
  get entries(): ReadonlyMap<string, Owner> {
    return this.#owners
  }

  /** Whether a name or an address is another one's already: it is listed, or a template fits it. */
  isOfAnother(kind: Component['kind'], key: string, server: string, own: string): boolean {
    const owner = this.#owners.get(`${kind} ${key}`)
    if (owner !== undefined) return owner.server !== server || owner.own !== own
    if (kind !== 'resource') return false
    const templates = this.#templates.get(schemeOf(key) ?? '') ?? []
    return templates.some((each) => each.server !== server && each.matcher?.match(key) !== undefined)
  }
}

function ownKeys({ tools, prompts, resources, templates }: UpstreamLists): ReadonlySet<string> {
  return new Set([
    ...tools.map(({ name }) => `tool ${String(name)}`),
    ...prompts.map(({ name }) => `prompt ${String(name)}`),
    ...resources.map(({ uri }) => `resource ${String(uri)}`),
    ...templates.map(({ uriTemplate }) => `resourceTemplate ${String(uriTemplate)}`),
  ])
}
