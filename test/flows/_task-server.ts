import { appendFileSync } from 'node:fs'
import { join } from 'node:path'
import { defineServer, defineTool, files, startServer } from 'caduceus/server'
import { serveHttp } from 'caduceus/transports'

// serves a tool that is always a task and notes its steps in a file; without `store` tasks are in memory
const [folder = '', port = '0', store] = process.argv.slice(2)
const note = (what: string): void => appendFileSync(join(folder, 'log.txt'), `${what}\n`)

const works = defineTool({
  name: 'works',
  task: 'required',
  input: { type: 'object', properties: { id: { type: 'string' } } },
  async run({ id }, ctx) {
    await ctx.once('first', () => note(`first ${id}`))
    const { content } = await ctx.elicit('name', {
      message: `Who wants ${id}?`,
      requestedSchema: { type: 'object', properties: { name: { type: 'string' } } },
    })
    await ctx.once('second', () => note(`second ${id}`))
    return `${id} of ${content?.name}`
  },
})

const definition = defineServer({ name: 'works', version: '1', tools: [works] })
const engine = store === undefined ? {} : { engine: files({ folder: join(folder, store) }) }
const server = await startServer(definition, {
  transport: serveHttp({ port: Number(port) }),
  logger: false,
  ...engine,
})
process.stdout.write(`${server.url}\n`)
