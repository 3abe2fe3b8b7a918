import { defineServer, defineTool, startClient, subscribeClient } from 'caduceus'
import { memory } from 'caduceus/transports'
import { startServer, subscribeServer } from 'caduceus/server'

const undo = [
  subscribeClient('state', ({ client, phase }) => console.log(client, 'is', phase)),
  subscribeClient('request', ({ type, method }) => console.log('client:', type, method)),
  subscribeServer('request', ({ type, method }) => console.log('server:', type, method)),
]
const { serve, connect } = memory()
const hello = defineTool({ name: 'hello', run: () => 'hello' })
const server = await startServer(defineServer({ name: 'greeter', version: '1.0.0', tools: [hello] }), {
  transport: serve,
  logger: false,
})
const client = startClient({ name: 'watched', transport: connect })
await client.callTool('hello')
await client.close()
await server.stop()
for (const stop of undo) stop()
