// A server whose tools are what a file says, by now: argv[2]. It is no program of the library.
import { readFileSync, watch } from 'node:fs'
import { dirname } from 'node:path'
import { createInterface } from 'node:readline'

const [, , file] = process.argv
const send = (message) => process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
const answers = {
  initialize: ({ protocolVersion }) => ({
    protocolVersion,
    capabilities: { tools: { listChanged: true } },
    serverInfo: { name: 'changing', version: '1.0.0' },
  }),
  ping: () => ({}),
  'tools/list': () => ({ tools: JSON.parse(readFileSync(file, 'utf8')) }),
  'tools/call': ({ name }) => ({ content: [{ type: 'text', text: `called ${name}` }] }),
}
createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params } = JSON.parse(line)
  if (id === undefined) return
  const answer = answers[method]
  if (answer === undefined) return send({ id, error: { code: -32601, message: 'Method not found' } })
  return send({ id, result: answer(params ?? {}) })
})
process.stdin.on('end', () => process.exit())
watch(dirname(file), () => send({ method: 'notifications/tools/list_changed' }))
