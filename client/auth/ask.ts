import { isObject, type JsonObject } from '../../protocol/wire/json.js'
import type { Clock } from '../../runtime/time/clock.js'
import { isLinkLocal, isPrivateHost, type LookupAll } from '../../transports/base/private-address.js'
import { type SafeAnswer, safeFetch } from '../../transports/http/outgoing/fetch.js'
import { ClientError } from '../base/errors.js'

/** Sends requests to addresses that a server has chosen. */
export type Asker = Awaited<ReturnType<typeof createAsker>>

interface AskerOptions {
  /** Only if it is in a private network may the addresses that it names be. */
  readonly server: URL
  /** Overrides that. */
  readonly privateNetwork: boolean | undefined
  /** In ms. */
  readonly timeout: number
  readonly signal: AbortSignal
  readonly clock: Clock
  readonly lookup?: LookupAll | undefined
}

/** For one renewal. */
export async function createAsker(options: AskerOptions) {
  const { server, timeout, signal, clock, lookup } = options
  const privateNetwork = options.privateNetwork ?? (await isPrivateHost(server.hostname, lookup))
  const common = { timeout, signal, clock, privateNetwork, ...(lookup === undefined ? {} : { lookup }) }
  return {
    /** Whether a person may be sent there: a browser dials all that it is shown. */
    mayShow: async ({ hostname }: URL): Promise<boolean> =>
      !isLinkLocal(hostname) && (privateNetwork || !(await isPrivateHost(hostname, lookup))),
    get: (url: string) => safeFetch(url, common),
    post: (url: string, type: string, body: string, headers: Readonly<Record<string, string>> = {}) =>
      safeFetch(url, { ...common, method: 'POST', body, headers: { ...headers, 'content-type': type } }),
  }
}

/** Throws AUTHORIZATION_FAILED, without a word of the answer; retryable if it should have been JSON. */
export function objectOf({ status, text, headers }: SafeAnswer, what: string): JsonObject {
  try {
    const value: unknown = JSON.parse(text)
    if (isObject(value)) return value
  } catch {
    // told below
  }
  // a page that is answered to everybody stays what it is, and torn JSON does not
  const retryable = /^application\/(?:[\w.-]+\+)?json\b/i.test(String(headers['content-type'] ?? ''))
  const details = { retryable, data: { status, sent: false } }
  throw new ClientError('AUTHORIZATION_FAILED', `${what}: expected a JSON object`, details)
}
