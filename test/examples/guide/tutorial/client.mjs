import { http, startClient } from 'caduceus'

const client = startClient({ transport: http(process.argv[2] ?? 'http://127.0.0.1:3000/mcp') })
try {
  console.log((await client.callTool('add', { note: 'buy tea' })).text)
  console.log((await client.callTool('add', { note: '' })).text)
  for (const how of ['politely', 'with a bug', 'on the side', 'never ends'])
    console.log((await client.callTool('break', { how })).text)
  console.log((await client.callTool('add', { note: 'buy milk' })).text)
} finally {
  await client.close()
}
