import { memory, startClient, startServer, defineServer, defineTool } from 'caduceus'
import { scriptedClient, scriptedServer } from 'caduceus/testing'

// a client of yours against a server that answers what the test wants
const rude = scriptedServer({ 'tools/call': () => ({ content: 'no array' }) })
const client = startClient({ transport: rude.transport, logger: false })
console.log(await client.callTool('any').catch(({ code }: { code: string }) => code))
await client.close()

// a server of yours against a client that sends what the test wants
const hello = defineTool({ name: 'hello', run: () => 'hello' })
const { serve, connect } = memory()
const server = await startServer(defineServer({ name: 'greeter', version: '1.0.0', tools: [hello] }), {
  transport: serve,
  logger: false,
})
const odd = await scriptedClient(connect, { 'roots/list': { roots: [] } })
await odd.initialize()
console.log(
  JSON.stringify(await odd.request('tools/call', { name: 7 }).catch(({ message }: Error) => message)),
)
await odd.close()
await server.stop()
