// A program with clients on stdio: prints the pids of what it started, and ends when it is told how.
//   node _host.js <raw-server.mjs> <number of clients> [arguments of the raw server ...]
import { startClient } from 'caduceus/client'
import { stdio } from 'caduceus/transports'

const [server = '', count = '1', ...args] = process.argv.slice(2)
const pids: number[] = []
for (let i = 0; i < Number(count); i++) {
  const transport = stdio({ command: process.execPath, args: [server, ...args] })
  const client = startClient({ transport, name: `client ${i}`, logger: false })
  pids.push(Number((await client.callTool('pid')).text))
  if (args.length > 0) pids.push(Number((await client.callTool('grandchild')).text))
}
process.on('warning', ({ name }) => process.stdout.write(`${JSON.stringify({ warning: name })}\n`))
process.stdout.write(`${JSON.stringify({ pids })}\n`)
process.stdin.once('data', (how) => {
  if (how.toString() === 'exit') process.exit(5)
})
