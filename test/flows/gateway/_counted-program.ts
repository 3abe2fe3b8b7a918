// A server on standard input and output that writes each call into a file before it answers; `leave` ends it in order.
import { appendFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { defineServer, defineTool, startServer } from 'caduceus/server'
import { serveStdio } from 'caduceus/transports'

const [file = ''] = process.argv.slice(2)
const definition = defineServer({
  name: 'counted',
  version: '1.0.0',
  tools: {
    pid: defineTool({ annotations: { readOnlyHint: true }, run: () => String(process.pid) }),
    write: defineTool({
      input: { type: 'object', properties: { id: { type: 'string' } }, required: ['id'] },
      async run({ id }) {
        appendFileSync(file, `${id}\n`)
        await sleep(5)
        return id
      },
    }),
  },
})
await startServer(definition, { transport: serveStdio(), logger: false })
