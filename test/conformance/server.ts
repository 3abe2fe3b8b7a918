// The server that the official suite is run against, written against the public API alone.
//   npm run conformance:server -- --port P
import { parseArgs } from 'node:util'
import { defineServer, type Server, serveHttp, skillsFrom, startServer } from 'caduceus'
import { askingTools } from './asking-tools.js'
import { prompts } from './prompts.js'
import { resources, resourceTemplates } from './resources.js'
import { roundsPrompts, roundsTools } from './rounds-tools.js'
import { changingTools, statelessTools } from './stateless-tools.js'
import { taskTools } from './task-tools.js'
import { tools } from './tools.js'

const { port } = parseArgs({ options: { port: { type: 'string', default: '0' } } }).values

const everything = defineServer({
  name: 'caduceus-conformance',
  version: '1.0.0',
  tools: [
    ...tools,
    ...askingTools,
    ...roundsTools,
    ...statelessTools,
    ...taskTools,
    ...changingTools(() => server),
  ],
  resources,
  resourceTemplates,
  skills: await skillsFrom(new URL('../../../test/examples/skills', import.meta.url), {
    directoryRead: true,
  }),
  prompts: [...prompts, ...roundsPrompts],
  logging: true,
})

const server: Server = await startServer(everything, { transport: serveHttp({ port: Number(port) }) })
console.log(server.url)
process.once('SIGTERM', stop).once('SIGINT', stop)

async function stop(): Promise<void> {
  await server.stop()
  process.exit(0)
}
