import { startClients } from 'caduceus'

// as hosts have it in their files; `variables` fills in ${NAME}
// biome-ignore lint/suspicious/noTemplateCurlyInString: the library reads it
const path = '${MODULES}/server-memory/dist/index.js'
const configuration = {
  mcpServers: {
    memory: { command: 'node', args: [path] },
    gone: { url: 'http://127.0.0.1:1/mcp' },
  },
}
const clients = await startClients(configuration, {
  variables: { MODULES: 'node_modules/@modelcontextprotocol' },
  required: ['memory'], // the start waits for it; the others come when they can
  logger: false,
})
console.log(clients.get('memory').server?.info.name, clients.get('gone').state.phase !== 'ready')
const { tools } = await clients.get('memory').listTools()
console.log(tools.some(({ name }) => name === 'read_graph'))
await clients.remove('gone')
console.log([...clients.names].join(', '))
await clients.close()
