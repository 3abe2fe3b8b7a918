// A server with tools of long answers: it says where it listens, and ends with its standard input. Arguments: the
// transport, and the length of an answer.
import { defineServer, defineTool, startServer } from 'caduceus/server'
import { serveHttp, serveWebSocket } from 'caduceus/transports'

const [transport, length] = process.argv.slice(2)
const text = (): string => 'x'.repeat(Number(length))
const tools = [
  defineTool({ name: 'now', run: text }),
  defineTool({
    name: 'soon',
    async run() {
      await undefined
      return text()
    },
  }),
]
const server = await startServer(defineServer({ name: 'burst', version: '1', tools }), {
  transport: transport === 'http' ? serveHttp() : serveWebSocket(),
  logger: false,
})
process.stdin.resume().on('end', () => void server.stop())
console.log(server.url)
