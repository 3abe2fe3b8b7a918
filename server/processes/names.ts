/** The names of the processes below the supervisor of several processes. */
export function processNames(server: string) {
  return Object.freeze({
    door: `${server}/door`,
    tasks: `${server}/tasks`,
    engine: `${server}/engine`,
    nodes: `${server}/nodes`,
    node: (name: string) => `${server}/nodes/${name}`,
    keeper: `${server}/keeper`,
  })
}
