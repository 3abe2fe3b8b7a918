import type { Immediate } from '../work.js'

const pong: Immediate = Object.freeze({ result: Object.freeze({}), text: '{}' })

/** Answers `ping` (specification: ping). */
export function ping(): Immediate {
  return pong
}
