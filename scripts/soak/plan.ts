import type { EraOption } from 'caduceus/client'
import type { Style } from './members.js'

/** How one client gets to its server. `calm`: nothing is broken there, `fragile`: its own actors are killed now and then. */
export type Way = { readonly style: Style; readonly calm: boolean; readonly fragile: boolean } & (
  | { readonly type: 'stdio'; readonly number: number }
  | { readonly type: 'memory' }
  /** The server over HTTP that others wrote. */
  | { readonly type: 'other' }
  | { readonly type: 'http' | 'sse' | 'websocket'; readonly host: number; readonly proxied: boolean }
)

/** One client that is to be. */
export interface Place {
  readonly name: string
  readonly way: Way
  readonly era: EraOption
  /** Whether it asks a silent server for a sign of life. */
  readonly health: boolean
  /** Whether its session outlives connections and the server program. */
  readonly durable: boolean
}

/** Who is to be where. */
export interface Plan {
  readonly places: readonly Place[]
  readonly hosts: number
  /** The server that nothing happens to. */
  readonly calmHost: number
  /** Servers whose sessions over HTTP are in files. */
  readonly durableHosts: ReadonlySet<number>
}

/** Child processes at most: each is a program of Node. */
const mostChildren = 24
const listening = [
  { type: 'http', era: 'handshake' },
  { type: 'http', era: 'auto' },
  { type: 'http', era: 'modern' },
  { type: 'sse', era: 'handshake' },
  { type: 'websocket', era: 'handshake' },
  { type: 'http', era: 'handshake' },
  { type: 'websocket', era: 'modern' },
] as const

/** Spreads clients over transports, eras and servers: an eighth on standard input, a few in memory and on a server of others, the rest on ours that listen. */
export function planOf(clients: number): Plan {
  const hosts = Math.max(2, Math.min(6, Math.ceil(clients / 30)))
  const children = Math.min(mostChildren, Math.ceil(clients / 8))
  const inside = Math.ceil(clients / 16)
  const others = Math.ceil(clients / 40)
  const durableHosts = new Set(Array.from({ length: hosts }, (_, i) => i).filter((i) => i % 2 === 1))
  const places: Place[] = []
  const add = (way: Way, era: EraOption = 'handshake'): void => {
    const number = places.length
    const durable = way.type === 'http' && era === 'handshake' && durableHosts.has(way.host)
    places.push({ name: `${way.type}-${number}`, way, era, health: number % 3 === 0, durable })
  }
  for (let i = 0; i < children; i++) {
    const style = i % 12 === 2 ? 'everything' : i % 6 === 1 ? 'raw' : 'own'
    const era = style === 'own' && i % 4 === 3 ? 'auto' : 'handshake'
    add({ type: 'stdio', number: i, style, calm: i % 8 === 0, fragile: true }, era)
  }
  for (let i = 0; i < inside; i++)
    add(
      { type: 'memory', style: 'own', calm: false, fragile: i % 4 === 0 },
      i % 2 === 0 ? 'handshake' : 'modern',
    )
  for (let i = 0; i < others; i++)
    add({ type: 'other', style: 'everything', calm: false, fragile: i % 4 === 0 })
  for (let i = 0; places.length < clients; i++) {
    const host = i % hosts
    const calm = host === 0
    const turn = Math.floor(i / hosts)
    const { type, era } = listening[(turn + host) % listening.length] ?? listening[0]
    const proxied = !calm && turn % 2 === 0
    add({ type, host, proxied, style: 'own', calm, fragile: !calm && turn % 8 === 3 }, era)
  }
  return { places, hosts, calmHost: 0, durableHosts }
}
