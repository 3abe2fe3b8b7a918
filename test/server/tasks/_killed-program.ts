import { appendFileSync, existsSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { defineServer, defineTool, files, startServer } from 'caduceus/server'
import { serveHttp } from 'caduceus/transports'

// serves tools that note in a file what they do; without `store` its tasks are in memory
const [folder = '', store] = process.argv.slice(2)

function note(what: string): void {
  appendFileSync(join(folder, 'log.txt'), `${what}\n`)
}

const works = defineTool({
  name: 'works',
  task: 'required',
  input: { type: 'object', properties: { id: { type: 'string' } } },
  async run({ id }, ctx) {
    note(`run ${id}`)
    await ctx.once('first', () => note(`first ${id}`))
    const { content } = await ctx.elicit('name', {
      message: 'Your name?',
      requestedSchema: { type: 'object', properties: { name: { type: 'string' } } },
    })
    await ctx.once('second', () => note(`second ${id}`))
    return `${id} of ${content?.name}`
  },
})

const careful = defineTool({ ...worksLike('careful'), taskRestart: 'fail' })
const again = defineTool(worksLike('endless'))

function worksLike(name: string) {
  return { name, task: 'required' as const, run: () => new Promise<string>(() => {}) }
}

/** Kills its program each time it runs, once a file says go. */
const deadly = defineTool({
  name: 'deadly',
  task: 'required',
  async run() {
    while (!existsSync(join(folder, 'go'))) await setTimeout(5)
    note('deadly')
    process.kill(process.pid, 'SIGKILL')
    return new Promise<string>(() => {})
  },
})

/** Does thirty steps once a file says go, and kills its program in the middle of each tenth the first time. */
const steps = defineTool({
  name: 'steps',
  task: 'required',
  async run(_args, ctx) {
    while (!existsSync(join(folder, 'go'))) await setTimeout(5)
    for (let step = 0; step < 30; step += 1) {
      await ctx.once(`step ${step}`, () => {
        const mark = join(folder, `killed-${step}`)
        if (step % 10 === 5 && !existsSync(mark)) {
          appendFileSync(mark, '')
          process.kill(process.pid, 'SIGKILL')
          return new Promise(() => {})
        }
        note(`step ${step}`)
        return step
      })
    }
    return 'all done'
  },
})

const definition = defineServer({
  name: 'killed',
  version: '1',
  tools: [works, careful, again, deadly, steps],
})
const engine = store === undefined ? {} : { engine: files({ folder: join(folder, store) }) }
const server = await startServer(definition, { transport: serveHttp(), logger: false, ...engine })
process.stdout.write(`${server.url}\n`)
