import type { IncomingHttpHeaders } from 'node:http'
import type { ServerOfClient } from '../measure.js'

type Ask = (method: string, params: unknown) => Promise<Result>
type Result = { readonly content?: readonly { readonly text?: unknown }[] }

const hello = {
  protocolVersion: '2025-11-25',
  capabilities: {},
  clientInfo: { name: 'raw', version: '1.0.0' },
}
const plain = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }

/** The limit of a client: what Node's own primitives cost, written by hand. It knows no deadline, no limit and no error. */
export async function connectRaw(server: ServerOfClient): Promise<(text: string) => Promise<unknown>> {
  const ask = await ('url' in server ? overHttp(server.url) : overPipes(server))
  return async (text) => {
    const { content } = await ask('tools/call', { name: 'echo', arguments: { text } })
    return content?.[0]?.text
  }
}

async function overHttp(url: string): Promise<Ask> {
  const { Agent, request } = await import('node:http')
  const agent = new Agent({ keepAlive: true, maxSockets: 256 })
  const { hostname, port, pathname } = new URL(url)
  let last = 0
  const post = (own: Record<string, string>, body: string) =>
    new Promise<{ headers: IncomingHttpHeaders; body: string }>((resolve, reject) => {
      const headers = { ...own, 'content-length': Buffer.byteLength(body) }
      const options = { agent, host: hostname, port, path: pathname, method: 'POST', headers }
      const sent = request(options, (response) => {
        let text = ''
        response.setEncoding('utf8')
        response.on('data', (chunk) => {
          text += chunk
        })
        response.on('end', () => resolve({ headers: response.headers, body: text }))
      })
      sent.on('error', reject)
      sent.end(body)
    })
  const text = (method: string, params: unknown) =>
    JSON.stringify({ jsonrpc: '2.0', id: ++last, method, params })
  const opened = await post(plain, text('initialize', hello))
  const headers = {
    ...plain,
    'mcp-protocol-version': '2025-11-25',
    'mcp-session-id': String(opened.headers['mcp-session-id']),
  }
  await post(headers, JSON.stringify({ jsonrpc: '2.0', method: 'notifications/initialized' }))
  return async (method, params) => {
    const asked = text(method, params)
    const expected = last
    const { id, result } = JSON.parse((await post(headers, asked)).body) as { id: number; result: Result }
    if (id !== expected) throw new Error(`expected the answer to ${expected}, got one to ${id}`)
    return result
  }
}

async function overPipes({ command, args }: { command: string; args: readonly string[] }): Promise<Ask> {
  const { spawn } = await import('node:child_process')
  const child = spawn(command, args, { stdio: ['pipe', 'pipe', 'inherit'] })
  const waiting = new Map<number, (result: Result) => void>()
  let rest = ''
  let last = 0
  child.stdout.setEncoding('utf8')
  child.stdout.on('data', (chunk: string) => {
    const lines = `${rest}${chunk}`.split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines) {
      const { id, result } = JSON.parse(line) as { id: number; result: Result }
      waiting.get(id)?.(result)
      waiting.delete(id)
    }
  })
  const ask: Ask = (method, params) =>
    new Promise((resolve) => {
      const id = ++last
      waiting.set(id, resolve)
      child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id, method, params })}\n`)
    })
  await ask('initialize', hello)
  child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', method: 'notifications/initialized' })}\n`)
  return ask
}
