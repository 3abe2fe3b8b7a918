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
 * 425, 429) is not waited for: CONNECT_FAILED. `(client: Client<typeof definition>) => ...` has the types of
 * a server.
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
  const refused = new Promise<never>((_, reject) => {
    client.onState(({ phase, reason }) => {
      if (phase === 'disconnected' && isRefusal(reason)) reject(failedError('ready', reason))
    })
  })
  return handled(refused)
}

function isRefusal(reason: Error | undefined): boolean {
  if (!(reason instanceof TransportError) || reason.code !== 'HTTP_STATUS') return false
  const { status } = reason.data as { readonly status: number }
  return status >= 400 && status < 500 && !passing.has(status)
}

/** Request Timeout, Too Early, Too Many Requests (RFC 9110, 8470, 6585): another attempt may succeed. */
const passing: ReadonlySet<number> = new Set([408, 425, 429])
