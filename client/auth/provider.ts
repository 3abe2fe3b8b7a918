import { outside } from '../../runtime/faults/containment.js'
import { lazy } from '../../runtime/faults/load.js'
import { messageOf } from '../../runtime/base/errors.js'
import { childSpec } from '../../runtime/supervision/child-spec.js'
import { forever } from '../../runtime/process/ref.js'
import { Registry } from '../../runtime/process/registry.js'
import { systemWorld, type World } from '../../runtime/time/world.js'
import { startSupervisor, type Supervisor } from '../../runtime/supervision/supervise.js'
import type { AuthAnswer, AuthRefusal, AuthRequest, ClientAuth } from '../../transports/http/client/auth.js'
import { resourceOf } from './discovery.js'
import { readChallenge } from './challenge.js'
import { authFailed } from './failure.js'
import { type OAuthOptions, type OAuthSettings, readOAuthOptions } from './options.js'
import { httpUrl, Proofs } from './proofs.js'
import { orAborted } from './storage.js'
import { isExpiring, type TokenSet } from './tokens.js'
import type { TokenDesk, tokensActor } from './tokens-actor.js'
import { ClientError } from '../base/errors.js'
import { bad } from '../base/read-options.js'

const loadFlow = /* @__PURE__ */ lazy('../../client/auth/flow.js', () => import('./flow.js'))
const loadActor = /* @__PURE__ */ lazy('../../client/auth/tokens-actor.js', () => import('./tokens-actor.js'))

/** Servers per provider. */
const maxServers = 100

interface ServerTokens {
  readonly desk: TokenDesk
  /** In the registry; resolves once the actor is started. */
  readonly name: Promise<string>
}

/**
 * OAuth for the option `auth` of any number of transports (specification: authorization): discovery,
 * registration, sign-in, refresh, step-up. They share tokens, one actor per server. Throws BAD_OPTION, naming
 * the field.
 */
export function oauth(options: OAuthOptions = {}): OAuth {
  const provider = new OAuth(readOAuthOptions(options))
  const close = (): void => void provider.close()
  if (options.signal?.aborted === true) close()
  options.signal?.addEventListener('abort', close, { once: true })
  return provider
}

/**
 * A provider of tokens. It starts with the first request, and loads the OAuth library with the first sign-in.
 */
export class OAuth implements ClientAuth, AsyncDisposable {
  readonly #settings: OAuthSettings
  readonly #registry = new Registry()
  readonly #proofs = new Proofs()
  readonly #places = new Map<string, ServerTokens>()
  #tree: Promise<Supervisor> | undefined
  /** The world of the first client that asks. */
  #ownWorld: World | undefined
  #closed = false

  constructor(settings: OAuthSettings) {
    this.#settings = settings
  }

