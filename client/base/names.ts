/** The name that the actor of a client has in the registry of its tree. */
export function clientActorName(name: string): string {
  return `client ${name}`
}

/** The name that the transport of a client has in the registry of its tree. */
export function transportName(name: string): string {
  return `transport of client ${name}`
}
