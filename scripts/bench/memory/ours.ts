import { defineServer, defineTool, field, serveHttp, startServer } from '../../../index.js'
import { subscribeServer } from '../../../server/index.js'
import { subscribeTransport } from '../../../transports/index.js'
import { answer } from '../asked-program.js'
import { memoryAnswers } from './heap.js'

const [tools, timeouts] = process.argv.slice(2).map((text) => JSON.parse(text))
const counts = { connections: 0, asleep: 0 }
subscribeServer('session', ({ type }) => {
  if (type === 'hibernated') counts.asleep += 1
  if (type === 'woken') counts.asleep -= 1
})
subscribeTransport('connection', ({ type }) => {
  if (type === 'opened') counts.connections += 1
  if (type === 'closed') counts.connections -= 1
})

const named = Array.from({ length: tools }, (_, at) =>
  defineTool({ name: `tool_${at}`, input: { text: field.string() }, run: ({ text }) => text }),
)
const definition = defineServer({ name: 'bench', version: '1.0.0', tools: named })
const server = await startServer(definition, {
  transport: serveHttp(),
  limits: { sessions: 10_000_000 },
  logger: false,
  timeouts,
})

answer({
  port: () => server.port,
  connections: () => counts.connections,
  asleep: () => counts.asleep,
  ...memoryAnswers,
})
