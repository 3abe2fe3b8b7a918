import { isObject, type JsonObject } from '../../protocol/wire/json.js'
import { isPrivateHost, type LookupAll } from '../../transports/base/private-address.js'
import { type SafeAnswer, safeFetch } from '../../transports/http/outgoing/fetch.js'
import { authFailed } from './failure.js'

/** Asks the addresses that a server, and those it names, have chosen. */
export interface Asker {
  get(url: string): Promise<SafeAnswer>
  post(
    url: string,
    type: string,
    body: string,
    headers?: Readonly<Record<string, string>>,
  ): Promise<SafeAnswer>
}

/** How far may be asked. */
export interface AskerOptions {
  /** The MCP server: where it is one of this machine or network, what it names may be. */
  readonly server: URL
  /** Says so regardless of the server. */
  readonly privateNetwork: boolean | undefined
  readonly timeout: number
  readonly signal: AbortSignal
  readonly lookup?: LookupAll | undefined
}

/** Makes one for a renewal of tokens. */
export async function createAsker(options: AskerOptions): Promise<Asker> {
  const { server, timeout, signal, lookup } = options
  const privateNetwork = options.privateNetwork ?? (await isPrivateHost(server.hostname, lookup))
  const common = { timeout, signal, privateNetwork, ...(lookup === undefined ? {} : { lookup }) }
  return {
    get: (url) => safeFetch(url, common),
    post: (url, type, body, headers = {}) =>
      safeFetch(url, { ...common, method: 'POST', body, headers: { ...headers, 'content-type': type } }),
  }
}

/** The object in an answer; throws AUTHORIZATION_FAILED, and never repeats what came. */
export function objectOf({ text }: SafeAnswer, what: string): JsonObject {
  try {
    const value: unknown = JSON.parse(text)
    if (isObject(value)) return value
  } catch {
    // told below
  }
  throw authFailed(`${what}: expected a JSON object`)
}
