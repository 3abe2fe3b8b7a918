import type { Clock } from '../../runtime/time/clock.js'
import { pause } from '../../runtime/time/wait.js'
import type { World } from '../../runtime/time/world.js'

/** How often a record is changed that others change, too, and the ms before the next try, at most. */
const mostTries = 20
const shortestPause = 20
const longestPause = 750

/** What decides how long somebody waits. */
export type Pauses = Clock & Pick<World, 'random'>

/**
 * Changes a record that others change, too. Of many at one moment one gets through each time: the others wait for
 * longer and longer, by chance, so that fewer meet; 10 s at most. False: it was in vain.
 */
export async function tryInTurn(world: Pauses, change: () => Promise<boolean>): Promise<boolean> {
  for (let tries = 0; tries < mostTries; tries += 1) {
    if (await change()) return true
    await pause(world.random() * Math.min(longestPause, shortestPause * 1.5 ** tries), world)
  }
  return false
}
