import { gateway, serveHttp, startClients, startServer } from 'caduceus'

const servers = {
  files: { command: 'npx', args: ['@modelcontextprotocol/server-filesystem', process.cwd()] },
  memory: { command: 'npx', args: ['@modelcontextprotocol/server-memory'] },
}
const clients = await startClients(servers, { required: 'all' }) // once both are there
const { url } = await startServer(gateway(clients), {
  transport: serveHttp({ port: Number(process.env.PORT ?? 3000) }),
})
console.log(url) // one server, with files__list_directory, memory__read_graph and all others
