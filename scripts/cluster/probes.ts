import { setTimeout as sleep } from 'node:timers/promises'

/** A request of a probe, and what came of it. */
export interface Probe {
  readonly name: string
  readonly era: 'session' | 'modern'
  /** Milliseconds by the pace of the machine. */
  readonly from: number
  readonly to: number
  /** Undefined: no answer came. */
  readonly status: number | undefined
  /** Whether the tool has answered. */
  readonly isServed: boolean
  /** What was answered instead. */
  readonly said: string
}

/** Milliseconds between two requests of one probe. */
const every = 200
/** Milliseconds that an answer may take. */
const patience = 20_000
const old = '2025-11-25'
const modern = '2026-07-28'

/** Asks as plainly as can be, several at once, again and again until `signal` aborts. */
export async function probe(
  url: string,
  count: number,
  now: () => number,
  onProbe: (probe: Probe) => void,
  signal: AbortSignal,
): Promise<void> {
  const run = async (number: number): Promise<void> => {
    const era = number % 4 === 3 ? 'modern' : 'session'
    const name = `probe-${number}`
    const session: { id: string | undefined } = { id: undefined }
    for (let turn = 0; !signal.aborted; turn++) {
      if (era === 'session' && session.id === undefined) session.id = await open(url)
      else {
        const token = `${name}-echo-${turn}`
        const from = now()
        const { status, text } = await post(url, ...call(token, session.id))
        const isServed = status === 200 && text.includes(token) && text.includes('"result"')
        onProbe({ name, era, from, to: now(), status, isServed, said: isServed ? '' : text.slice(0, 200) })
        if (status === 404) session.id = undefined
      }
      await sleep(every)
    }
    if (session.id !== undefined)
      await fetch(url, { method: 'DELETE', headers: { 'mcp-session-id': session.id } }).catch(() => {})
  }
  await Promise.all(Array.from({ length: count }, (_, number) => run(number)))
}

function call(token: string, session: string | undefined): [object, Record<string, string>] {
  const params = { name: 'echo', arguments: { token } }
  const request = { jsonrpc: '2.0', id: token, method: 'tools/call' }
  if (session !== undefined)
    return [
      { ...request, params },
      { 'mcp-session-id': session, 'mcp-protocol-version': old },
    ]
  const _meta = {
    'io.modelcontextprotocol/protocolVersion': modern,
    'io.modelcontextprotocol/clientCapabilities': {},
    'io.modelcontextprotocol/clientInfo': { name: 'probe', version: '1' },
  }
  return [
    { ...request, params: { ...params, _meta } },
    { 'mcp-protocol-version': modern, 'mcp-method': 'tools/call', 'mcp-name': 'echo' },
  ]
}

async function open(url: string): Promise<string | undefined> {
  const params = { protocolVersion: old, capabilities: {}, clientInfo: { name: 'probe', version: '1' } }
  const { status, session } = await post(url, { jsonrpc: '2.0', id: 1, method: 'initialize', params }, {})
  if (status !== 200 || session === undefined) return undefined
  const headers = { 'mcp-session-id': session, 'mcp-protocol-version': old }
  await post(url, { jsonrpc: '2.0', method: 'notifications/initialized' }, headers)
  return session
}

async function post(
  url: string,
  body: object,
  headers: Record<string, string>,
): Promise<{ status: number | undefined; text: string; session: string | undefined }> {
  try {
    const response = await fetch(url, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        ...headers,
      },
      body: JSON.stringify(body),
      signal: AbortSignal.timeout(patience),
    })
    const session = response.headers.get('mcp-session-id') ?? undefined
    return { status: response.status, text: await response.text(), session }
  } catch (error) {
    return { status: undefined, text: String(error), session: undefined }
  }
}
