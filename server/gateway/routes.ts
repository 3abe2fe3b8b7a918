import type { UriTemplate } from '../../protocol/uri-template/uri-template.js'
import type { Component } from '../catalog/catalog.js'
import type { GatewayPlan } from '../definitions/gateway-options.js'
import { digestOf, prefixOf, schemeOf } from './names.js'

export interface RoutedTemplate {
  /** As the server knows it. */
  readonly own: string
  /** As it is listed here; undefined for one that is not offered: it says all the same what an address is. */
  readonly listed: string | undefined
  /** Fits what `own` fits; undefined for one that only its server can read. */
  readonly matcher: UriTemplate | undefined
  /** Whether an address is like it, in either case: of more than `own` fits, as servers read it. */
  isLike(folded: string): boolean
}

/** What one server has at addresses. */
interface RoutedServer {
  readonly name: string
  /** Its resources that are offered, as it knows them. */
  readonly uris: ReadonlySet<string>
  /** Those of its resources and templates. */
  readonly schemes: ReadonlySet<string>
  readonly templates: readonly RoutedTemplate[]
}

/** Who has which address. */
export interface RouteTable {
  /** In the order of the configuration. */
  readonly servers: readonly RoutedServer[]
  /** By the part of an address before the first `+`. */
  readonly qualified: ReadonlyMap<string, RoutedServer>
  /** By the addresses that are listed here: the server, and the address as that knows it. */
  readonly listed: ReadonlyMap<string, Pick<Aim, 'server' | 'uri'>>
  /** What was before the first `+` of addresses of servers that are no more. */
  readonly removed: ReadonlySet<string>
  /** Those that are offered and name a scheme, the oldest first. */
  readonly templates: readonly (RoutedTemplate & { readonly server: RoutedServer })[]
}

/** A server that is asked, and the address as it knows it. */
export interface Aim {
  readonly server: string
  readonly uri: string
  /** The templates of that server which fit the address; none for one that it lists. */
  readonly templates: readonly RoutedTemplate[]
  /**
   * All templates of that server, which may fit what the server reads the address as; none for one that it
   * lists.
   */
  readonly all: readonly RoutedTemplate[]
  /** Whether it has addresses of that scheme: until it says that it has not this one, it is no other server's. */
  readonly isLikely: boolean
}

/** The first of `aims` that knows the address answers, and no other server. */
export interface Route {
  readonly step: RouteStep
  readonly aims: readonly Aim[]
}

/**
 * How an address finds its servers: the first step that has some decides. `NAME+URI` therefore never leaves its
 * server, and a template that fits everything takes nothing from others.
 */
const steps = {
  /** It is listed. */
  exact: ({ listed }: RouteTable, uri: string) => aimListed(listed.get(uri)),
  /** `NAME+URI`, and that server lists URI. */
  qualified: (table: RouteTable, uri: string) => {
    const named = namedIn(table, uri)
    return named?.server.uris.has(named.uri)
      ? aimListed({ server: named.server.name, uri: named.uri })
      : undefined
  },
  /** `NAME+URI`, and a template of that server fits; that may begin with `NAME+` itself. */
  template: (table: RouteTable, uri: string) => {
    const named = namedIn(table, uri)
    if (named === undefined) return undefined
    const { server, uri: own } = named
    const start = uri.slice(0, -own.length)
    const isWhole = (template: RoutedTemplate): boolean => template.own.startsWith(start)
    return aimFitting(server, uri, isWhole) ?? aimFitting(server, own)
  },
  /** `NAME+URI`: that server may know URI, or the whole, which may be of a scheme of its own. */
  named: (table: RouteTable, uri: string) => {
    const named = namedIn(table, uri)
    return named && [aimAt(named.server, named.uri), aimAt(named.server, uri)]
  },
  /** `NAME+URI` of a server that is no more: no other one speaks for it. */
  removed: ({ removed }: RouteTable, uri: string) => (removed.has(qualifierIn(uri) ?? '') ? [] : undefined),
  /** The oldest template for addresses of that scheme. */
  scheme: ({ templates }: RouteTable, uri: string) => {
    const found = templates.find(({ matcher }) => matcher?.match(uri) !== undefined)
    return found && aimAt(found.server, uri)
  },
  /** No server lists it: all are asked, those with addresses of that scheme first. */
  unlisted: ({ servers }: RouteTable, uri: string) => {
    const scheme = schemeOf(uri) ?? ''
    const [known, others] = [true, false].map((isKnown) =>
      servers.filter(({ schemes }) => schemes.has(scheme) === isKnown),
    )
    return [
      ...(known ?? []).map((server) => aimAt(server, uri)),
      ...(others ?? []).map((server) => ({ ...aimAt(server, uri), isLikely: false })),
    ]
  },
} as const satisfies Readonly<
  Record<string, (table: RouteTable, uri: string) => Aim | readonly Aim[] | undefined>
