import { setTimeout as delay } from 'node:timers/promises'
import { defineResource, defineServer, defineTool, redis, startServer } from 'caduceus/server'
import { serveHttp } from 'caduceus/transports'

// One node of a cluster: node _stream-program.js URL-OF-REDIS [RESUME]. It says where it serves.
const [url = '', resume = '{}'] = process.argv.slice(2)
const steps = defineTool({
  name: 'steps',
  input: {
    type: 'object',
    properties: { count: { type: 'integer' }, every: { type: 'integer' }, size: { type: 'integer' } },
    required: ['count', 'every'],
  },
  async run({ count, every, size = 0 }, ctx) {
    for (let step = 1; step <= count; step += 1) {
      await delay(every)
      ctx.progress(step, count, 'x'.repeat(size))
    }
    return `${count} steps`
  },
})
const publish = defineTool({
  name: 'publish',
  async run() {
    await server.resourceUpdated('news://a')
  },
})
const definition = defineServer({
  name: 'streams',
  version: '1',
  tools: [steps, publish],
  resources: [defineResource({ name: 'a', uri: 'news://a', read: () => 'a' })],
})
const server = await startServer(definition, {
  transport: serveHttp({ streams: { resume: JSON.parse(resume) } }),
  engine: redis({ url, keys: ['what all nodes of this cluster sign with'] }),
  logger: false,
})
process.stdout.write(`${server.url}\n`)
