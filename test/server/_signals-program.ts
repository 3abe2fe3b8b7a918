import tty from 'node:tty'
import { defineServer, defineTool, startServer } from 'caduceus/server'
import { serveHttp } from 'caduceus/transports'

const how = process.argv[2]
// as if its standard error were a terminal
if (how === 'terminal') Object.assign(tty, { isatty: () => true })
const slow = defineTool({
  name: 'slow',
  async run() {
    console.log('working')
    await new Promise((resolve) => setTimeout(resolve, 300))
    return 'done'
  },
})
const endless = defineTool({
  name: 'endless',
  run() {
    console.log('working')
    return new Promise<string>(() => {})
  },
})
const careless = defineTool({
  name: 'careless',
  run() {
    const again = (): never => {
      setImmediate(again)
      throw new Error('left behind')
    }
    setImmediate(again)
    console.log('working')
    return 'done'
  },
})
const session = { terminate: () => console.log('session ended') }
const definition = defineServer({
  name: 'signals',
  version: '1.0.0',
  tools: [slow, endless, careless],
  session,
})
const options = { transport: serveHttp({ port: 0 }), signals: how !== 'off', logger: 'json' } as const
const server = await startServer(definition, options)
if (how === 'closing')
  server.onExit(async () => {
    await new Promise((resolve) => setTimeout(resolve, 300))
    console.log('closed')
  })
if (how === 'host') process.once('SIGTERM', () => server.onExit(() => process.exit(7)))
console.log(server.url)
