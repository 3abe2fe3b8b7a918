import { appendFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { defineServer, defineTool, redis, startServer } from 'caduceus/server'
import { serveHttp } from 'caduceus/transports'

// One node of a cluster: node _node-program.js URL-OF-REDIS FOLDER NAME. It says where it serves.
const [url = '', folder = '', name = ''] = process.argv.slice(2)

const steps = defineTool({
  name: 'steps',
  task: 'required',
  input: { type: 'object', properties: { id: { type: 'string' }, count: { type: 'integer' } } },
  async run({ id, count = 20 }, ctx) {
    for (let step = 0; step < count; step += 1) {
      await sleep(50)
      await ctx.once(`step ${step}`, () => appendFileSync(join(folder, `${id}.txt`), `${step} ${name}\n`))
    }
    return `${id} done`
  },
})
const server = await startServer(defineServer({ name: 'tasks', version: '1', tools: [steps] }), {
  transport: serveHttp(),
  engine: redis({ url, keys: ['what all nodes of this cluster sign with'] }),
  logger: false,
})
process.stdout.write(`${server.url}\n`)
