// A server that can take every file descriptor of its process, and give them back.
//   node _scarce-server.js http|stdio
import { defineServer } from '../../server/definitions/define-server.js'
import { defineTool } from '../../server/definitions/define-tool.js'
import { startServer } from '../../server/server-supervisor.js'
import { serveHttp } from '../../transports/http/server/serve.js'
import { serveStdio } from '../../transports/stdio/server.js'
import { Descriptors } from './_descriptors.js'

const text = { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] } as const
const descriptors = new Descriptors()

const definition = defineServer({
  name: 'scarce',
  version: '1',
  tools: [
    defineTool({ name: 'echo', input: text, run: (args) => args.text }),
    defineTool({
      name: 'old',
      input: { ...text, $schema: 'http://json-schema.org/draft-07/schema#' },
      run: () => 'old',
    }),
    defineTool({ name: 'pid', run: () => String(process.pid) }),
    defineTool({
      name: 'boom',
      run() {
        setTimeout(() => {
          throw new Error('boom in a timer')
        })
        return new Promise(() => {})
      },
    }),
    defineTool({
      name: 'takeAll',
      run() {
        descriptors.takeAll()
        return 'taken'
      },
    }),
    defineTool({
      name: 'giveBack',
      run() {
        descriptors.giveBack()
        return 'given back'
      },
    }),
  ],
})

const transport = process.argv[2] === 'http' ? serveHttp() : serveStdio()
const server = await startServer(definition, { transport })
if (server.url !== undefined) console.log(server.url)
