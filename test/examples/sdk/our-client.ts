import { startClient, stdio } from 'caduceus'

const [command = 'node', ...args] = process.argv.slice(2)
const client = startClient({ name: 'example', transport: stdio({ command, args }) })

console.log((await client.callTool('count')).text)
await client.callTool('die').catch(() => console.log('the server has gone'))
console.log((await client.callTool('count')).text)
await client.close()
