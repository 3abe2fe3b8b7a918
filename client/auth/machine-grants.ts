import type { Discovered } from './discovery.js'
import { authFailed } from './failure.js'
import type { KnownClient, OAuthLibrary, TokenAnswer } from './library.js'
import type { EnterpriseOptions } from './options.js'

/** One token that no person has to sign in for. */
export interface MachineWish {
  readonly library: OAuthLibrary
  readonly found: Discovered
  readonly client: KnownClient
  readonly scope: string | undefined
}

/** The client's own token (extension oauth-client-credentials). */
export function clientCredentials({ library, found, client, scope }: MachineWish): Promise<TokenAnswer> {
  const { metadata, resource } = found
  return library.grant({ metadata, client }, 'client_credentials', { scope, resource })
}

/**
 * A token for whoever signed in at the company's identity provider (extension
 * enterprise-managed-authorization): its ID token is exchanged there for an assertion (RFC 8693) that the
 * authorization server of the MCP server takes (RFC 7523).
 */
export async function enterpriseToken(
  wish: MachineWish,
  enterprise: EnterpriseOptions,
): Promise<TokenAnswer> {
  const { library, found, client, scope } = wish
  const { metadata, resource } = found
  const { idToken, tokenEndpoint, clientId, clientSecret } = enterprise
  const subject = typeof idToken === 'function' ? await idToken() : idToken
  if (typeof subject !== 'string' || subject === '') throw authFailed('enterprise.idToken: expected a token')
  const idp = { issuer: new URL(tokenEndpoint).origin, token_endpoint: tokenEndpoint }
  const method = clientSecret === undefined ? 'none' : 'client_secret_basic'
  const exchange = { id: clientId, secret: clientSecret, method } as const
  const assertion = await library.grant(
    { metadata: idp, client: exchange },
    'urn:ietf:params:oauth:grant-type:token-exchange',
    {
      requested_token_type: 'urn:ietf:params:oauth:token-type:id-jag',
      audience: metadata.issuer,
      resource,
      scope,
      subject_token: subject,
      subject_token_type: 'urn:ietf:params:oauth:token-type:id_token',
    },
  )
  return library.grant({ metadata, client }, 'urn:ietf:params:oauth:grant-type:jwt-bearer', {
    assertion: assertion.access_token,
    scope,
  })
}
