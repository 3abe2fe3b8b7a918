/** What a server of the soak is told to do: let the groups of its listeners crash, end all sessions, count its sockets, stop in order,
 * or take the time of day to be later or earlier than it is. */
export type HostCommand = 'crash' | 'forget' | 'count' | 'stop' | 'later' | 'earlier'

/** What it tells. */
export type HostNews =
  | { readonly type: 'up'; readonly urls: readonly string[] }
  | { readonly type: 'count'; readonly sockets: number }
