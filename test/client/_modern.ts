import { metaKeys } from 'caduceus/protocol'
import { isObject } from '../support/is-object.js'
import { json, result, type Seen, status, stream } from '../transports/_http.js'

/** The revision without sessions. */
export const modern = '2026-07-28'

/** What a modern server has to offer, unless a test says otherwise. */
export const capabilities = {
  tools: { listChanged: true },
  resources: { subscribe: true, listChanged: true },
  prompts: { listChanged: true },
  logging: {},
  completions: {},
}

/** Answers `server/discover` as a server of 2026-07-28 does. */
export function discover(seen: Seen, offered: object = capabilities): void {
  const _meta = { [metaKeys.serverInfo]: { name: 'modern', version: '3' } }
  json(seen, result(seen, { supportedVersions: [modern], capabilities: offered, ...complete, _meta }))
}

/** What every complete answer that may be kept has. */
export const complete = { resultType: 'complete', ttlMs: 0, cacheScope: 'private' }

/** A server of 2026-07-28: `rest` answers everything but `server/discover`; a notification is taken. */
export function stateless(rest: (seen: Seen) => unknown = () => {}): (seen: Seen) => unknown {
  return (seen) => {
    if (seen.method !== 'POST') return status(seen, 405)
    if (seen.message.method === 'server/discover') return discover(seen)
    return seen.message.id === undefined ? status(seen, 202) : rest(seen)
  }
}

/** Answers with the result of a tool. */
export function tool(seen: Seen, text: string, more: object = {}): void {
  json(seen, result(seen, { resultType: 'complete', content: [{ type: 'text', text }], ...more }))
}

/** Answers with a JSON-RPC error. */
export function refuse(seen: Seen, code: number, statusCode = 400, data?: object): void {
  json(
    seen,
    { jsonrpc: '2.0', id: seen.message.id, error: { code, message: `error ${code}`, data } },
    statusCode,
  )
}

/** The stream of a `subscriptions/listen`: acknowledges what was asked, and tells what the test says. */
export function listening(seen: Seen) {
  const response = stream(seen)
  const { id, params } = seen.message
  const own = { [metaKeys.subscriptionId]: id }
  const tell = (method: string, more: object = {}): void => {
    const message = { jsonrpc: '2.0', method, params: { ...more, _meta: own } }
    response.write(`data: ${JSON.stringify(message)}\n\n`)
  }
  const notifications = isObject(params?.notifications) ? params.notifications : {}
  return {
    acknowledge: (honoured: object = notifications) =>
      tell('notifications/subscriptions/acknowledged', { notifications: honoured }),
    tell,
    response,
    /** Ends it in order, with the result. */
    end: () => {
      const answer = { jsonrpc: '2.0', id, result: { resultType: 'complete', _meta: own } }
      response.end(`data: ${JSON.stringify(answer)}\n\n`)
    },
    /** Ends it with an error. */
    fail: (data?: object) => {
      const error = { code: -32603, message: 'not now', ...(data !== undefined && { data }) }
      response.end(`data: ${JSON.stringify({ jsonrpc: '2.0', id, error })}\n\n`)
    },
    filter: notifications,
  }
}
