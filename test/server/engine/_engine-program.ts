import { defineServer, defineTool, files, startServer } from 'caduceus/server'
import { serveHttp } from 'caduceus/transports'
import { count } from '../_servers.js'

// serves on a folder, and says where, or why not
const [folder = ''] = process.argv.slice(2)
const asks = defineTool({
  name: 'asks',
  async run(_args, ctx) {
    const requestedSchema = { type: 'object' as const, properties: { name: { type: 'string' as const } } }
    const { content } = await ctx.elicit('name', { message: 'Who?', requestedSchema })
    return `hello ${content?.name}`
  },
})
const works = defineTool({ name: 'works', task: 'required', run: () => 'worked' })
const definition = defineServer({ name: 'engines', version: '1', tools: [count, asks, works] })
try {
  const options = {
    transport: serveHttp(),
    engine: files({ folder }),
    limits: { pageSize: 1 },
    logger: false as const,
  }
  const server = await startServer(definition, options)
  process.stdout.write(`${server.url}\n`)
} catch (error) {
  const { code, message } = error as { readonly code: string; readonly message: string }
  process.stdout.write(`${code} ${message}\n`)
}
