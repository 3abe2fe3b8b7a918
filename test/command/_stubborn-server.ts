// A server that leaves a mark once it has ended in order, some time after it was asked to; with `--stays`
// nothing that can be heard ends it.
import { writeFileSync } from 'node:fs'
import { createInterface } from 'node:readline'

const [folder = '.', how] = process.argv.slice(2)
const signals = ['SIGTERM', 'SIGINT', 'SIGHUP'] as const
const say = (message: object): void =>
  void process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)

interface Incoming {
  readonly id?: number
  readonly method?: string
  readonly params?: { readonly protocolVersion?: string }
}

function take({ id, method, params }: Incoming): void {
  if (id === undefined) return
  if (method === 'initialize')
    say({
      id,
      result: {
        protocolVersion: params?.protocolVersion,
        capabilities: { tools: {} },
        serverInfo: { name: 'stubborn', version: '1.0.0' },
      },
    })
  else if (method === 'tools/list')
    say({ id, result: { tools: [{ name: 'pid', inputSchema: { type: 'object' } }] } })
  else if (method === 'tools/call')
    say({ id, result: { content: [{ type: 'text', text: String(process.pid) }] } })
  else say({ id, error: { code: -32601, message: 'Method not found' } })
}

function end(): void {
  if (how === '--stays') return
  setTimeout(() => {
    writeFileSync(`${folder}/ended`, 'in order')
    process.exit(0)
  }, 500)
}

for (const signal of signals) process.on(signal, end)
setInterval(() => {}, 1e6)
createInterface({ input: process.stdin })
  .on('line', (line) => take(JSON.parse(line) as Incoming))
  .on('close', end)
