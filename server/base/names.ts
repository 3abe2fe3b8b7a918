export type ServerNames = ReturnType<typeof namesOf>

/** The names that the processes of a server are registered under, in the registry of its tree. */
export function namesOf(server: string) {
  return Object.freeze({
    cluster: `${server}/cluster`,
    holdings: `${server}/holdings`,
    isolation: `${server}/isolation`,
    hooks: `${server}/hooks`,
    gateway: `${server}/gateway`,
    mcpTasks: `${server}/mcp-tasks`,
    ledger: `${server}/mcp-tasks/ledger`,
    taskRuns: `${server}/mcp-tasks/runs`,
    liveTasks: `${server}/mcp-tasks/live`,
    group: `${server}/group`,
    sessions: `${server}/sessions`,
    tasks: `${server}/tasks`,
    base: `${server}/base`,
    transport: `${server}/transport`,
    mcpTask: (id: string) => `${server}/mcp-task ${id}`,
    session: (id: string) => `${server}/session ${id}`,
  })
}
