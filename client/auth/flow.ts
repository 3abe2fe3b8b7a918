import type { Asker } from './ask.js'
import { createAsker } from './ask.js'
import { resourceOf } from './addresses.js'
import type { BearerChallenge } from './challenge.js'
import { signInWithCode } from './code.js'
import { discover, type Discovered } from './discovery.js'
import { authFailed, quotable } from './failure.js'
import { loadLibrary, type OAuthLibrary } from './library.js'
import { clientCredentials, enterpriseToken } from './machine-grants.js'
import type { OAuthSettings } from './options.js'
import { clientAt, forgetClient, presetClient, registered } from './registration.js'
import { chooseScope, hasScopes } from './scopes.js'
import { createShelf, isExpiring, type Shelf, type TokenSet, tokensOf } from './tokens.js'
import { ClientError } from '../base/errors.js'

/** Why tokens are wanted. */
export interface Renewal {
  /** The access token that is of no use; undefined when there was none. */
  readonly refused: string | undefined
  readonly challenge: BearerChallenge | undefined
  /** Whether the token is good and has too few scopes (403). */
  readonly stepUp: boolean
}

/** Gets the tokens for one server, one renewal at a time. */
export class AuthFlow {
  readonly #settings: OAuthSettings
  readonly #server: URL
  readonly #shelf: Shelf

  constructor(settings: OAuthSettings, server: URL) {
    this.#settings = settings
    this.#server = server
    this.#shelf = createShelf(settings.storage, resourceOf(server))
  }

  /** What the storage has. */
  async load(): Promise<TokenSet | undefined> {
    const place = await this.#shelf.place()
    return place === undefined ? undefined : this.#shelf.tokens(place.issuer)
  }

  /** Whether tokens can be had before the server asks for them: without a person. */
  canRenew(tokens: TokenSet): boolean {
    return tokens.refreshToken !== undefined || this.#settings.grant !== 'authorization_code'
  }

  /** Forgets the tokens for this server. */
  async forget(): Promise<void> {
    const place = await this.#shelf.place()
    if (place !== undefined) await this.#shelf.dropTokens(place.issuer)
  }

  /**
   * Tokens that are better than those refused: others have got them meanwhile, or by a refresh, or by a
   * sign-in.
   */
  async renew(renewal: Renewal, signal: AbortSignal): Promise<TokenSet> {
    const { storage, privateNetwork, requestTimeout: timeout, lookup } = this.#settings
    const server = this.#server
    const work = async (): Promise<TokenSet> => {
      const ask = await createAsker({ server, privateNetwork, timeout, signal, lookup })
      return this.#renew(ask, renewal, signal)
    }
    return storage.exclusive(this.#shelf.lockKey, work, signal)
  }

  async #renew(ask: Asker, renewal: Renewal, signal: AbortSignal): Promise<TokenSet> {
    const place = await this.#shelf.place()
    const { challenge, stepUp } = renewal
    const hint = challenge?.resourceMetadata ?? place?.resourceMetadata
    const found = await discover(ask, this.#server, hint)
    const { issuer } = found.metadata
    this.#checkBinding(issuer, place?.issuer)
    const before = await this.#shelf.tokens(issuer)
    if (before !== undefined && isBetter(before, renewal)) return this.#keep(before, found)
    const library = await loadLibrary(ask)
    const refreshed = stepUp || before === undefined ? undefined : await this.#refresh(library, found, before)
    if (refreshed !== undefined) return this.#keep(refreshed, found)
    const scope = this.#scope(found, renewal, before)
    if (stepUp && before !== undefined && hasScopes(before.scope, scope))
      throw authFailed(`the server wants scopes that were asked for already: ${quotable(scope)}`)
    const answer = await this.#signIn({ ask, library, found, scope, signal })
    // more may be asked for than is given: asking for that again is of no use
    return this.#keep({ ...tokensOf(answer, { scope, issuer }), scope }, found)
  }

  /**
   * A client registered beforehand is for one issuer: where the server names another, its secret stays with
   * the first (SEP-2352).
   */
  #checkBinding(issuer: string, before: string | undefined): void {
    const { client } = this.#settings
    if (client === undefined || client.issuer !== undefined || before === undefined || before === issuer)
      return
    throw authFailed(
      `client ${client.id} was used at ${quotable(before)}, and the server wants tokens of ${quotable(issuer)} now: register one there`,
    )
  }

