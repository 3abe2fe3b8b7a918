import { createHash } from 'node:crypto'
import { createRandom, type Random } from '../../soak/random.js'

/**
 * Draws that depend on the seed and on what they are for alone: what one part of the simulation draws
 * changes nothing for the others.
 */
export function chanceOf(seed: number, purpose: string): Random {
  const digest = createHash('sha256').update(`${seed} ${purpose}`).digest()
  return createRandom(digest.readUInt32LE(0))
}

/** Whether something happens that does in `share` of all cases. */
export function happens(random: Random, share: number): boolean {
  return random.next() < share
}
