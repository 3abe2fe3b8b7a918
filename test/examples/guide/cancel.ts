import { once } from 'node:events'
import { ClientError, defineServer, defineTool } from 'caduceus'
import { connect, until } from 'caduceus/testing'

const wait = defineTool({
  name: 'wait',
  async run(_args, ctx) {
    await once(ctx.signal, 'abort')
    console.log('the handler hears of it')
    return 'too late to be told'
  },
})

await using pair = await connect(defineServer({ name: 'slow', version: '1.0.0', tools: [wait] }))
const gone = new AbortController()
const begun = until('server.request', ({ type }) => type === 'start')
const call = pair.client.callTool('wait', {}, { signal: gone.signal })
await begun
gone.abort(new Error('the user left the page'))
const error = await call.catch((reason: unknown) => reason)
console.log(error instanceof ClientError && error.code, (await pair.client.listTools()).tools.length)
