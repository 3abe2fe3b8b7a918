import { introspection, jwt, type Principal, serveHttp, type TokenVerifier } from 'caduceus/transports'

const issuer = 'https://login.example.com'
const auth = { resource: 'https://mcp.example.com/mcp', authorizationServers: [issuer] }

// What the ways to check a token return is what `verify` takes, and so is a function.
const checks: readonly TokenVerifier[] = [
  jwt({ issuer, algorithms: ['ES256'], jwks: { keys: [] } }),
  introspection({ issuer, endpoint: `${issuer}/introspect`, client: { id: 'a', secret: 'b' } }),
  (token, { resource, signal }) => (signal.aborted ? undefined : { issuer: resource, subject: token }),
  async (): Promise<Principal | undefined> => undefined,
]
for (const verify of checks) serveHttp({ auth: { ...auth, verify, impliedScopes: { admin: ['read'] } } })

// @ts-expect-error: a resource is what tokens are for
serveHttp({ auth: { authorizationServers: [issuer] } })
// @ts-expect-error: a principal has a subject
serveHttp({ auth: { ...auth, verify: () => ({ issuer }) } })
// @ts-expect-error: the authorization server wants to know who asks
introspection({ issuer, endpoint: issuer })
