import type { Immediate } from '../../catalog/immediate.js'

const pong: Immediate = Object.freeze({ result: Object.freeze({}), text: '{}' })

/** Answers `ping` (specification: ping). */
export function ping(): Immediate {
  return pong
}
