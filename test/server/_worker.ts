import { defineServer, defineTool, field, sealed, serveFetch } from 'caduceus/fetch'

/** What the types of Workers call it; only what is used here. */
interface Env {
  readonly KEY: string
  readonly SESSIONS: { idFromName(name: string): unknown; get(id: unknown): { fetch: typeof fetch } }
}

const echo = defineTool({ name: 'echo', input: { text: field.string() }, run: ({ text }) => text })
const count = defineTool({
  name: 'count',
  run: async (_args, ctx) => String(await ctx.update('count', (n = 0) => Number(n) + 1)),
})
const steps = defineTool({
  name: 'steps',
  async run(_args, ctx) {
    for (let step = 1; step <= 3; step++) {
      await ctx.progress(step, 3)
      await new Promise((resolve) => setTimeout(resolve, 10))
    }
    return 'done'
  },
})
const order = defineTool({
  name: 'order',
  async run(_args, ctx) {
    const question = { message: 'How many?', form: { amount: field.integer() } }
    const { action, content } = await ctx.elicit('amount', question)
    return `${action} ${content?.amount}`
  },
})
const who = defineTool({ name: 'who', run: (_args, ctx) => String(ctx.principal?.subject) })
const aborted = defineTool({ name: 'aborted', run: () => String(aborts) })
/** A Worker hears that its client has gone when it writes. */
const hang = defineTool({
  name: 'hang',
  async run(_args, ctx) {
    ctx.signal.addEventListener('abort', () => {
      aborts += 1
    })
    for (let step = 1; !ctx.signal.aborted; step++) {
      await ctx.progress(step)
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
    return 'never read'
  },
})
let aborts = 0

const definition = defineServer({
  name: 'worker',
  version: '1.0.0',
  tools: [echo, count, steps, order, who, aborted, hang],
})
const allowedHosts = ['*']

const plain = serveFetch<Env>(definition, ({ KEY }) => ({ allowedHosts, engine: sealed({ keys: [KEY] }) }))

const guarded = serveFetch<Env>(definition, {
  allowedHosts,
  path: '/guarded/mcp',
  revisions: ['2026-07-28'],
  auth: {
    resource: 'https://mcp.example.com/guarded/mcp',
    authorizationServers: ['https://login.example.com'],
    verify: async (token: string) =>
      token === 'good'
        ? {
            issuer: 'https://login.example.com',
            subject: 'ada',
            audience: 'https://mcp.example.com/guarded/mcp',
          }
        : undefined,
  } as never,
})

/** One object has the sessions, and what they wait for: all its requests share one isolate. */
export class Sessions {
  readonly #handler = serveFetch(definition, {
    allowedHosts,
    path: '/object/mcp',
    lifetime: 'program',
  })

  fetch(request: Request): Promise<Response> {
    return this.#handler.fetch(request)
  }
}

export const worker = {
  fetch(request: Request, env: Env, context: unknown): Promise<Response> {
    const { pathname } = new URL(request.url)
    if (pathname.startsWith('/object/'))
      return env.SESSIONS.get(env.SESSIONS.idFromName('all')).fetch(request)
    return (pathname.includes('guarded') ? guarded : plain).fetch(request, env, context)
  },
}
