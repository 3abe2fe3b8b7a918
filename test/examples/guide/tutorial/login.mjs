import { serveHttp, startServer } from 'caduceus'
import { fakeIdentityProvider } from 'caduceus/testing'
import { oidc, signIn } from 'caduceus/transports'
import { notes } from './notes.mjs'

// stands for Google, Entra, Okta or Keycloak, where Ada has signed in
const { issuer, clientId, clientSecret } = await fakeIdentityProvider()
const auth = signIn({
  with: oidc({ issuer, clientId, clientSecret, name: 'My company' }),
  resource: 'http://localhost:3000/mcp', // as clients write it
  allow: ({ email }) => email?.endsWith('@example.com') === true,
})
const server = await startServer(notes, { transport: serveHttp({ port: 3000, auth }) })
console.log(server.url)
