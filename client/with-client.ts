import type { Client } from './client.js'
import { startClient } from './client-supervisor.js'
import type { StartClientOptions } from './options.js'
import { readFunction } from './read-options.js'

/**
 * Starts a client, waits until it is ready, gives it to `fn`, and closes it whatever happens: afterwards no process, socket or timer
 * of it is left. Resolves with what `fn` answers; rejects with what it throws, or with what `ready()` rejects with.
 */
export async function withClient<T>(
  options: StartClientOptions,
  fn: (client: Client) => T | Promise<T>,
): Promise<T> {
  readFunction(fn, 'fn')
  const client = startClient(options)
  try {
    await client.ready()
    return await fn(client)
  } finally {
    await client.close()
  }
}
