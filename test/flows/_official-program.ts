import {
  definePrompt,
  defineResource,
  defineResourceTemplate,
  defineServer,
  defineTool,
  startServer,
} from 'caduceus/server'
import { serveHttp, serveSse, serveStdio, serveWebSocket } from 'caduceus/transports'

// a server that has everything there is: [stdio | http | sse | websocket]
const transports = { stdio: serveStdio, http: serveHttp, sse: serveSse, websocket: serveWebSocket }
const [kind = 'stdio'] = process.argv.slice(2)

const count = defineTool({
  name: 'count',
  input: { type: 'object', properties: { by: { type: 'integer' } } },
  run: async ({ by = 1 }, ctx) => String(await ctx.update('count', (n = 0) => n + by)),
})
const steps = defineTool({
  name: 'steps',
  async run(_args, ctx) {
    for (const step of [1, 2, 3]) {
      ctx.progress(step, 3, `step ${step}`)
      // the official clients drop progress that they read together with the answer
      await ctx.ping()
    }
    return 'stepped'
  },
})
const asking = defineTool({
  name: 'asking',
  async run(_args, ctx) {
    const { content } = await ctx.elicit('who', {
      message: 'Who?',
      requestedSchema: { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] },
    })
    const message = { role: 'user' as const, content: { type: 'text' as const, text: String(content?.name) } }
    const { content: said } = await ctx.sample('greet', { messages: [message], maxTokens: 10 })
    const [root] = await ctx.roots('roots')
    ctx.log('warning', 'asked', 'asking')
    return `${Array.isArray(said) || said.type !== 'text' ? '' : said.text} in ${root?.uri}`
  },
})
let aborts = 0
const wait = defineTool({
  name: 'wait',
  run: (_args, ctx) =>
    new Promise<string>((resolve) => {
      ctx.signal.addEventListener('abort', () => {
        aborts += 1
        resolve('too late')
      })
      ctx.progress(1)
    }),
})
const aborted = defineTool({ name: 'aborted', run: () => String(aborts) })
const grow = defineTool({
  name: 'grow',
  async run() {
    await server.addTool(defineTool({ name: 'grown', run: () => 'grown' }))
    await server.resourceUpdated('x:page')
    return 'grew'
  },
})
const page = defineResource({ uri: 'x:page', name: 'page', read: () => 'a page' })
const file = defineResourceTemplate({
  uriTemplate: 'f:///{name}',
  name: 'file',
  read: ({ name }) => `file ${name}`,
  complete: { name: (value) => [`${value}.txt`] },
})
const greet = definePrompt({
  name: 'greet',
  arguments: [{ name: 'who', required: true }],
  get: ({ who }) => `Greet ${who}.`,
  complete: { who: () => ['Ada', 'Bob'] },
})
const definition = defineServer({
  name: 'official',
  version: '1.0.0',
  instructions: 'Be kind.',
  tools: [count, steps, asking, wait, aborted, grow],
  resources: [page],
  resourceTemplates: [file],
  prompts: [greet],
  logging: true,
})
const server = await startServer(definition, { transport: transports[kind as keyof typeof transports]() })
if (server.url !== undefined) process.stdout.write(`${server.url}\n`)
