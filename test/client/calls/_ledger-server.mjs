// A server on standard input and output that writes each call into a file before it fares as its caller says, attempt by attempt.
//   node _ledger-server.mjs FILE; tools/call { arguments: { key, fates: ['answered' | 'dies' | 'silent' | 'leaves', ...] } }
import { appendFileSync, readFileSync } from 'node:fs'

const [, , file] = process.argv
let unfinished = ''
process.stdin.setEncoding('utf8')
process.stdin.on('data', (chunk) => {
  const lines = (unfinished + chunk).split('\n')
  unfinished = lines.pop()
  for (const line of lines) take(JSON.parse(line))
})
process.stdin.on('end', () => process.exit(0))

function take({ id, method, params }) {
  if (method === 'initialize') {
    const serverInfo = { name: 'ledger', version: '1' }
    return answer(id, {
      protocolVersion: '2025-11-25',
      capabilities: { tools: {} },
      serverInfo,
    })
  }
  if (method !== 'tools/call') return
  const { key, fates } = params.arguments
  const times = readFileSync(file, 'utf8')
    .split('\n')
    .filter((line) => line === key).length
  appendFileSync(file, `${key}\n`)
  const fate = fates[Math.min(times, fates.length - 1)]
  if (fate === 'answered') answer(id, { content: [] })
  else if (fate === 'dies') process.kill(process.pid, 'SIGKILL')
  else if (fate === 'leaves') process.exit(3)
}

function answer(id, result) {
  process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', id, result })}\n`)
}