>

type RouteStep = keyof typeof steps

/** The servers that are asked for an address. */
export function routeOf(table: RouteTable, uri: string): Route {
  for (const [step, find] of Object.entries(steps)) {
    const found = find(table, uri)
    if (found !== undefined) return { step: step as RouteStep, aims: 'server' in found ? [found] : found }
  }
  return { step: 'unlisted', aims: [] }
}

/** Which server has which names and addresses, in the order of the configuration; makes the table of routes. */
export class NameClaims {
  readonly #qualifiers: ReadonlyMap<string, string>
  /** What names of a server begin with; empty where names have none. */
  readonly #prefixes: ReadonlyMap<string, string>
  /** Whose a name is that the configuration gives: the server, and its name for it. */
  readonly #renamed = new Map<string, Claimant>()
  readonly #removed: ReadonlySet<string>
  readonly #servers: RoutedServer[] = []
  readonly #listed = new Map<string, Pick<Aim, 'server' | 'uri'>>()

  constructor(
    names: readonly string[],
    { separator, prefix, servers }: Pick<GatewayPlan, 'separator' | 'prefix' | 'servers'>,
    removed: ReadonlySet<string> = new Set(),
  ) {
    this.#removed = removed
    this.#qualifiers = qualifiersOf(names)
    this.#prefixes = new Map(prefix ? names.map((name) => [name, prefixOf(name, separator)]) : [])
    for (const server of names)
      for (const [own, name] of Object.entries(servers.get(server)?.rename ?? {}))
        if (!this.#renamed.has(name)) this.#renamed.set(name, { server, own })
  }

  /** What stands before the `+` of the addresses of a server. */
  qualifierOf(server: string): string {
    return this.#qualifiers.get(server) ?? server
  }

  /** Whether a listed name or address says that it is another one's, which may be away or not have come yet. */
  isOfAnother(kind: Component['kind'], key: string, { server, own }: Claimant): boolean {
    if (kind === 'resource' || kind === 'resourceTemplate') {
      const qualifier = qualifierIn(key)
      const isNamed =
        this.#removed.has(qualifier ?? '') || [...this.#qualifiers.values()].includes(qualifier ?? '')
      return isNamed && qualifier !== this.qualifierOf(server)
    }
    const renamed = this.#renamed.get(key)
    if (renamed !== undefined) return renamed.server !== server || renamed.own !== own
    const named = prefixIn(key, this.#prefixes.values())
    return named !== undefined && named !== this.#prefixes.get(server)
  }

  /** The server that a name of a tool or prompt names, whether or not it has it. */
  ownerOf(listed: string): string | undefined {
    const named = prefixIn(listed, this.#prefixes.values())
    const owner = [...this.#prefixes].find(([, prefix]) => prefix === named)
    return this.#renamed.get(listed)?.server ?? owner?.[0]
  }

  add(name: string, templates: readonly RoutedTemplate[], offered: readonly Component[]): void {
    const uris = new Set<string>()
    for (const component of offered) {
      if (component.kind !== 'resource') continue
      const own = component.relayed?.own ?? component.uri
      uris.add(own)
      if (!this.#listed.has(component.uri)) this.#listed.set(component.uri, { server: name, uri: own })
    }
    const offeredTemplates = templates.flatMap(({ own, listed }) => (listed === undefined ? [] : [own]))
    const schemes = [...uris, ...offeredTemplates].flatMap((own) => schemeOf(own) ?? [])
    this.#servers.push({ name, uris, schemes: new Set(schemes), templates })
  }

  /**
   * Of all servers: of one of which nothing is known, too, as it may be asked. Templates that are among the
   * `oldest` (by kind and name) come before all others, in that order.
   */
  table(oldest: Iterable<string> = []): RouteTable {
    const known = new Map(this.#servers.map((server) => [server.name, server]))
    const servers = [...this.#qualifiers.keys()].map(
      (name): RoutedServer => known.get(name) ?? { name, uris: new Set(), schemes: new Set(), templates: [] },
    )
    const qualified = new Map(servers.map((server) => [this.qualifierOf(server.name), server]))
    // what parses addresses writes schemes in lower case (RFC 3986, section 3.1), and takes a name for one
    for (const [name, server] of [...qualified])
      if (!qualified.has(name.toLowerCase())) qualified.set(name.toLowerCase(), server)
    const ages = new Map([...oldest].map((key, age) => [key, age]))
    const ageOf = ({ listed }: RoutedTemplate): number => ages.get(`resourceTemplate ${listed}`) ?? ages.size
    const templates = servers
      .flatMap((server) => server.templates.map((template) => ({ ...template, server })))
      .filter(({ own, listed }) => listed !== undefined && schemeOf(own) !== undefined)
      .sort((one, other) => ageOf(one) - ageOf(other))
    return { servers, qualified, listed: this.#listed, removed: this.#removed, templates }
  }
}

/** A server, and its own name or address of something. */
interface Claimant {
  readonly server: string
  readonly own: string
}

/** No two are the same: a name that needs no change is first, and one that is taken has a digest. */
function qualifiersOf(names: readonly string[]): ReadonlyMap<string, string> {
  const taken = new Set(names.filter((name) => cleaned(name) === name))
  return new Map(
    names.map((name) => {
      const clean = cleaned(name)
      const isFree = clean === name || !taken.has(clean)
      taken.add(clean)
      return [name, isFree ? clean : `${clean}-${digestOf(name).slice(0, 8)}`]
    }),
  )
}

/** What comes before the first `+` of an address; undefined where there is none. */
function qualifierIn(uri: string): string | undefined {
  const end = uri.indexOf('+')
  return end === -1 ? undefined : uri.slice(0, end)
}

/** The longest of these prefixes that a listed name begins with: it names a server. */
function prefixIn(listed: string, prefixes: Iterable<string>): string | undefined {
  let longest: string | undefined
  for (const prefix of prefixes)
    if (listed.startsWith(prefix) && prefix.length > (longest?.length ?? 0)) longest = prefix
  return longest
}

function namedIn(
  { qualified }: RouteTable,
  uri: string,
): { readonly server: RoutedServer; readonly uri: string } | undefined {
  const qualifier = qualifierIn(uri)
  const server = qualifier && (qualified.get(qualifier) ?? qualified.get(qualifier.toLowerCase()))
  const own = uri.slice((qualifier?.length ?? 0) + 1)
  return !server || own === '' ? undefined : { server, uri: own }
}

function aimListed(found: Pick<Aim, 'server' | 'uri'> | undefined): Aim | undefined {
  return found && { ...found, templates: [], all: [], isLikely: true }
}

/** Undefined unless the server offers a template for the address. */
function aimFitting(
  server: RoutedServer,
  uri: string,
  isMeant: (template: RoutedTemplate) => boolean = () => true,
): Aim | undefined {
  const isFitting = (template: RoutedTemplate): boolean =>
    template.listed !== undefined && isMeant(template) && template.matcher?.match(uri) !== undefined
  return server.templates.some(isFitting) ? aimAt(server, uri) : undefined
}

function aimAt({ name, templates }: RoutedServer, uri: string): Aim {
  return {
    server: name,
    uri,
    templates: templates.filter(({ matcher }) => matcher?.match(uri) !== undefined),
    all: templates,
    isLikely: true,
  }
}

function cleaned(name: string): string {
  return name.replaceAll(/[^\w.-]/g, '-')
}
