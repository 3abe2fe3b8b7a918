import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'

const [command, ...args] = process.argv.slice(2)
let client = await connect()

async function connect() {
  const fresh = new Client({ name: 'example', version: '1.0.0' })
  await fresh.connect(new StdioClientTransport({ command, args }))
  fresh.onclose = () => {
    client = undefined
  }
  return fresh
}

async function callTool(name) {
  client ??= await connect() // the server may have gone since the last call
  return client.callTool({ name })
}

console.log((await callTool('count')).content[0].text)
await callTool('die').catch(() => console.log('the server has gone'))
console.log((await callTool('count')).content[0].text)
await client.close()
