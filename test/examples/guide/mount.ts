import { defineServer, defineTool, mount, startServer } from 'caduceus'

const whoami = defineTool({ name: 'whoami', run: (_args, ctx) => `you are ${ctx.user}` })
const mcp = mount()
await using _server = await startServer(defineServer({ name: 'app', version: '1.0.0', tools: [whoami] }), {
  transport: mcp,
  logger: false,
})

// `fetch` takes a Request and gives a Response: for Hono, Next.js, Remix, Bun.serve, Deno.serve
const request = new Request('http://127.0.0.1/mcp', {
  method: 'POST',
  headers: {
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
    'mcp-protocol-version': '2026-07-28',
    'mcp-method': 'tools/call',
    'mcp-name': 'whoami',
  },
  body: JSON.stringify({
    jsonrpc: '2.0',
    id: 1,
    method: 'tools/call',
    params: {
      name: 'whoami',
      _meta: {
        'io.modelcontextprotocol/protocolVersion': '2026-07-28',
        'io.modelcontextprotocol/clientInfo': { name: 'curl', version: '8' },
        'io.modelcontextprotocol/clientCapabilities': {},
      },
    },
  }),
})
const response = await mcp.fetch(request, { assigns: { user: 'ada' } })
console.log(response.status, (await response.text()).includes('you are ada'))
