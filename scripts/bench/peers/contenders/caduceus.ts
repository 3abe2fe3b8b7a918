import {
  defineServer,
  defineTool,
  http,
  serveHttp,
  serveStdio,
  startClient,
  startServer,
  stdio,
} from '../../../../index.js'
import type { Contender } from '../measure.js'
import { moreInput, moreNames } from './more-tools.js'

const echo = defineTool({
  name: 'echo',
  description: 'Says the text again',
  input: { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] },
  run: ({ text }) => text,
})
const definition = defineServer({ name: 'echo', version: '1.0.0', tools: [echo] })

/** This library, with what is the default. */
export const contender: Contender = {
  async http() {
    const { port } = await startServer(definition, { transport: serveHttp() })
    if (port === undefined) throw new Error('the server has no port')
    return port
  },
  async modern(more) {
    const others = moreNames(more).map((name) =>
      defineTool({ name, description: `Is never called (${name})`, input: moreInput, run: () => 'called' }),
    )
    const several = defineServer({ name: 'echo', version: '1.0.0', tools: [echo, ...others] })
    const { port } = await startServer(several, { transport: serveHttp() })
    if (port === undefined) throw new Error('the server has no port')
    return port
  },
  async stdio() {
    await startServer(definition, { transport: serveStdio() })
  },
  async client(server) {
    const client = startClient({ transport: 'url' in server ? http(server.url) : stdio(server) })
    await client.ready()
    return async (text) => (await client.callTool('echo', { text })).text
  },
}
