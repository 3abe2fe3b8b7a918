import { isObject, type JsonObject } from '../../protocol/wire/json.js'
import { outside } from '../../runtime/faults/containment.js'
import { messageOf } from '../../runtime/base/errors.js'
import { TransportError } from '../base/errors.js'
import {
  discard,
  type HttpDispatchers,
  type HttpRequest,
  loadUndici,
  openDispatchers,
  readText,
} from '../http/outgoing/dispatcher.js'

const maxBytes = 1024 * 1024

/** What is asked of an authorization server. */
export interface JsonRequest extends Partial<Pick<HttpRequest, 'method' | 'headers' | 'body'>> {
  /** Milliseconds until the whole answer has to be there. */
  readonly timeout: number
}

/** Loads what `fetchJson` needs, which it does itself otherwise. */
export async function prepareFetch(): Promise<void> {
  await loadUndici()
}

/**
 * A JSON object of an authorization server, on a connection of its own; no redirect is followed. Rejects with
 * TransportError AUTHORIZATION_UNAVAILABLE, which names the address without its query.
 */
export function fetchJson(address: string, request: JsonRequest): Promise<JsonObject> {
  // what is fetched is for all, not for the request that needed it first
  return outside(async () => {
    const { origin, pathname, search } = new URL(address)
    const { timeout, method = 'GET', headers = {}, ...rest } = request
    let dispatchers: HttpDispatchers | undefined
    try {
      dispatchers = await openDispatchers(origin, { connections: 1, connectTimeout: timeout })
      const answer = await dispatchers.send({
        method,
        path: pathname + search,
        headers: { accept: 'application/json', ...headers },
        signal: AbortSignal.timeout(timeout),
        ...rest,
      })
      if (answer.status === 200) return readObject(await readText(answer.body, maxBytes))
      discard(answer)
      throw new Error(`status ${answer.status}`)
    } catch (cause) {
      const message = `${origin}${pathname}: ${messageOf(cause)}`
      throw new TransportError('AUTHORIZATION_UNAVAILABLE', message, { cause, retryable: true })
    } finally {
      await dispatchers?.destroy()
    }
  })
}

function readObject(text: string): JsonObject {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    // what came may be anything, and is not repeated
  }
  if (isObject(value)) return value
  throw new Error('expected a JSON object')
}
