import { defineServer, defineTool, durableObject, type ObjectStorage, serveFetch } from 'caduceus/fetch'
import { github, signIn } from 'caduceus/transports'

const whoami = defineTool({ name: 'whoami', run: (_args, ctx) => `${ctx.principal?.subject}` })
const definition = defineServer({ name: 'mine', version: '1.0.0', tools: [whoami] })

interface Env {
  readonly CLIENT_ID: string
  readonly CLIENT_SECRET: string
  readonly USERS: { getByName(name: string): { fetch(request: Request): Promise<Response> } }
}

/** Has all users, their logins and their sessions. */
export class Users {
  readonly handler

  constructor({ storage }: { readonly storage: ObjectStorage }, env: Env) {
    const { CLIENT_ID: clientId, CLIENT_SECRET: clientSecret } = env
    const auth = signIn({
      with: github({ clientId, clientSecret }),
      resource: 'https://mcp.example.com/mcp',
    })
    this.handler = serveFetch(definition, {
      allowedHosts: ['mcp.example.com'],
      lifetime: 'program',
      trustProxy: 1,
      engine: durableObject({ storage }),
      auth,
    })
  }

  fetch(request: Request): Promise<Response> {
    return this.handler.fetch(request)
  }
}

export default {
  fetch(request: Request, env: Env): Promise<Response> {
    const headers = new Headers(request.headers)
    // Cloudflare says it: each address has limits of its own
    headers.set('x-forwarded-for', headers.get('cf-connecting-ip') ?? '')
    return env.USERS.getByName('all').fetch(new Request(request, { headers }))
  },
}
