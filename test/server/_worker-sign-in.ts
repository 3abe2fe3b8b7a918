import {
  defineServer,
  defineTool,
  durableObject,
  field,
  type ObjectStorage,
  serveFetch,
} from 'caduceus/fetch'
import { oidc, signIn } from 'caduceus/transports'

/** What the types of Workers call it; only what is used here. */
interface Env {
  readonly RESOURCE: string
  readonly ISSUER: string
  readonly CLIENT: string
  readonly SECRET: string
  readonly SESSIONS: { idFromName(name: string): unknown; get(id: unknown): { fetch: typeof fetch } }
}

const whoami = defineTool({ name: 'whoami', run: (_args, ctx) => String(ctx.principal?.claims?.email) })
const count = defineTool({
  name: 'count',
  run: async (_args, ctx) => String(await ctx.update('calls', (calls = 0) => calls + 1)),
})
const ask = defineTool({
  name: 'ask',
  run: async (_args, ctx) => {
    const question = { message: 'Which one?', form: { which: field.string() } }
    const { content } = await ctx.elicit('which', question)
    return `${ctx.principal?.claims?.email}: ${content?.which}`
  },
})
const definition = defineServer({ name: 'shop', version: '1.0.0', tools: [whoami, count, ask] })

/** One object has the users, their logins and their sessions. */
export class Sessions {
  readonly #handler

  constructor(
    { storage }: { readonly storage: ObjectStorage },
    { RESOURCE: resource, ISSUER: issuer, CLIENT, SECRET }: Env,
  ) {
    const provider = oidc({ issuer, clientId: CLIENT, clientSecret: SECRET })
    this.#handler = serveFetch(definition, {
      allowedHosts: ['*'],
      lifetime: 'program',
      trustProxy: false,
      engine: durableObject({ storage }),
      auth: signIn({ with: provider, resource }),
    })
  }

  fetch(request: Request): Promise<Response> {
    return this.#handler.fetch(request)
  }
}

export const worker = {
  fetch: (request: Request, env: Env): Promise<Response> =>
    env.SESSIONS.get(env.SESSIONS.idFromName('all')).fetch(request),
}
