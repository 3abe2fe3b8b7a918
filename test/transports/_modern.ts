import { buildError, buildResult, errorCodes, type JsonRpcRequest, type RequestId } from 'caduceus/protocol'
import type { ExchangeAnswer, ExchangeCall, Services } from '../support/ports.js'
import { type Heard, heard } from '../support/heard.js'

/** The revision that these tests speak. */
export const modern = '2026-07-28'

const version = 'io.modelcontextprotocol/protocolVersion'
const capabilities = 'io.modelcontextprotocol/clientCapabilities'

/** An envelope; an undefined key is left out. */
export function envelope(changes: Readonly<Record<string, unknown>> = {}): Record<string, unknown> {
  return { [version]: modern, [capabilities]: {}, ...changes }
}

/** An envelope without one of the keys that have to be there. */
export const without = {
  version: envelope({ [version]: undefined }),
  capabilities: envelope({ [capabilities]: undefined }),
}

/** An envelope in another revision. */
export const inRevision = (revision: unknown) => envelope({ [version]: revision })

/** A request of 2026-07-28. */
export function request(
  id: RequestId,
  method: string,
  params: object = {},
  meta: object = envelope(),
): JsonRpcRequest {
  return { jsonrpc: '2.0', id, method, params: { ...params, _meta: meta } } as JsonRpcRequest
}

/** The headers that a good client sends with a request; those of sessions are left out. */
export function headersOf({ method, params }: JsonRpcRequest): Record<string, string | undefined> {
  const { name, uri } = (params ?? {}) as { name?: string; uri?: string }
  return {
    'mcp-session-id': undefined,
    'mcp-protocol-version': modern,
    'mcp-method': method,
    'mcp-name': name ?? uri,
  }
}

/** One request that a server port was given, to be worked on by the test. */
export type Exchanging = {
  readonly call: ExchangeCall
  /** Resolves once the client is known to be gone. */
  readonly aborted: Promise<void>
  answer(result?: object): void
  /** Answers with an error, found before any handler ran, or by one. */
  fail(code: number, refused: boolean): void
  /** As it is answered when it was cancelled. */
  drop(): void
}

/** A server that leaves every exchange to the test; it counts how often subscriptions were to be ended. */
export function exchanging(): {
  readonly port: Partial<Services>
  readonly calls: Heard<Exchanging>
  readonly ends: Heard<'end'>
} {
  const calls = heard<Exchanging>()
  const ends = heard<'end'>()
  const exchange = (call: ExchangeCall): Promise<ExchangeAnswer> =>
    new Promise((resolve) => {
      const { id } = call.request
      calls.add({
        call,
        aborted: new Promise((gone) => call.signal.addEventListener('abort', () => gone(), { once: true })),
        answer: (result = {}) => resolve({ response: buildResult(id, { ...result }), refused: false }),
        fail: (code, refused) => resolve({ response: buildError(id, { code, message: 'no' }), refused }),
        drop: () => resolve({ response: undefined, refused: false }),
      })
    })
  return { port: { exchange, endSubscriptions: () => ends.add('end') }, calls, ends }
}

/** A server that answers with the method, and refuses methods that begin with `no`, as the ladder has it. */
export const answering: Partial<Services> = {
  async exchange({ request: { id, method } }) {
    if (method.startsWith('no') || method === 'initialize')
      return { response: buildError(id, { code: errorCodes.methodNotFound, message: 'no' }), refused: true }
    return { response: buildResult(id, { method }), refused: false }
  },
}
