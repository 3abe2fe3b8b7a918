import { createHash } from 'node:crypto'

/** What the server does at once, in Lua. */
export interface RedisScript {
  readonly text: string
  /** What the server knows it by. */
  readonly sha: string
}

/** A script from its text. */
export function redisScript(text: string): RedisScript {
  return Object.freeze({ text, sha: createHash('sha1').update(text).digest('hex') })
}
