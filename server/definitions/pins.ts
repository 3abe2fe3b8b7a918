/** A definition of a server behind a gateway, as its server tells it. */
export interface PinnedDefinition {
  /** `sha256-` and 43 characters: of the JSON of the definition, with its keys in order. */
  readonly digest: string
  /** The entry of a list, or the instructions: text of others. */
  readonly definition: unknown
}

/**
 * Where a gateway remembers definitions of the servers behind it (`pins`): a file, a table. What a definition
 * is of is `tool NAME`, `prompt NAME`, `resource URI`, `resourceTemplate TEMPLATE` or `instructions`, as its
 * server calls it.
 */
export interface Pins {
  /**
   * The digests that are accepted of a server, by what they are of. It is asked at each change, so it has to
   * be quick. While it throws, nothing of the server is offered.
   */
  of(server: string): ReadonlyMap<string, string>
  /**
   * Remembers definitions that were not there before. What is there already, also as another node has seen it
   * first, has to stay. Until this resolves, and if it rejects, the gateway remembers them by itself.
   */
  add(server: string, definitions: ReadonlyMap<string, PinnedDefinition>): void | Promise<void>
  /** Calls `fn` when anything was accepted, or added by others, until the returned function is called. */
  onChange(fn: () => void): () => void
  /** What has a definition accepted, for whoever reads a message: `caduceus trust NAME`. */
  howToAccept?(server: string): string
}

/** Whether definitions are remembered, and whether new ones have to be accepted, too. */
export type PinMode = boolean | 'strict'
