import { isObject, type JsonObject } from '../../protocol/wire/json.js'
import { stackOf } from '../../runtime/base/errors.js'
import { pause, withDeadline } from '../../runtime/time/wait.js'
import type { World } from '../../runtime/time/world.js'
import { TransportError } from '../../transports/base/errors.js'
import { ClientError } from '../base/errors.js'
import { AskedTimes } from './asked.js'
import { createAsker, type Asker } from './ask.js'
import { discover, type Discovered, resourceOf } from './discovery.js'
import { asAuthFailure, authFailed, isDoubtful, isVerdict, quotable } from './failure.js'
import { finishCode, getToken, inVain } from './grants.js'
import { type Binding, type KnownClient, loadLibrary } from './library.js'
import type { OAuthSettings, ReturnedSignIn } from './options.js'
import { orAborted } from './storage.js'
import { chooseAlgorithm, makeProofKey, type ProofKey, type Proofs } from './proofs.js'
import type { TokenDesk } from './tokens-actor.js'
import { forgetClient, knownClient } from './registration.js'
import {
  chooseScope,
  createShelf,
  type GivenTokens,
  hasScopes,
  isExpiring,
  type Renewal,
  satisfies,
  type Shelf,
  type TokenSet,
  tokensOf,
} from './tokens.js'

/**
 * Whose tokens are: another client on the same storage has others. Undefined for one that the issuer
 * registers; null where another identity may ask next, so that nothing is shared.
 */
function identityOf({
  client,
  clientMetadataUrl,
  enterprise,
  workload,
  grant,
}: OAuthSettings): string | undefined | null {
  if (enterprise !== undefined || workload !== undefined) return null
  const id = client?.id ?? clientMetadataUrl
  return id === undefined && grant === 'authorization_code' ? undefined : `${grant} ${id ?? ''}`.trim()
}

/**
 * Milliseconds that refusals without a word of OAuth are tried again, where there was a sign-in before: a
 * firewall or a portal on the way must not cost a stored sign-in. Without a person they are tried again for
 * ever: nobody else helps.
 */
const doubtTime = 300_000

export class AuthFlow {
  readonly #settings: OAuthSettings
  readonly #server: URL
  readonly #world: World
  readonly #shelf: Shelf
  readonly #proofs: Proofs
  readonly #asked = new AskedTimes()
  readonly #desk: TokenDesk
  /** Whether the server has led to a sign-in before. */
  #isKnown = false
  #doubtsSince: number | undefined
  /** What was stored last. */
  #last: TokenSet | undefined
  #unsaved: Unsaved | undefined
  /** How often somebody has signed out here: what was asked for before that is not kept. */
  #signedOut = 0

  constructor(
    settings: OAuthSettings,
    server: URL,
    { world, proofs, desk }: { readonly world: World; readonly proofs: Proofs; readonly desk: TokenDesk },
  ) {
    this.#desk = desk
    this.#settings = settings
    this.#world = world
    this.#proofs = proofs
    this.#server = server
    this.#shelf = createShelf(settings.storage, resourceOf(server), identityOf(settings))
  }

  async load(signal: AbortSignal): Promise<TokenSet | undefined> {
    const returned = await this.#settings.signIn?.returned?.()
    if (returned !== undefined) {
      const finish = (): Promise<TokenSet> => this.#finish(returned, signal)
      return this.#settings.storage.exclusive(this.#shelf.lockKey, finish, signal)
    }
    const place = await this.#shelf.place()
    return place === undefined ? undefined : this.#stored(place.issuer)
  }

