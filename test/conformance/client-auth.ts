import { type OAuth, oauth, type OAuthOptions, type SignIn } from 'caduceus/client'

/** What a scenario tells about its client; texts, where it is about authorization. */
type Context = { readonly [field: string]: unknown }

/**
 * The tokens of whoever the scenario says that we are: a person who signs in, a client with a secret or key, or an employee of a
 * company. A secret goes to one issuer only: the scenario does not say which, so the server at `url` is believed.
 */
export async function authFor(scenario: string, context: Context, url: string): Promise<OAuth> {
  const issuer = context.client_secret === undefined ? undefined : await issuerOf(url)
  return oauth(
    optionsFor(scenario, { ...context, issuer } as { readonly [field: string]: string | undefined }),
  )
}

async function issuerOf(url: string): Promise<string> {
  const { origin, pathname } = new URL(url)
  for (const path of [pathname, '']) {
    const response = await fetch(`${origin}/.well-known/oauth-protected-resource${path}`)
    const { authorization_servers: [first] = [] } = response.ok ? ((await response.json()) as Metadata) : {}
    if (first !== undefined) return first
  }
  throw new Error(`${url} names no authorization server`)
}

interface Metadata {
  readonly authorization_servers?: readonly string[]
}

function optionsFor(
  scenario: string,
  context: { readonly [field: string]: string | undefined },
): OAuthOptions {
  const {
    client_id: id = '',
    client_secret: secret,
    private_key_pem: privateKey,
    signing_algorithm,
    issuer = '',
  } = context
  const known = id === '' ? {} : { client: { id, ...(secret !== undefined && { secret, issuer }) } }
  if (scenario.startsWith('auth/client-credentials-jwt') && privateKey !== undefined)
    return {
      grant: 'client_credentials',
      client: { id, privateKey, algorithm: (signing_algorithm ?? 'ES256') as 'ES256' },
    }
  if (scenario.startsWith('auth/client-credentials')) return { grant: 'client_credentials', ...known }
  const { idp_client_id: clientId, idp_id_token: idToken, idp_token_endpoint: tokenEndpoint } = context
  if (scenario.startsWith('auth/wif')) return { workload: { token: () => context.valid_jwt ?? '' } }
  if (clientId !== undefined && idToken !== undefined && tokenEndpoint !== undefined)
    return { ...known, enterprise: { idToken, tokenEndpoint, clientId } }
  const clientMetadataUrl = 'https://conformance-test.local/client-metadata.json'
  return { signIn, clientMetadataUrl, dpop: scenario.startsWith('auth/dpop'), ...known }
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
