import { defineServer, defineTool, startServer } from 'caduceus/server'
import { serveHttp } from 'caduceus/transports'

// a server that adds or removes a tool when it is told to, and says what the news cost it
const tool = defineTool({ name: 'tool', run: () => 'ran' })
const news = defineTool({ name: 'news', run: () => 'new' })
const definition = defineServer({ name: 'test', version: '1', tools: [tool] })
const transport = serveHttp({ limits: { connections: 20_000 } })
const server = await startServer(definition, { transport, logger: false })
let isAdded = false
let before = process.cpuUsage()

process.on('message', (order: 'change' | 'cost' | 'stop') => void obey(order))
process.on('disconnect', () => process.exit(1))
process.send?.({ port: server.port })

async function obey(order: 'change' | 'cost' | 'stop'): Promise<void> {
  if (order === 'change') {
    before = process.cpuUsage()
    isAdded = !isAdded
    await (isAdded ? server.addTool(news) : server.removeTool('news'))
  } else if (order === 'cost') {
    const { user, system } = process.cpuUsage(before)
    process.send?.({ cost: (user + system) / 1_000 })
  } else {
    await server.stop()
    process.exit(0)
  }
}
