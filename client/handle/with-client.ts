import { handled } from '../../runtime/base/promise.js'
import { TransportError } from '../../transports/base/errors.js'
import type { Client } from './client.js'
import { startClient } from './supervisor.js'
import { failedError } from '../base/errors.js'
import type { StartClientOptions } from '../options/options.js'
import { readFunction } from '../base/read-options.js'

/**
 * Calls `fn` with a ready client, and always closes it: no process, socket or timer is left. Resolves with
 * the result of `fn`; rejects with its error, or as `ready()`. A server that refuses it (HTTP 4xx but 408,
 * 425, 429), or is broken (three times 500 in a row), is not waited for: CONNECT_FAILED. `(client:
 * Client<typeof definition>) => ...` has the types of a server.
 */
export async function withClient<T, Served = unknown>(
  options: StartClientOptions,
  fn: (client: Client<Served>) => T | Promise<T>,
): Promise<T> {
  readFunction(fn, 'fn')
  const client = startClient<Served>(options)
  try {
    await Promise.race([client.ready(), whenRefused(client)])
    return await fn(client)
  } finally {
    await client.close()
  }
}

/** A lasting client tries again, since the server may be mended; one task does not wait. */
function whenRefused(client: Client): Promise<never> {
  let failures = 0
  const refused = new Promise<never>((_, reject) => {
    client.onState(({ phase, reason }) => {
      if (phase !== 'disconnected') return
      const status = statusOf(reason)
      failures = status === 500 ? failures + 1 : 0
      if (isRefusal(status) || failures === maxFailures) reject(failedError('ready', reason))
    })
  })
  return handled(refused)
}

function statusOf(reason: Error | undefined): number {
  if (!(reason instanceof TransportError) || reason.code !== 'HTTP_STATUS') return 0
  return (reason.data as { readonly status: number }).status
}

function isRefusal(status: number): boolean {
  return status >= 400 && status < 500 && !passing.has(status)
}

/** Internal Server Error in a row: the server is there, and a deploy that is under way says 502 or 503. */
const maxFailures = 3

/** Request Timeout, Too Early, Too Many Requests (RFC 9110, 8470, 6585): another attempt may succeed. */
const passing: ReadonlySet<number> = new Set([408, 425, 429])
