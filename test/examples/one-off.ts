import { http, withClient } from 'caduceus'

const url = process.argv[2] ?? 'http://127.0.0.1:3000/mcp'
const text = await withClient(
  { transport: http(url) },
  async (client) => (await client.callTool('count')).text,
)
console.log(text)
