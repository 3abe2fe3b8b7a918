/** What is said, and said again: 100 bytes. */
export const echoed = 'a'.repeat(100)

/** The messages that open a session, as JSON. */
export const initialize = JSON.stringify({
  jsonrpc: '2.0',
  id: 'open',
  method: 'initialize',
  params: {
    protocolVersion: '2025-11-25',
    capabilities: {},
    clientInfo: { name: 'bench', version: '1.0.0' },
  },
})
export const initialized = JSON.stringify({ jsonrpc: '2.0', method: 'notifications/initialized' })

const callParams = JSON.stringify({ name: 'echo', arguments: { text: echoed } })

/** A call of `echo` with 100 bytes, as JSON. */
export function echoCall(id: number): string {
  return `{"jsonrpc":"2.0","id":${id},"method":"tools/call","params":${callParams}}`
}

const modernParams = JSON.stringify({
  name: 'echo',
  arguments: { text: echoed },
  _meta: {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientInfo': { name: 'bench', version: '1.0.0' },
    'io.modelcontextprotocol/clientCapabilities': {},
  },
})

/** The same in 2026-07-28, which says everything in each request. */
export function modernEchoCall(id: number): string {
  return `{"jsonrpc":"2.0","id":${id},"method":"tools/call","params":${modernParams}}`
}

/** A message of the server, as far as it matters here. */
export interface Answer {
  readonly id?: unknown
  readonly method?: unknown
  readonly result?: {
    readonly protocolVersion?: unknown
    readonly resultType?: unknown
    readonly content?: readonly { readonly text?: unknown }[]
  }
}

/** Throws unless this is the answer to that call of `echo`. */
export function checkEcho(answer: Answer, id: number): void {
  if (answer.id !== id || answer.result?.content?.[0]?.text !== echoed)
    throw new Error(`call ${id} of echo: got ${JSON.stringify(answer).slice(0, 300)}`)
}

/** The same for 2026-07-28. */
export function checkModernEcho(answer: Answer, id: number): void {
  checkEcho(answer, id)
  if (answer.result?.resultType !== 'complete')
    throw new Error(`call ${id} of echo: got ${JSON.stringify(answer).slice(0, 300)}`)
}

/** Throws unless this answers `initialize` with the revision that was asked for. */
export function checkInitialize(answer: Answer): void {
  if (answer.id !== 'open' || answer.result?.protocolVersion !== '2025-11-25')
    throw new Error(`initialize: got ${JSON.stringify(answer).slice(0, 300)}`)
}
