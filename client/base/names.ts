/** The name of a client's actor in the registry of its tree. */
export function clientActorName(name: string): string {
  return `client ${name}`
}

/** The name of a client's transport in the registry of its tree. */
export function transportName(name: string): string {
  return `transport of client ${name}`
}
