import { handled } from '../../runtime/base/promise.js'
import { TransportError } from '../../transports/base/errors.js'
import type { Client } from './client.js'
import { startClient } from './supervisor.js'
import { failedError } from '../base/errors.js'
import type { StartClientOptions } from '../options/options.js'
import { readFunction } from '../base/read-options.js'

/**
 * Starts a client, waits until it is ready, calls `fn` with it, and closes it whatever happens. No process,
 * socket or timer of it is left. Resolves with the result of `fn`; rejects with its error, or as `ready()`
 * does. It waits for a server that is not there (`timeout`), but not for one that refuses it (HTTP 4xx but
 * 408, 425, 429): CONNECT_FAILED.
 */
export async function withClient<T>(
  options: StartClientOptions,
  fn: (client: Client) => T | Promise<T>,
): Promise<T> {
  readFunction(fn, 'fn')
  const client = startClient(options)
  try {
    await Promise.race([client.ready(), whenRefused(client)])
    return await fn(client)
  } finally {
    await client.close()
  }
}

/** A client that stays connects again, since the server may be mended; one task does not wait for that. */
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
