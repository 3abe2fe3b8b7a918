import { defineServer, defineTool, field, introspection, jwt, sealed, serveFetch } from 'caduceus/fetch'

/** What the types of Workers call it; only what is used here. */
interface Env {
  readonly KEY: string
  readonly ISSUER: string
  readonly SESSIONS: { idFromName(name: string): unknown; get(id: unknown): { fetch: typeof fetch } }
}

const who = defineTool({ name: 'who', run: (_args, ctx) => String(ctx.principal?.subject) })
const count = defineTool({
  name: 'count',
  run: async (_args, ctx) => String(await ctx.update('count', (n = 0) => Number(n) + 1)),
})
const order = defineTool({
  name: 'order',
  async run(_args, ctx) {
    const question = { message: 'How many?', form: { amount: field.integer() } }
    const { action, content } = await ctx.elicit('amount', question)
    return `${ctx.principal?.subject}: ${action} ${content?.amount}`
  },
})

const definition = defineServer({ name: 'signed-in', version: '1.0.0', tools: [who, count, order] })
const resource = 'https://mcp.example.com/mcp'
const common = { allowedHosts: ['*'], path: '/mcp' }

/** A server for each request, whose sessions are in their ids. */
const byKeys = serveFetch<Env>(definition, (env) => ({ ...common, ...withKeys(env) }))

/** The same, with a host that does not say what a request waits for. */
const bare = serveFetch<Env>(definition, (env) => ({ ...common, path: '/bare/mcp', ...withKeys(env) }))

const withKeys = ({ KEY, ISSUER }: Env) => ({
  engine: sealed({ keys: [KEY] }),
  auth: { resource, authorizationServers: [ISSUER], verify: jwt({ issuer: ISSUER }) },
})

/** The same, where the issuer is asked about each token. */
const byQuestions = serveFetch<Env>(definition, ({ KEY, ISSUER }) => ({
  ...common,
  path: '/asked/mcp',
  engine: sealed({ keys: [KEY] }),
  auth: {
    resource,
    authorizationServers: [ISSUER],
    verify: introspection({
      issuer: ISSUER,
      endpoint: `${ISSUER}/introspect`,
      client: { id: 'mcp', secret: 'a secret' },
    }),
  },
}))

/** One server for all sessions, which keeps questions open. */
export class Sessions {
  readonly #handler

  constructor(_state: unknown, { ISSUER }: Env) {
    this.#handler = serveFetch(definition, {
      ...common,
      path: '/object/mcp',
      lifetime: 'program',
      auth: { resource, authorizationServers: [ISSUER], verify: jwt({ issuer: ISSUER }) },
    })
  }

  fetch(request: Request): Promise<Response> {
    return this.#handler.fetch(request)
  }
}

export const worker = {
  fetch(request: Request, env: Env, context: unknown): Promise<Response> {
    const { pathname } = new URL(request.url)
    if (pathname.startsWith('/object/'))
      return env.SESSIONS.get(env.SESSIONS.idFromName('all')).fetch(request)
    if (pathname.startsWith('/bare/')) return bare.fetch(request, env)
    return (pathname.startsWith('/asked/') ? byQuestions : byKeys).fetch(request, env, context)
  },
}
