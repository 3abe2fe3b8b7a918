import { type OAuth, oauth, type OAuthOptions, type SignIn } from 'caduceus/client'

/** What a scenario tells about its client; texts, where it is about authorization. */
type Context = { readonly [field: string]: unknown }

/** The tokens of whoever the scenario says that we are: a person who signs in, a client with a secret or key, or an employee of a company. */
export function authFor(scenario: string, context: Context): OAuth {
  return oauth(optionsFor(scenario, context as { readonly [field: string]: string | undefined }))
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
  } = context
  const known = id === '' ? {} : { client: { id, ...(secret !== undefined && { secret }) } }
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
