import { defineServer, defineTool, serveHttp, startServer } from 'caduceus'
import { connect, fakeIdentityProvider } from 'caduceus/testing'
import { oidc, signIn } from 'caduceus/transports'

// stands for Google, Entra, Okta, Keycloak: it signs in whom the test says
const login = await fakeIdentityProvider({ user: { subject: 'ada', name: 'Ada', email: 'ada@example.com' } })
const { issuer, clientId, clientSecret } = login

const orders = defineTool({
  name: 'orders',
  scopes: ['orders:read'],
  async run(_args, ctx) {
    const { accessToken } = await ctx.credentials() // the user's own token for the provider's API
    return `${ctx.principal?.claims?.name} asks, with ${accessToken.length > 0 ? 'a token' : 'nothing'}`
  },
})
const greet = defineTool({
  name: 'greet',
  run: (_args, { principal }) => `Hello ${principal?.claims?.name}!`,
})
const shop = defineServer({ name: 'shop', version: '1.0.0', tools: [orders, greet] })

const resource = 'http://localhost:8731/mcp' // as clients write it: https://mcp.example.com/mcp
await using server = await startServer(shop, {
  transport: serveHttp({
    port: 8731,
    auth: signIn({
      with: oidc({ issuer, clientId, clientSecret }),
      resource,
      scopes: { 'orders:read': 'See your orders' },
      allow: ({ email }) => email?.endsWith('@example.com') === true, // only people of my company
    }),
  }),
  logger: false,
})

const address = 'http://localhost:8731/.well-known/oauth-authorization-server'
const metadata = (await (await fetch(address)).json()) as Record<string, unknown>
console.log(server.port, metadata.registration_endpoint, metadata.code_challenge_methods_supported)
const { status, headers } = await fetch(resource, { method: 'POST', body: '{}' })
console.log(status, headers.get('www-authenticate')?.includes('oauth-protected-resource'))

// tests need no login: who calls is said
const principal = { issuer, subject: 'ada', scopes: ['mcp'], claims: { name: 'Ada' } }
await using pair = await connect(shop, { principal })
console.log((await pair.client.callTool('greet')).text)
await login.close()
