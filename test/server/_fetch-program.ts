import { defineServer, defineTool, field, serveFetch } from 'caduceus/fetch'

/** The parts of Deno and Bun that serve a handler. */
interface Hosts {
  readonly Deno?: {
    serve(
      options: { port: number; hostname: string; onListen(at: { port: number }): void },
      fetch: (request: Request) => Promise<Response>,
    ): unknown
  }
  readonly Bun?: {
    serve(options: { port: number; hostname: string; fetch: (request: Request) => Promise<Response> }): {
      port: number
    }
  }
}

const echo = defineTool({ name: 'echo', input: { text: field.string() }, run: ({ text }) => text })
const steps = defineTool({
  name: 'steps',
  async run(_args, ctx) {
    for (let step = 1; step <= 3; step++) await ctx.progress(step, 3)
    return 'done'
  },
})
const order = defineTool({
  name: 'order',
  input: { note: { type: 'string' } },
  async run(_args, ctx) {
    const question = { message: 'How many?', form: { amount: field.integer() } }
    return String((await ctx.elicit('amount', question)).content?.amount)
  },
})
const { fetch } = serveFetch(defineServer({ name: 'far', version: '1.0.0', tools: [echo, steps, order] }))

const { Deno, Bun } = globalThis as Hosts
const where = { port: 0, hostname: '127.0.0.1' }
if (Bun !== undefined) console.log(Bun.serve({ ...where, fetch: (request) => fetch(request) }).port)
else Deno?.serve({ ...where, onListen: ({ port }) => console.log(port) }, (request) => fetch(request))
