/** The names that the processes of one server are registered under, in the registry of its tree. */
export interface ServerNames {
  readonly holdings: string
  readonly hooks: string
  readonly group: string
  readonly sessions: string
  readonly tasks: string
  readonly base: string
  readonly transport: string
  session(id: string): string
}

/** The names for a server called `server`. */
export function namesOf(server: string): ServerNames {
  return Object.freeze({
    holdings: `${server}/holdings`,
    hooks: `${server}/hooks`,
    group: `${server}/group`,
    sessions: `${server}/sessions`,
    tasks: `${server}/tasks`,
    base: `${server}/base`,
    transport: `${server}/transport`,
    session: (id: string) => `${server}/session ${id}`,
  })
}
