import { serveHttp, startServer } from '../../../index.js'
import { answer } from '../asked-program.js'
import definition from './server.js'

/** A server in this program, or in so many processes of its own. */
const processes = Number(process.argv[2])
const module = new URL('./server.js', import.meta.url)
const transport = serveHttp()

if (processes === 0) {
  const server = await startServer(definition, { transport })
  answer({ port: () => server.port })
} else {
  const server = await startServer(module, { transport, processes })
  answer({
    port: () => server.port,
    reload: () => server.reload(),
    running: async () => (await server.processes()).length,
  })
}
