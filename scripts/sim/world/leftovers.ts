import { channel } from 'node:diagnostics_channel'

interface Contained {
  lastTree: number
  readonly trees: Set<object>
  uninstall(): void
}

type Listener = (message: unknown, name: string | symbol) => void

/**
 * What never stopped stays known to the process: trees, for strays of theirs, and who listens to their events.
 * The answer has the process forget those of this run.
 */
export function watchLeftovers(): () => void {
  const before = contained()
  const trees = new Set(before?.trees)
  const lastTree = before?.lastTree ?? 0
  // its number is part of what is told of a crash
  if (before !== undefined) before.lastTree = 0
  const listeners = new Set(channels.flatMap(listenersOf))
  return () => {
    for (const name of channels)
      for (const listener of listenersOf(name))
        if (!listeners.has(listener)) channel(name).unsubscribe(listener)
    const after = contained()
    if (after === undefined) return
    after.lastTree += lastTree
    if (after.trees.size === 0) return
    for (const tree of after.trees) if (!trees.has(tree)) after.trees.delete(tree)
    if (after.trees.size === 0) after.uninstall()
  }
}

const channels = [
  ...['crash', 'supervisor', 'progress', 'stray', 'notice', 'blocked'],
  ...['client.warning', 'client.log'],
].map((name) => `caduceus.${name}`)

function listenersOf(name: string): Listener[] {
  return [...((channel(name) as { _subscribers?: Listener[] })._subscribers ?? [])]
}

function contained(): Contained | undefined {
  return (globalThis as Record<symbol, unknown>)[Symbol.for('caduceus.containment.2')] as
    | Contained
    | undefined
}
