import type { Client } from 'caduceus'

/** Who answers: our server (`official`: to a client of others), the raw one of the tests, or server-everything. */
export type Style = 'own' | 'official' | 'raw' | 'everything'

/** One client of the soak. */
export interface Member {
  readonly name: string
  readonly client: Client
  readonly style: Style
  readonly era: 'session' | 'modern'
  /** Whether its session outlives connections and the server program. */
  readonly durable: boolean
  /** Changes of its own resource that it was told of. */
  updates: number
}

/** What a member subscribes to. */
export function ownUri(name: string): string {
  return `soak://own/${name}`
}
