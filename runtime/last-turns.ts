import { setImmediate as turn } from 'node:timers/promises'

/** Resolves when nothing keeps Node alive any more: handles of what has ended (a process, a timer of its tree) are closed a turn or two of the event loop later. */
export async function lastTurns(): Promise<void> {
  await turn()
  await turn()
}
