import { createHash } from 'node:crypto'

/** A script in Lua, which the server runs atomically. */
export interface RedisScript {
  readonly text: string
  /** Its SHA-1, by which the server knows it. */
  readonly sha: string
}

export function redisScript(text: string): RedisScript {
  return Object.freeze({ text, sha: createHash('sha1').update(text).digest('hex') })
}
