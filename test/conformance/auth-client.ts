import { oauth } from '../../client/auth-provider.js'
import type { OAuthOptions, SignIn } from '../../client/auth-options.js'
import { startClient } from '../../client/client-supervisor.js'
import { http } from '../../transports/http-client.js'

/** What a scenario gives its client. */
type Context = { readonly [field: string]: string | undefined }

/** Scenarios whose server cannot be reached by a client that does what it should. */
const mayFail =
  /^auth\/(?:scope-retry-limit|resource-mismatch|metadata-issuer-mismatch|iss-supported-missing|iss-(?:supported-)?wrong-issuer|iss-unexpected|iss-normalized)$/

/** Connects to the server of the official suite, lists its tools and calls each; exits with 1 where that must not fail. */
export async function runScenario(url: string): Promise<void> {
  const scenario = process.env.MCP_CONFORMANCE_SCENARIO ?? ''
  const context = JSON.parse(process.env.MCP_CONFORMANCE_CONTEXT ?? '{}') as Context
  const auth = oauth(optionsFor(scenario, context))
  const revision = process.env.MCP_CONFORMANCE_PROTOCOL_VERSION
  const client = startClient({
    transport: http(url, { auth, stream: false }),
    timeout: 15_000,
    era: revision === '2026-07-28' ? 'modern' : 'handshake',
  })
  try {
    const { tools } = await client.listTools()
    for (const { name } of tools) await client.callTool(name)
  } catch (error) {
    console.error(error)
    if (!mayFail.test(scenario)) process.exitCode = 1
  } finally {
    await client.close()
    await auth.close()
  }
}

function optionsFor(scenario: string, context: Context): OAuthOptions {
  const {
    client_id: id = '',
    client_secret: secret,
    private_key_pem: privateKey,
    signing_algorithm,
  } = context
  const known = id === '' ? {} : { client: { id, ...(secret !== undefined && { secret }) } }
  if (scenario.startsWith('auth/client-credentials-jwt') && privateKey !== undefined)
    return {
      grant: 'client_credentials',
      client: { id, privateKey, algorithm: (signing_algorithm ?? 'ES256') as 'ES256' },
    }
  if (scenario.startsWith('auth/client-credentials')) return { grant: 'client_credentials', ...known }
  const { idp_client_id: clientId, idp_id_token: idToken, idp_token_endpoint: tokenEndpoint } = context
  if (clientId !== undefined && idToken !== undefined && tokenEndpoint !== undefined)
    return { ...known, enterprise: { idToken, tokenEndpoint, clientId } }
  return { signIn, clientMetadataUrl: 'https://conformance-test.local/client-metadata.json', ...known }
}

/** The mock lets everybody in at once, and nothing listens where it redirects to. */
const signIn: SignIn = {
  begin: async () => ({
    redirectUri: 'http://localhost:3000/callback',
    async authorize(url) {
      const response = await fetch(url, { redirect: 'manual' })
      await response.body?.cancel()
      return new URL(response.headers.get('location') ?? '').searchParams
    },
  }),
}
