import { appendFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { defineServer, defineTool } from 'caduceus/server'

/** Writes each step to a file, with the process that did it. */
const steps = defineTool({
  name: 'steps',
  task: 'required',
  input: { type: 'object', properties: { path: { type: 'string' } } },
  async run(args, ctx) {
    const { path } = args as { path: string }
    for (let step = 0; step < 20; step += 1) {
      await sleep(50)
      await ctx.once(`step ${step}`, () => appendFileSync(path, `${step} ${process.pid}\n`))
    }
    return 'done'
  },
})
const count = defineTool({
  name: 'count',
  run: async (_args, ctx) => String(await ctx.update('count', (n = 0) => n + 1)),
})
const pid = defineTool({ name: 'pid', run: () => String(process.pid) })

export const server = defineServer({ name: 'tasks', version: '1', tools: [steps, count, pid] })
