export type ServerNames = ReturnType<typeof namesOf>

/** The names that the processes of a server are registered under, in the registry of its tree. */
export function namesOf(server: string) {
  return Object.freeze({
    cluster: `${server}/cluster`,
    holdings: `${server}/holdings`,
    isolation: `${server}/isolation`,
    hooks: `${server}/hooks`,
    group: `${server}/group`,
    sessions: `${server}/sessions`,
    tasks: `${server}/tasks`,
    base: `${server}/base`,
    transport: `${server}/transport`,
    session: (id: string) => `${server}/session ${id}`,
  })
}
