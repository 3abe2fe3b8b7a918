import { fileAuthStorage, http, loopbackSignIn, oauth, startClient } from 'caduceus'

const auth = oauth({ signIn: loopbackSignIn(), storage: fileAuthStorage('/var/lib/agent/tokens') })
const client = startClient({ transport: http('https://mcp.example.com/mcp', { auth }) })

console.log((await client.listTools()).tools)
await client.close()
await auth.close()
