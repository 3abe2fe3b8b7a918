import { handled } from '../../runtime/base/promise.js'
import { TransportError } from '../../transports/base/errors.js'
import type { Client } from './client.js'
import { startClient } from './supervisor.js'
import { failedError } from '../base/errors.js'
import type { StartClientOptions } from '../options/options.js'
import { readFunction } from '../base/read-options.js'

/**
 * Starts a client, waits until it is ready, gives it to `fn`, and closes it whatever happens: afterwards no
 * process, socket or timer of it is left. Resolves with what `fn` answers; rejects with what it throws, or
 * with what `ready()` rejects with. A server that is not there is waited for as long as `ready()` does; one
 * that refuses to be connected to (HTTP 4xx, but for 408, 425 and 429) is not: CONNECT_FAILED.
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

/**
 * A client that stays tries on, since somebody may mend the server; for one task there is nobody who would.
 */
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

/**
 * Statuses that another attempt may mend: Request Timeout, Too Early, Too Many Requests (RFC 9110, 8470,
 * 6585).
 */
const passing: ReadonlySet<number> = new Set([408, 425, 429])