  /** Keeps the tokens of a sign-in that nobody waited for. */
  async #finish(returned: ReturnedSignIn, signal: AbortSignal): Promise<TokenSet> {
    const settings = this.#settings
    const ask = await this.#asker(signal)
    const { scope: asked, steppedUpTo: wanted, resourceMetadata } = returned.begun
    const hint = typeof resourceMetadata === 'string' ? resourceMetadata : undefined
    const found = await discover(ask, this.#server, hint)
    const { metadata } = found
    const { issuer } = metadata
    const algorithm = this.#algorithmFor(found)
    const library = await loadLibrary(ask)
    const key = algorithm === undefined ? undefined : await makeProofKey(algorithm)
    const registration = { ask, metadata, settings, world: this.#world }
    const how = { registration, library, found, signal, binding: this.#bindingTo(key), clock: this.#world }
    const { client } = returned.begun
    const answer = await finishCode(how, returned).catch(async (error: unknown) => {
      await this.#forgetIfUnknown(error, found, isObject(client) ? client : undefined)
      throw error
    })
    const scope = typeof asked === 'string' ? asked : undefined
    const tokens = {
      ...tokensOf(answer, { scope, issuer, key, now: this.#world.date() }),
      ...{ scope, ...(typeof wanted === 'string' && { steppedUpTo: wanted }) },
    }
    return this.#keep(tokens, found)
  }

  /** Tokens that fit the option `dpop`: bound to a known key, or bearer tokens. Others are ignored. */
  async #stored(issuer: string): Promise<TokenSet | undefined> {
    const tokens = await this.#shelf.tokens(issuer)
    if (tokens?.key === undefined) return this.#settings.dpop ? undefined : tokens
    return this.#settings.dpop && (await this.#proofs.isUsable(tokens.key)) ? tokens : undefined
  }

  /** Renewable without a person, and so before the server refuses them. */
  canRenew(tokens: TokenSet): boolean {
    return tokens.refreshToken !== undefined || this.#settings.grant !== 'authorization_code'
  }

  /** Also what is on its way: a refresh that has begun ends first, and a person may still be asked in vain. */
  async forget(signal: AbortSignal): Promise<void> {
    this.#asked.clear()
    this.#signedOut += 1
    const drop = async (): Promise<void> => {
      this.#last = undefined
      this.#unsaved = undefined
      const place = await this.#shelf.place()
      if (place === undefined) return
      await this.#shelf.dropTokens(place.issuer)
      // an issuer that has forgotten its client may say so to the person only
      await forgetClient({ metadata: place, settings: this.#settings }, undefined)
    }
    const { storage, requestTimeout } = this.#settings
    // a storage that never answers must not keep the lock
    const bounded = (): Promise<void> =>
      withDeadline(requestTimeout, this.#world, (late) => orAborted(drop(), late))
    await storage.exclusive(this.#shelf.lockKey, bounded, signal)
  }

  /** Resolves with new tokens: those that another program stored, or by a refresh, or by a sign-in. */
  async renew(renewal: Renewal, signal: AbortSignal): Promise<TokenSet> {
    const { storage } = this.#settings
    const signedOut = this.#signedOut
    const work = async (): Promise<TokenSet> => {
      const tokens = await this.#renew(await this.#asker(signal), renewal, signal)
      if (this.#signedOut === signedOut) return tokens
      // nor stored later
      this.#last = undefined
      this.#unsaved = undefined
      await this.#shelf.dropTokens(tokens.issuer)
      const details = { retryable: true, data: { sent: false } }
      throw new ClientError('AUTHORIZATION_FAILED', 'somebody has signed out meanwhile', details)
    }
    try {
      // a person who is asked for more scopes must not hold up refreshes
      const key = renewal.stepUp ? `${this.#shelf.lockKey} for scopes` : this.#shelf.lockKey
      const tokens = await storage.exclusive(key, work, signal)
      this.#doubtsSince = undefined
      // a refresh may end while more scopes come
      return renewal.stepUp || tokens.isTaken === true ? tokens : (this.#last ?? tokens)
    } catch (cause) {
      const error = asAuthFailure(cause)
      if (!isDoubtful(error) || !this.#mayDoubt()) throw cause
      const details = { cause, retryable: true, data: error.data }
      throw new ClientError('AUTHORIZATION_FAILED', `${error.message}; it was in order before`, details)
    }
  }

  #asker(signal: AbortSignal): Promise<Asker> {
    const { privateNetwork, requestTimeout: timeout, lookup } = this.#settings
    return createAsker({ server: this.#server, privateNetwork, timeout, signal, clock: this.#world, lookup })
  }

  #mayDoubt(): boolean {
    const now = this.#world.now()
    this.#doubtsSince ??= now
    if (!this.#isKnown) return false
    return this.#settings.signIn === undefined || now - this.#doubtsSince < doubtTime
  }

  async #renew(ask: Asker, renewal: Renewal, signal: AbortSignal): Promise<TokenSet> {
    const settings = this.#settings
    const place = await this.#shelf.place()
    const { challenge, stepUp } = renewal
    this.#isKnown = place !== undefined
    const hint = challenge?.resourceMetadata ?? place?.resourceMetadata
    const found = await discover(ask, this.#server, hint)
    // without it others would be asked
    if (place?.resourceMetadata !== undefined && found.resourceMetadata === undefined && this.#mayDoubt())
      throw authFailed(`${place.resourceMetadata} has no metadata any more`, { status: 404 })
    const { metadata } = found
    const { issuer } = metadata
    this.#checkBinding(issuer, place?.issuer)
    const algorithm = this.#algorithmFor(found)
    const before = await this.#current(issuer)
    if (before !== undefined && satisfies(before, renewal) && !isExpiring(before, this.#world.date()))
      return { ...(stepUp ? before : await this.#keep(before, found)), isTaken: true }
    const refreshed = stepUp || before === undefined ? undefined : await this.#refresh(found, before, signal)
    if (refreshed !== undefined) return refreshed
    const library = await loadLibrary(ask)
    const scope = this.#scope(found, renewal, before)
    if (stepUp && before?.steppedUpTo !== undefined && hasScopes(before.steppedUpTo, scope))
      throw authFailed(`the server wants scopes that were asked for already: ${quotable(scope)}`)
    const registration = { ask, metadata, settings, world: this.#world }
    // a refresh keeps its key: it is bound, too
    const key = algorithm === undefined ? undefined : await makeProofKey(algorithm)
    let answer: GivenTokens
    try {
      const binding = this.#bindingTo(key)
      const clock = this.#world
      const asking = (): void => this.#asked.add(clock.now())
      answer = await getToken({ registration, library, found, scope, stepUp, signal, binding, clock, asking })
    } catch (error) {
      await this.#forgetIfUnknown(error, found, undefined)
      throw error
    }
    const now = this.#world.date()
    // the scopes that were asked for: those that were not given are asked for once more where a server wants them
    const asked = { scope, ...(stepUp && scope !== undefined && { steppedUpTo: scope }) }
    const tokens = { ...tokensOf(answer, { scope, issuer, key, now }), ...asked }
    const keep = (): Promise<TokenSet> => this.#keep(tokens, found)
    const kept = stepUp ? settings.storage.exclusive(this.#shelf.lockKey, keep, signal) : keep()
    return settings.grant === 'authorization_code'
      ? kept.catch((cause) => Promise.reject(inVain(cause)))
      : kept
  }

  /** Of proofs; undefined for bearer tokens. A server that cannot bind tokens is not asked for any. */
  #algorithmFor({ metadata, binding }: Discovered): ProofKey['alg'] | undefined {
    const { issuer, dpop_signing_alg_values_supported: offered } = metadata
    if (!this.#settings.dpop) {
      if (binding?.required !== true) return undefined
      throw authFailed('the server takes tokens only that are bound to a key: give oauth() the option dpop')
    }
    const algorithm = chooseAlgorithm(offered ?? [], binding?.algorithms)
    if (algorithm !== undefined) return algorithm
    throw authFailed(
      `${quotable(issuer)} and the server do not both say that they support DPoP with ES256, EdDSA or ES384, and with the option dpop no other tokens are asked for`,
    )
  }

  #bindingTo(key: ProofKey | undefined): Binding | undefined {
    if (key === undefined) return undefined
    const [proofs, world] = [this.#proofs, this.#world]
    return {
      prove: (target) => proofs.prove(key, { method: 'POST', target, world }),
      heard: (place, headers) => proofs.heard(place, headers),
    }
  }

  /** A preregistered client is for one issuer: its secret goes to no other (SEP-2352). */
  #checkBinding(issuer: string, before: string | undefined): void {
    const { client } = this.#settings
    if (client === undefined || client.issuer !== undefined || before === undefined || before === issuer)
      return
    throw authFailed(
      `client ${client.id} was used at ${quotable(before)}, and the server wants tokens of ${quotable(issuer)} now: register one there`,
    )
  }

  /** Undefined where only another sign-in helps. */
  async #refresh(found: Discovered, before: TokenSet, signal: AbortSignal): Promise<TokenSet | undefined> {
    const { metadata } = found
    const { refreshToken: token, client: given } = before
    if (token === undefined) return undefined
    const registration = { metadata, settings: this.#settings, world: this.#world }
    const client = await knownClient(registration, undefined, given)
    if (client === undefined) return undefined
    signal.throwIfAborted()
    // from here on it goes on without us: the token counts once, and its answer exists nowhere else
    const refreshing = this.#trade(found, before, client)
    this.#desk.refreshing = refreshing.catch(() => {})
    try {
      return await refreshing
    } catch (error) {
      if (!(error instanceof ClientError) || error.retryable) throw error
      // a person who is there is asked, and may help; the token stays until then
      if (isDoubtful(error) && this.#settings.signIn === undefined && this.#mayDoubt()) throw error
      if (isVerdict(error)) await this.#shelf.dropTokens(metadata.issuer)
      await this.#forgetIfUnknown(error, found, given)
      return undefined
    }
  }

  async #trade(found: Discovered, before: TokenSet, client: KnownClient): Promise<TokenSet> {
    const { metadata, resource } = found
    const { refreshToken, scope, steppedUpTo, key } = before
    const { signal } = new AbortController()
    const library = await loadLibrary(await this.#asker(signal))
    const binding = this.#bindingTo(key)
    const answer = await library.grant({ metadata, client, binding }, 'refresh_token', {
      refresh_token: refreshToken,
      resource,
    })
    const now = this.#world.date()
    const tokens = {
      ...tokensOf(answer, { scope, issuer: metadata.issuer, key, before, now }),
      ...{ scope, ...(steppedUpTo !== undefined && { steppedUpTo }) },
    }
    return this.#keep(tokens, found, refreshToken)
  }

  #scope(found: Discovered, { challenge, stepUp }: Renewal, before: TokenSet | undefined) {
    const { grant, scope: wanted } = this.#settings
    const { scopes_supported: offered } = found.metadata
    return chooseScope({
      challenged: challenge?.scope,
      wanted,
      resource: found.scopes,
      before: stepUp ? before?.scope : undefined,
      offline: grant === 'authorization_code' && Array.isArray(offered) && offered.includes('offline_access'),
    })
  }

  async #forgetIfUnknown(
    error: unknown,
    { metadata }: Discovered,
    client: JsonObject | undefined,
  ): Promise<void> {
    const { error: said, status } = (error instanceof ClientError ? error.data : {}) as {
      readonly error?: unknown
      readonly status?: unknown
    }
    if (status === undefined) return // what an address says that a browser came back with is anybody's word
    if (said === 'invalid_client' || said === 'unauthorized_client')
      await forgetClient({ metadata, settings: this.#settings }, client)
  }

  /** Those that are stored, or those that could not be, unless another program has stored others meanwhile. */
  async #current(issuer: string): Promise<TokenSet | undefined> {
    const stored = await this.#stored(issuer)
    const { tokens, usedUp } = this.#unsaved ?? {}
    if (tokens?.issuer === issuer && (stored === undefined || stored.refreshToken === usedUp)) return tokens
    this.#unsaved = undefined
    return stored
  }

  /** What cannot be stored is kept here, and stored as soon as it can be: it exists nowhere else. */
  async #keep(tokens: TokenSet, found: Discovered, usedUp?: string): Promise<TokenSet> {
    this.#last = tokens
    const { metadata, resourceMetadata } = found
    for (const ms of [...writePauses, undefined])
      try {
        await this.#shelf.setTokens(tokens)
        await this.#shelf.setPlace({ issuer: metadata.issuer, resourceMetadata })
        this.#unsaved = undefined
        return tokens
      } catch (error) {
        if (isTooLong(error)) {
          warn(error)
          this.#unsaved = undefined
          return tokens
        }
        const unsaved = { tokens, found, usedUp: usedUp ?? this.#unsaved?.usedUp }
        this.#unsaved = unsaved
        this.#desk.flush = () => this.#flush(unsaved)
        if (ms !== undefined) await pause(ms, this.#world)
        else {
          warn(error)
          this.#storeLater(unsaved)
        }
      }
    return tokens
  }

  /** Keeps no program alive. */
  #storeLater(unsaved: Unsaved): void {
    const timer = this.#world.setTimeout(() => {
      void this.#flush(unsaved).then((isOver) => isOver || this.#storeLater(unsaved))
    }, storeAgain)
    ;(timer as Partial<NodeJS.Timeout> | undefined)?.unref?.()
  }

  /** Stores it, unless others came instead; whether that is over. Never rejects. */
  async #flush(unsaved: Unsaved): Promise<boolean> {
    if (this.#unsaved !== unsaved) return true
    const { tokens, found } = unsaved
    const store = async (): Promise<void> => {
      if ((await this.#current(tokens.issuer)) !== tokens) return
      await this.#shelf.setTokens(tokens)
      const { metadata, resourceMetadata } = found
      await this.#shelf.setPlace({ issuer: metadata.issuer, resourceMetadata })
      this.#unsaved = undefined
    }
    const { storage, requestTimeout } = this.#settings
    return withDeadline(requestTimeout, this.#world, (late) =>
      orAborted(storage.exclusive(this.#shelf.lockKey, store, late), late),
    ).then(
      () => true,
      () => false,
    )
  }
}

/** What could not be stored, and the refresh token that was given for it: a storage that has it is behind. */
interface Unsaved {
  readonly tokens: TokenSet
  readonly found: Discovered
  readonly usedUp: string | undefined
}

/** Ms between two attempts to store them, later. */
const storeAgain = 5_000

/** Ms before tokens that could not be stored are stored again. */
const writePauses = [100, 400, 1_500]

function warn(error: unknown): void {
  process.emitWarning(`new tokens cannot be stored, other programs have the old ones: ${stackOf(error)}`, {
    code: 'CADUCEUS_STRAY',
  })
}

/** What no storage will ever take: it is good for as long as the program. */
function isTooLong(error: unknown): boolean {
  return error instanceof TransportError && error.code === 'MESSAGE_TOO_LONG'
}
