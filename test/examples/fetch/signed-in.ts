import { defineServer, defineTool, jwt, sealed, serveFetch } from 'caduceus/fetch'

const whoami = defineTool({ name: 'whoami', run: (_args, ctx) => `${ctx.principal?.subject}` })

interface Env {
  readonly KEY: string
  /** The authorization server, such as `https://login.example.com`. */
  readonly ISSUER: string
}

export default serveFetch<Env>(
  defineServer({ name: 'mine', version: '1.0.0', tools: [whoami] }),
  ({ KEY, ISSUER }) => ({
    allowedHosts: ['mcp.example.com'],
    engine: sealed({ keys: [KEY] }),
    auth: {
      resource: 'https://mcp.example.com/mcp',
      authorizationServers: [ISSUER],
      verify: jwt({ issuer: ISSUER }),
    },
  }),
)
