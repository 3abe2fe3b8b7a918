import type { BlockedEvent } from './events.js'

type Told = Pick<BlockedEvent, 'ms' | 'stack'> & {
  readonly owner: (Pick<BlockedEvent, 'ancestors' | 'serves'> & { readonly name: string }) | undefined
}

/** Says in one line for how long the loop was blocked, and by whom. */
export function blockedText({ ms, owner, stack }: Told): string {
  const start = `the event loop was blocked for ${ms} ms`
  if (owner === undefined) return stack.length === 0 ? start : `${start} by code that belongs to no process`
  const { name, ancestors, serves } = owner
  const id = serves === undefined ? '' : ` (id ${JSON.stringify(serves)})`
  return `${start} by ${[`${name}${id}`, ...ancestors].join(' < ')}`
}