  /** Undefined where only another sign-in helps. */
  async #refresh(library: OAuthLibrary, found: Discovered, before: TokenSet): Promise<TokenSet | undefined> {
    const { metadata, resource } = found
    const { refreshToken: token, scope } = before
    if (token === undefined) return undefined
    const client = await this.#knownClient(found)
    if (client === undefined) return undefined
    try {
      const answer = await library.grant({ metadata, client }, 'refresh_token', {
        refresh_token: token,
        resource,
      })
      return { ...tokensOf(answer, { scope, issuer: metadata.issuer, before }), scope }
    } catch (error) {
      if (!(error instanceof ClientError) || error.retryable) throw error
      await this.#shelf.dropTokens(metadata.issuer)
      await this.#forgetIfUnknown(error, found)
      return undefined
    }
  }

  #scope(
    found: Discovered,
    { challenge, stepUp }: Renewal,
    before: TokenSet | undefined,
  ): string | undefined {
    const { grant, scope: wanted } = this.#settings
    const { scopes_supported: offered } = found.metadata
    const offline =
      grant === 'authorization_code' && Array.isArray(offered) && offered.includes('offline_access')
    return chooseScope({
      challenged: challenge?.scope,
      wanted,
      resource: found.scopes,
      before: stepUp ? before?.scope : undefined,
      offline,
    })
  }

  async #signIn(wish: {
    readonly ask: Asker
    readonly library: OAuthLibrary
    readonly found: Discovered
    readonly scope: string | undefined
    readonly signal: AbortSignal
  }) {
    const { ask, found } = wish
    const settings = this.#settings
    const { metadata, resource } = found
    const registration = { ask, metadata, settings }
    try {
      if (settings.grant === 'authorization_code')
        return await signInWithCode({ ...wish, registration, resource })
      const client = await clientAt(registration, '')
      if (settings.enterprise !== undefined)
        return await enterpriseToken({ ...wish, client }, settings.enterprise)
      return await clientCredentials({ ...wish, client })
    } catch (error) {
      await this.#forgetIfUnknown(error, found)
      throw error
    }
  }

  async #knownClient({ metadata }: Discovered) {
    const settings = this.#settings
    if (settings.client !== undefined) return presetClient(settings.client, metadata)
    const { clientMetadataUrl } = settings
    if (clientMetadataUrl !== undefined && metadata.client_id_metadata_document_supported === true)
      return { id: clientMetadataUrl, method: 'none' } as const
    return registered({ metadata, settings })
  }

  async #forgetIfUnknown(error: unknown, { metadata }: Discovered): Promise<void> {
    const said = error instanceof ClientError ? (error.data as { error?: unknown }).error : undefined
    if (said === 'invalid_client' || said === 'unauthorized_client')
      await forgetClient({ metadata, settings: this.#settings })
  }

  async #keep(tokens: TokenSet, { metadata, resourceMetadata }: Discovered): Promise<TokenSet> {
    await this.#shelf.setTokens(tokens)
    await this.#shelf.setPlace({ issuer: metadata.issuer, resourceMetadata })
    return tokens
  }
}

/** Whether what the storage has by now will do: somebody else was first. */
function isBetter(tokens: TokenSet, { refused, challenge, stepUp }: Renewal): boolean {
  if (tokens.accessToken === refused || isExpiring(tokens, Date.now())) return false
  return !stepUp || hasScopes(tokens.scope, challenge?.scope)
}