  /** The headers of a request; none before a refusal led to a sign-in. Rejects with AUTHORIZATION_FAILED. */
  authorize(request: AuthRequest): AuthHeaders | Promise<AuthHeaders> {
    const { url, signal, world } = request
    this.#ownWorld ??= world
    const tokens = this.#places.get(keyOf(url))?.desk.tokens
    if (tokens !== undefined && !this.#closed && !isExpiring(tokens, this.#world.date()))
      return this.#headersOf(tokens, request)
    const asked = this.#ask(url, signal, (actor) => actor.call('current', undefined, forever))
    return asked.then((current) => this.#headersOf(current, request))
  }

  /** Renews refused tokens; rejects with AUTHORIZATION_FAILED or SIGN_IN_NEEDED when that fails. */
  async refused({ url, status, challenge, sent, signal }: AuthRefusal): Promise<void | 'taken'> {
    const told = readChallenge(challenge)
    if (told?.error === 'use_dpop_nonce') return undefined // `answered` has it
    // another token would be refused alike, and a person might be asked for it
    if (told?.error === 'invalid_dpop_proof')
      throw authFailed(
        'the server refuses the proof of our key (invalid_dpop_proof): set the clock of this machine, or sign out, which makes another key',
      )
    const refused = sent.authorization?.replace(/^\w+ /, '')
    const renewal = { refused, challenge: told, stepUp: status === 403 }
    const tokens = await this.#ask(url, signal, (actor) => actor.call('renew', renewal, forever))
    return tokens?.isTaken === true ? 'taken' : undefined
  }

  /** Keeps the nonce that a server wants in proofs. */
  answered({ url, headers }: AuthAnswer): void {
    this.#proofs.heard(url, headers)
  }

  /** A bound token goes with a proof of its own for each request (RFC 9449, section 7.1). */
  #headersOf(tokens: TokenSet | undefined, request: AuthRequest): AuthHeaders | Promise<AuthHeaders> {
    if (tokens === undefined) return {}
    const { accessToken: token, key } = tokens
    if (key === undefined) return { authorization: `Bearer ${token}` }
    const { method = 'GET', url, target = url } = request
    const proof = this.#proofs.prove(key, { method, target, token, world: this.#world })
    return proof.then((dpop) => ({ authorization: `DPoP ${token}`, dpop }))
  }

  /**
   * Forgets the tokens for a server, here and in the storage, and the client that was registered at its
   * issuer; the next refusal leads to a registration and a sign-in. Rejects with BAD_OPTION for what is no
   * address.
   */
  async signOut(server: string | URL): Promise<void> {
    const url = String(server)
    if (!URL.canParse(url)) throw bad('server', 'the address of a server', server)
    await this.#ask(new URL(url), new AbortController().signal, (actor) =>
      actor.call('forget', undefined, { timeout: this.#settings.requestTimeout + 5_000 }),
    )
  }

  /**
   * Ends its actors; requests that wait for tokens are refused. A refresh that was sent is stored first, for up to
   * `requestTimeout`. Never rejects, and may be called again.
   */
  async close(): Promise<void> {
    this.#closed = true
    const tree = await this.#tree?.catch(() => undefined)
    await tree?.stop().catch(() => {})
    // what was refreshed exists nowhere else
    await Promise.all(
      [...this.#places.values()].map(async ({ desk }) => {
        await desk.refreshing
        await desk.flush?.()
      }),
    )
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  get #world(): World {
    return this.#ownWorld ?? systemWorld
  }

  async #ask<T>(url: URL, signal: AbortSignal, ask: (actor: TokensRef) => Promise<T>): Promise<T> {
    if (this.#closed) throw authFailed('the OAuth provider is closed')
    const place = this.#placeOf(url)
    try {
      const name = await place.name
      return await orAborted(ask(this.#registry.named<typeof tokensActor>(name)), signal)
    } catch (cause) {
      if (cause instanceof ClientError || signal.aborted) throw cause
      // its actor has crashed: the next request finds another
      const details = { cause, retryable: !this.#closed, data: { sent: false } }
      throw new ClientError('AUTHORIZATION_FAILED', `the tokens cannot be had: ${messageOf(cause)}`, details)
    }
  }

  #placeOf(url: URL): ServerTokens {
    const key = keyOf(url)
    const known = this.#places.get(key)
    if (known !== undefined) return known
    if (this.#places.size >= maxServers) throw authFailed(`one provider is for ${maxServers} servers at most`)
    const desk: TokenDesk = { tokens: undefined }
    const name = this.#start(key, desk)
    name.catch(() => this.#places.delete(key))
    const place = { desk, name }
    this.#places.set(key, place)
    return place
  }

  async #start(key: string, desk: TokenDesk): Promise<string> {
    // outside the scope of the first request: it belongs to all
    const starting =
      this.#tree ??
      outside(() =>
        startSupervisor({
          strategy: 'one_for_one',
          registry: this.#registry,
          unowned: 'exit',
          clock: this.#world,
          // whether blocked turns are watched for is for the trees of clients and servers to say
          onBlocked: 'ignore',
        }),
      )
    this.#tree = starting
    const tree = await starting.catch((error: unknown) => {
      if (this.#tree === starting) this.#tree = undefined
      throw error
    })
    const [{ AuthFlow }, { tokensActor }] = await Promise.all([loadFlow(), loadActor()])
    const name = `tokens for ${key}`
    const world = this.#world
    const flow = new AuthFlow(this.#settings, new URL(key), { world, proofs: this.#proofs, desk })
    const input = { flow, desk, timeout: this.#settings.signInTimeout, world }
    await outside(() => tree.startChild(childSpec(tokensActor, input, { id: name, name })))
    return name
  }
}

type TokensRef = ReturnType<typeof Registry.prototype.named<typeof tokensActor>>
type AuthHeaders = Readonly<Record<string, string>>

/** A WebSocket server is known by its HTTP address. */
function keyOf(url: URL): string {
  return resourceOf(httpUrl(url))
}
