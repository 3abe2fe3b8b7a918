import { createRequire } from 'node:module'
import { defineServer, defineTool, startServer } from 'caduceus/server'
import { serveStdio } from 'caduceus/transports'

const count = defineTool({
  name: 'count',
  run: async (_args, ctx) => String(await ctx.update('count', (n = 0) => n + 1)),
})

const checked = defineTool({
  name: 'checked',
  input: { type: 'object', properties: { n: { type: 'integer' } } },
  run: ({ n }) => String(n),
})

const stray = defineTool({
  name: 'stray',
  run() {
    console.log('stray console.log')
    console.info('stray console.info')
    process.stdout.write('stray write\n')
    setTimeout(() => {
      throw new Error('stray throw')
    }, 1)
    return 'strayed'
  },
})

/** Which CommonJS packages, and which network modules of Node, this process has loaded. */
const loaded = defineTool({
  name: 'loaded',
  run() {
    const files = Object.keys(createRequire(import.meta.url).cache)
    const packages = files.flatMap((file) => /node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(file)?.[1] ?? [])
    const { moduleLoadList } = process as unknown as { moduleLoadList: string[] }
    const network = moduleLoadList.filter((name) =>
      /^NativeModule (?:https?|http2|tls|_http_\w+)$/.test(name),
    )
    return [...new Set([...packages, ...network])].sort().join(' ')
  },
})

const hold = defineTool({
  name: 'hold',
  run() {
    setInterval(() => {}, 1_000)
    return 'held'
  },
})

/** Breaks the server it runs in, one process of its tree at a time. */
const breakIt = defineTool({
  name: 'break',
  input: { type: 'object', properties: { name: { type: 'string' } } },
  run({ name }) {
    setImmediate(() => server.registry.whereis(`program/${name}`)?.kill())
    return 'broken'
  },
})

const definition = defineServer({
  name: 'program',
  version: '1.0.0',
  tools: [count, checked, stray, loaded, hold, breakIt],
})
const server = await startServer(definition, { transport: serveStdio(), logger: false })
server.onExit(() => console.log('console is back'))
