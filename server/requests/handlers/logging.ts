import type { Params } from '../../../protocol/messages/methods.js'
import { keep, type Work } from '../work.js'

/**
 * Plans `logging/setLevel`: from now on this session is told of this level and above (specification:
 * logging).
 */
export function setLevel({ level }: Params<'logging/setLevel'>): Work {
  return keep('logging/setLevel', (wishes) => wishes.setLogLevel(level))
}
