/** In the registry of its tree. */
export function clientActorName(name: string): string {
  return `client ${name}`
}

export function transportName(name: string): string {
  return `transport of client ${name}`
}
