import { AsyncLocalStorage } from 'node:async_hooks'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type Provider from 'oidc-provider'
import type {
  AccessToken,
  Client,
  Configuration,
  Grant,
  Interaction,
  JWK,
  KoaContextWithOIDC,
  RefreshToken,
  Session,
} from 'oidc-provider'
import { isObject } from '../../protocol/wire/json.js'
import { messageOf } from '../../runtime/base/errors.js'
import { lazy } from '../../runtime/faults/load.js'
import { lastingWorld } from '../../runtime/process/context.js'
import { pause } from '../../runtime/time/wait.js'
import type { World } from '../../runtime/time/world.js'
import type { SeenProof } from '../auth/dpop.js'
import { keepAmong } from '../auth/keep-among.js'
import { refused } from '../auth/tokens.js'
import { optionError, TransportError } from '../base/errors.js'
import { siteOf } from '../base/network.js'
import { repeatRequest } from '../base/repeat-request.js'
import { pathOf, queryOf } from '../base/target.js'
import {
  type Credentials,
  type CredentialsVisit,
  loginOf,
  type Principal,
  type WantedCredentials,
  withLogin,
} from '../contract/principal.js'
import type { Values } from '../contract/values.js'
import { safeFetch } from '../http/outgoing/fetch.js'
import { toResponse } from '../http/outgoing/to-response.js'
import {
  type AdapterInput,
  agreed,
  documentKey,
  lastDocumentKey,
  endGrant,
  isDocument,
  put,
  takeOnce,
  usedClient,
  ValueAdapter,
} from './adapter.js'
import {
  checkOrigin,
  cookieOf,
  digest,
  isSame,
  markOf,
  notOurs,
  readBody,
  redirect,
  secretOf,
  sendPage,
} from './browser.js'
import { UserCredentials } from './credentials.js'
import { Grants, longestGrant } from './grants.js'
import { newSigningKey } from './keys.js'
import { consentPage, messagePage, pageHeaders } from './pages.js'
import { callbackPath, metadataPlaceOf, pageOf, resumedAt, routes, visitOf } from './paths.js'
import { IdentityProvider, type SignedInUser } from './provider.js'
import { type LoginProof, openLogin, type ProviderLogin, type ProviderTokens } from './provider-login.js'
import { RateLimits, type SignInLimits } from './rate-limits.js'
import { overlap, RefreshChains, shortestUse } from './refresh-chains.js'
import { isForbidden, isOfProgram, isOnDevice } from './redirects.js'
import { baseScope } from './scopes.js'
import type { SignInSettings } from './sign-in.js'
import { TokenIds } from './token-ids.js'
import { upstreamTokensKey } from './upstream-storage.js'
import { wasUsed } from './used-proofs.js'
import { Users, whoIs } from './users.js'

const loadProvider = /* @__PURE__ */ lazy('oidc-provider', () =>
  import('oidc-provider').catch((cause: unknown) =>
    Promise.reject(
      optionError(
        'auth',
        'the package oidc-provider (9) is needed for signIn: npm install oidc-provider',
        cause,
      ),
    ),
  ),
)

type Library = Awaited<ReturnType<typeof loadProvider>>

/** Milliseconds for a login at the provider, and for the consent. */
const loginTime = 600_000
/** How often, and after how many ms, the decision of another click is looked for. */
const decisionLooks = 40
const decisionPause = 50
/** Milliseconds between two looks whether a user has come back. */
const visitPause = 500
/** Milliseconds for the metadata document of a client, and for its keys. */
const fetchTime = 5_000
/** Bytes of the form of a page, and of a registration. */
const formBytes = 16_384
const registrationBytes = 4_096
/** What is kept of it, and of the document of a client (a limit of `oidc-provider`, too). */
const clientBytes = 2_048
const documentBytes = 5_120
/** Bytes of a request for tokens. */
const tokenBytes = 65_536
/** Characters of the query of an authorization: it is kept for a while. */
const queryLength = 4_096

/** Visits for more scopes of one user at a time, and characters of one. */
const mostVisits = 16
const mostOfVisit = 4_096

/** Parameters of OpenID, and the answer by a form, which needs a page with a script. */
const ofOpenId = ['nonce', 'max_age', 'acr_values', 'claims', 'id_token_hint', 'response_mode']
/** What clients may do here; they name more, for other servers. */
const grantTypes: readonly unknown[] = ['authorization_code', 'refresh_token']
const authMethods = ['none', 'client_secret_basic', 'client_secret_post', 'private_key_jwt'] as const
/**
 * Milliseconds that a client may be known by one assertion (RFC 7523, 3: `exp`), with a minute for its clock.
 */
const longestAssertion = 660_000
/** What is fetched of clients at once, for one network and for all. */
const ofNetwork = 3
const mostFetches = 100
/** Documents of clients that are known here. */
const mostRead = 100
/** Bytes of the keys of a client. */
const keyBytes = 16_384
/** Characters of the address that a client is: each of its tokens has it. */
const longestId = 512

/** A document, or keys, of a client: what is being fetched. */
interface ClientFetch {
  readonly network: string
  /** Whether a user has let the client in. */
  readonly isKnown: boolean
  readonly until: number
}

/** The document of a client, as it was fetched last. */
interface ReadDocument {
  readonly text: string
  /** Whether the engine has it. */
  isKept: boolean
}

/** An answer that all have who have asked at once. */
interface FetchedKeys {
  readonly status: number
  readonly headers: Headers
  readonly body: ArrayBuffer
}

/** A login that a browser is away for, at the provider. */
interface PendingLogin extends LoginProof {
  readonly purpose: LoginPurpose
  /** The digest of what the browser has in its cookie. */
  readonly browser: string
}

/** An authorization that goes on with it, or more scopes for an account that there is. */
type LoginPurpose =
  | { readonly uid: string }
  | { readonly account: string; readonly visit: string }
  /** A page of ours wants to know whose browser it is. */
  | { readonly account: string; readonly back: string }

/** What a user is wanted at the provider for. */
interface Visit {
  readonly account: string
  readonly scopes: readonly string[]
  /** Whether they have come back, with what was asked for or without. */
  readonly isOver?: boolean
}

type LoginEnd = { readonly account: string } | { readonly refused: string }

/** The authorization server of one resource, whose users sign in at an identity provider. */
export class AuthorizationServer {
  readonly #settings: SignInSettings
  readonly #values: Values
  readonly #world: World
  readonly #library: Library
  readonly #login: ProviderLogin
  readonly #users: Users
  readonly #credentials: UserCredentials
  readonly #grants: Grants
  readonly #tokenIds: TokenIds
  readonly #limits: RateLimits
  readonly #provider: Provider
  readonly #handle: (request: IncomingMessage, response: ServerResponse) => Promise<void>
  readonly #cookie: string
  /** Of the cookies of `oidc-provider`. */
  readonly #names: { readonly session: string; readonly interaction: string; readonly resume: string }
  /** What is being fetched, for which networks, and until when at most. */
  readonly #fetches = new Map<string, ClientFetch>()
  /** Keys that are being fetched, by address. */
  readonly #keys = new Map<string, Promise<FetchedKeys>>()
  /** Requests of clients whose keys could not be fetched. */
  readonly #withoutKeys = new WeakSet<object>()
  /** What is left to do of requests for tokens. */
  readonly #last = new WeakMap<object, () => Promise<void>>()
  /** Documents that were read last, by address. */
  readonly #read = new Map<string, ReadDocument>()
  /** The network of a request. */
  readonly #network = new AsyncLocalStorage<string>()
  /** What browsers have in their cookie, of requests that begin or go on with an authorization. */
  readonly #browsers = new WeakMap<IncomingMessage, string>()
  #reportedAt = Number.NEGATIVE_INFINITY

  constructor(settings: SignInSettings, parts: ServerParts) {
    const { values, world, library, login, keys } = parts
    this.#settings = settings
    this.#values = values
    this.#world = world
    this.#library = library
    this.#login = login
    this.#users = new Users(settings, values, world)
    this.#credentials = new UserCredentials(values, login, world)
    this.#grants = new Grants(values, world)
    this.#tokenIds = new TokenIds(keys.cookies, world)
    this.#limits = new RateLimits(settings.limits, world)
    // cookies know no ports: another server of this host has its own
    const { protocol, port } = new URL(settings.issuer)
    const [host, path] = protocol === 'https:' ? ['__Host-', '__Secure-'] : ['', '']
    const at = port === '' ? '' : `-${port}`
    this.#names = {
      session: `${host}session${at}`,
      interaction: `${path}interaction${at}`,
      resume: `${path}resume${at}`,
    }
    this.#provider = new library.default(settings.issuer, this.#configuration(keys))
    // requests are made to say that they came to the issuer, whatever a proxy or a client has written there
    this.#provider.proxy = true
    this.#nameChains()
    this.#provider.use((ctx, next) => this.#sendNobodyOn(ctx as KoaContextWithOIDC, next))
    this.#provider.use((ctx, next) => this.#tellScopes(ctx as KoaContextWithOIDC, next))
    this.#provider.use((ctx, next) => this.#tellToComeAgain(ctx as KoaContextWithOIDC, next))
    this.#provider.use((ctx, next) => this.#doLast(ctx as KoaContextWithOIDC, next))
    this.#provider.on('server_error', (ctx, error) => this.#fail(ctx, error))
    this.#handle = this.#provider.callback()
    // a cookie of that name is of this host alone, and comes over https only
    this.#cookie = `${host}sign-in`
  }

  #nameChains(): void {
    const ids = this.#tokenIds
    const { AccessToken, RefreshToken } = this.#provider
    Object.assign(RefreshToken.prototype, {
      generateTokenId(this: { nonce?: string | undefined; readonly rotations?: number | undefined }) {
        const { nonce = ids.newChain(), rotations = 0 } = this
        // the library hands it on to the next one
        this.nonce = nonce
        return ids.refreshToken({ chain: nonce, rotations })
      },
    })
    const { generateTokenId: random } = AccessToken.prototype as unknown as NamedToken
    const { default: library } = this.#library
    // one that has ended, or is about to, is not given again
    const lasts = Math.min(overlap, this.#settings.lifetimes.accessToken / 2)
    const at = (): number => Math.floor(this.#world.date() / lasts)
    Object.assign(AccessToken.prototype, {
      // those of one renewal are one: none of them pushes out another
      generateTokenId(this: NamedToken) {
        const { entities, params } = library.ctx?.oidc ?? {}
        const token = entities?.RefreshToken
        const { nonce: chain, rotations = 0 } = token ?? {}
        // asked in any case: it notes the format
        const own = random.call(this)
        if (chain === undefined) return own
        const { scope, jkt } = this
        // what is asked for: a user may have lost some of it
        const isPlain = isAllOf(params?.scope, token?.scope) && (jkt === undefined || jkt === token?.jkt)
        return ids.accessToken({ chain, rotations }, { at: at(), isPlain, scope, jkt })
      },
    })
  }

  /** Answers a request to a path of its own. Never rejects. */
  async answer(request: IncomingMessage, response: ServerResponse, address = ''): Promise<void> {
    try {
      await this.#network.run(siteOf(address), () => this.#answer(request, response, address))
    } catch (cause) {
      this.#refuse(response, cause)
    }
  }

  /** Whose an access token is. Rejects with UNAUTHORIZED, and AUTHORIZATION_UNAVAILABLE without its engine. */
  async principalOf(token: string): Promise<Principal> {
    return this.#lookUp(() => this.#principalOf(token), 'whose a token is')
  }

  async #principalOf(token: string): Promise<Principal> {
    const { resource } = this.#settings
    const found = await this.#provider.AccessToken.find(token)
    if (found === undefined || !found.isValid) throw refused('the token is not known, or has expired')
    if (![found.aud].flat().includes(resource)) throw refused('the token is for another resource')
    // there is nobody who looks at proofs
    if (found.jkt !== undefined && !this.#settings.dpop) throw refused('the token is bound to a key')
    const user = await this.#users.userOf(found.accountId)
    if (user === undefined) throw refused('its user has signed out')
    return {
      issuer: user.issuer,
      subject: user.subject,
      ...(found.clientId !== undefined && { clientId: found.clientId }),
      scopes: found.scope?.split(' ') ?? [],
      ...(found.exp !== undefined && { expiresAt: found.exp * 1_000 }),
      claims: {
        ...claimsOf(user),
        ...withLogin(digest(found.accountId)),
        ...(found.jkt !== undefined && { cnf: { jkt: found.jkt } }),
      },
    }
  }

  /**
   * Whether a proof has been used before, at any node; it is now. Rejects with CLIENT_LIMIT, and
   * AUTHORIZATION_UNAVAILABLE without its engine.
   */
  async hasSeen(proof: SeenProof): Promise<boolean> {
    return this.#lookUp(() => wasUsed(this.#values, this.#world, proof), 'whether a proof was used')
  }

  async #lookUp<Found>(look: () => Promise<Found>, what: string): Promise<Found> {
    try {
      return await look()
    } catch (cause) {
      if (!comesBack(cause)) throw cause
      const problem = `${what} cannot be looked up at the moment`
      throw new TransportError('AUTHORIZATION_UNAVAILABLE', problem, { cause, retryable: true })
    }
  }

  /**
   * The token of a user at the provider, or where they get one that is good for more. Rejects with UNAUTHORIZED
   * without one, and where the user comes back without, or not within ten minutes.
   */
  async credentials(
    principal: Principal,
    wanted: WantedCredentials | undefined,
    signal: AbortSignal,
  ): Promise<Credentials | CredentialsVisit> {
    const account = await this.#users.accountOf(principal)
    const login = loginOf(principal)
    // a call of a user who has signed out since gets nothing of their new login
    const isOver = login !== undefined && account !== undefined && login !== digest(account)
    if (isOver) throw new TransportError('UNAUTHORIZED', signedOut)
    while (true) {
      const found = await this.#credentials.of(account, signal)
      const { scopes = [] } = found
      const lacking = wanted?.scopes.filter((scope) => !scopes.includes(scope)) ?? []
      if (account === undefined || wanted === undefined || lacking.length === 0) return found
      const { visit } = wanted
      if (visit === undefined) return this.#visit({ account, scopes: [...scopes, ...lacking] })
      // it is kept for ten minutes
      if ((await this.#visitAt(visit))?.isOver !== false)
        throw new TransportError('UNAUTHORIZED', `the user has not granted ${lacking.join(', ')}`)
      await pause(visitPause, this.#world, signal)
    }
  }

  async #visit(visit: Visit): Promise<CredentialsVisit> {
    // one page, however often a tool asks; who does not know the account cannot guess it
    const id = digest(JSON.stringify([visit.account, [...visit.scopes].sort()]))
    const text = JSON.stringify({ ...visit, isOver: false })
    if (text.length > mostOfVisit)
      throw new TransportError('MESSAGE_TOO_LONG', `the scopes have more than ${mostOfVisit} characters`)
    await keepAmong(this.#values, this.#world, {
      list: `visits of ${visit.account}`,
      key: visitKey(id),
      text: () => text,
      ttl: loginTime,
      longest: loginTime,
      most: mostVisits,
    })
    const { issuer, with: provider } = this.#settings
    return { id, url: `${issuer}/sign-in/more/${id}`, provider: provider.name }
  }

  /** Ends all that a user has here, on all nodes. */
  async signOut({ issuer, subject }: Principal): Promise<void> {
    await this.#users.signOut({ issuer, subject }, async (account) => {
      // the user has gone: whoever comes in with this account meanwhile finds it out, and forgets what they keep
      await this.#credentials.forget(account)
      const claims = withLogin(digest(account))
      await put(this.#values, this.#world, upstreamTokensKey({ issuer, subject, claims }), undefined, 1)
      await this.#grants.endAll(account, whoIs({ issuer, subject }))
    })
  }

  async #answer(request: IncomingMessage, response: ServerResponse, address: string): Promise<void> {
    const path = pathOf(request.url)
    const isStep = path === routes.authorization || resumedAt(path) !== undefined
    // `oidc-provider` would take others, too; none of them has a cookie to know its browser by
    if (isStep && request.method !== 'GET') return notAllowed(response, 'GET')
    const wait = this.#limits.take(limitOf(path), address)
    if (wait !== undefined) return tooMany(response, wait)
    const page = pageOf(path)
    if (path === callbackPath) return this.#comeBack(request, response)
    if (page !== undefined) return this.#page(page, request, response)
    const visit = visitOf(path)
    if (visit !== undefined) return this.#goForMore(visit, request, response)
    const query = queryOf(request.url)
    if (query.length > queryLength) throw Object.assign(new Error('too long'), { statusCode: 414 })
    this.#address(request, metadataPlaceOf(path, new URL(this.#settings.resource).pathname))
    if (path === routes.authorization) this.#address(request, `${path}?${this.#asked(query)}`)
    const resumed = resumedAt(path)
    if (resumed !== undefined) {
      // `oidc-provider` goes on with what the cookie names
      if (cookieOf(request, this.#names.resume) !== resumed) throw notOurs()
      await this.#checkBrowser(resumed, request)
      // where something is wrong, it would answer as the query says
      this.#address(request, path)
      await this.#leaveOther(resumed, request, response)
    }
    if (isStep) response.appendHeader('set-cookie', this.#mark(request))
    if (path === routes.token && request.method === 'POST') return this.#giveTokens(request, response)
    if (path !== routes.registration) return this.#handle(request, response)
    allowAnyPage(request, response)
    if (response.writableEnded) return
    const fitted = await fitting(request)
    if (fitted === undefined) return tooLong(response)
    await this.#handle(fitted, response)
  }

  /**
   * An authorization request for scopes that there are. Each asks for the first one, too: without a scope that
   * is missing nobody would be asked for their consent.
   */
  #asked(query: string): string {
    const params = new URLSearchParams(query)
    params.set('scope', this.#known(params.get('scope') ?? ''))
    this.#nameResource(params)
    // nobody is identified to a client: what is for OpenID alone would be refused without its scope
    for (const name of ofOpenId) params.delete(name)
    return params.toString()
  }

  /** Of the scopes that are asked for those that there are, and the first one. */
  #known(scope: string): string {
    const known = scope.split(' ').filter((one) => Object.hasOwn(this.#settings.scopes, one))
    return [...new Set([baseScope, ...known])].join(' ')
  }

  /** Libraries write a slash in place of no path, and hosts in small letters (RFC 3986, section 6.2.3). */
  #nameResource(params: URLSearchParams): void {
    const { resource } = this.#settings
    const isOurs = (asked: string): boolean =>
      URL.canParse(asked) && !asked.includes('#') && new URL(asked).href === new URL(resource).href
    const asked = params.getAll('resource')
    params.delete('resource')
    for (const one of asked) params.append('resource', isOurs(one) ? resource : one)
  }

  /** Programs read JSON, also where the engine is away before the library has its turn. */
  async #giveTokens(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const named = await this.#withOwnNames(request).catch((cause: unknown) => {
      if (!comesBack(cause) && (cause as { readonly status?: unknown }).status !== 503) throw cause
      this.#report(cause)
      return undefined
    })
    if (named !== undefined) return this.#handle(named, response)
    allowAnyPage(request, response)
    sendError(response, 503, { error: 'temporarily_unavailable', error_description: again, wait: 5_000 })
  }

  /** A request for tokens with the resource and the scopes as they are called here. */
  async #withOwnNames(request: IncomingMessage): Promise<IncomingMessage> {
    const body = await readBody(request, tokenBytes)
    if (!/^application\/x-www-form-urlencoded/i.test(request.headers['content-type'] ?? ''))
      return repeatRequest(request, body)
    const form = new URLSearchParams(body.toString())
    this.#nameResource(form)
    // hosts repeat at each renewal what they asked for at first
    const scope = form.get('scope')
    if (scope !== null)
      form.set('scope', await this.#renewable(this.#known(scope), form.get('refresh_token')))
    return repeatRequest(request, Buffer.from(form.toString()))
  }

  /** Of these scopes those that the user has granted: hosts repeat what they asked for. */
  async #renewable(scope: string, refreshToken: string | null): Promise<string> {
    const token = refreshToken === null ? undefined : await this.#provider.RefreshToken.find(refreshToken)
    const has = token?.scope?.split(' ')
    if (has === undefined) return scope
    return scope
      .split(' ')
      .filter((one) => has.includes(one))
      .join(' ')
  }

  /**
   * Addresses are made of the issuer, and never of what a request says, also in its first line, or where a web
   * framework has us: an assertion, or a proof, for another server must not be good here.
   */
  #address(request: IncomingMessage, target = request.url): void {
    const { headers } = request
    const query = queryOf(target)
    const url = pathOf(target) + (query === '' ? '' : `?${query}`)
    Object.assign(request, { url, originalUrl: url, baseUrl: '' })
    const { host, protocol } = new URL(this.#settings.issuer)
    headers.host = host
    headers['x-forwarded-host'] = host
    headers['x-forwarded-proto'] = protocol.slice(0, -1)
  }

  /**
   * Anybody may register an address. Nobody is sent there for a request that has failed, unless they have let the
   * client in before (RFC 9700, section 4.11.2).
   */
  async #sendNobodyOn(ctx: KoaContextWithOIDC, next: () => Promise<unknown>): Promise<void> {
    await next()
    const isResumed = resumedAt(ctx.path) !== undefined
    const location = isResumed || ctx.path === routes.authorization ? ctx.response.get('location') : ''
    if (!URL.canParse(location)) return
    const { origin, search, hash } = new URL(location)
    // what a registered address has in itself comes first
    const answer = new URLSearchParams(`${search.slice(1)}&${hash.slice(1)}`)
    const error = answer.getAll('error').at(-1) ?? null
    if (error === null || origin === this.#settings.issuer) return
    const { client, session, entities } = ctx.oidc
    const grantId = client && grantIdOf(session, client.clientId)
    // a user has agreed to one address of a client, and to no other that it registered; a program has many ports
    const { redirect_uri: goes } = ctx.oidc.params ?? {}
    const isOwn = grantId !== undefined && isOnDevice(new URL(location))
    if (isOwn || (grantId !== undefined && (await this.#grants.isFor(grantId, String(goes))))) return
    // who has seen where it leads has refused there; and a program of this device may know why
    const isKnown =
      entities.Interaction?.result?.error_description === refusedHere || isOnDevice(new URL(location))
    if (isResumed && isKnown) return
    ctx.remove('location')
    ctx.status = 400
    const why = answer.getAll('error_description').at(-1) ?? null
    this.#showError(ctx, why === null ? error : `${error}: ${why}`)
  }

  /** In the metadata: the library names ways to answer that are not taken here, and not the scopes. */
  async #tellScopes(ctx: KoaContextWithOIDC, next: () => Promise<unknown>): Promise<void> {
    await next()
    const { body } = ctx
    if (!isObject(body) || !Array.isArray(body.scopes_supported)) return
    const scopes = [baseScope, ...Object.keys(this.#settings.scopes)]
    ctx.body = { ...body, scopes_supported: scopes, response_modes_supported: ['query'] }
  }

  #showError(ctx: KoaContextWithOIDC, text: string): void {
    ctx.set(pageHeaders())
    ctx.type = 'html'
    ctx.body = messagePage(this.#settings.name, text)
  }

  /** One step of an authorization: the login at the provider, or the consent. */
  async #page(uid: string, request: IncomingMessage, response: ServerResponse): Promise<void> {
    this.#address(request)
    const details = await this.#provider.interactionDetails(request, response)
    if (details.uid !== uid) throw notOurs()
    await this.#checkBrowser(uid, request)
    if (details.prompt.name === 'login') return this.#logIn(details, request, response)
    const clientId = String(details.params.client_id)
    const accountId = details.session?.accountId
    const client = await this.#provider.Client.find(clientId)
    const user = accountId === undefined ? undefined : await this.#users.userOf(accountId)
    if (client === undefined || user === undefined || accountId === undefined) throw notOurs()
    if (!(await this.#users.mayEnter(user))) return this.#end(request, response, denied(notLetIn))
    const asked = String(details.params.scope ?? '')
    const scopes = await this.#users.grantable(user, asked)
    const redirectUri = String(details.params.redirect_uri)
    if (request.method === 'POST') {
      checkOrigin(request, this.#settings.issuer)
      const form = new URLSearchParams((await readBody(request, formBytes)).toString())
      if (form.get('decision') !== 'allow') return this.#end(request, response, denied(refusedHere))
      // a role may have come since the page was shown; of two clicks one counts
      const shown = await takeOnce(this.#values, shownKey(uid))
      const decided = shown === undefined ? await this.#decided(uid) : undefined
      if (shown === undefined && decided === undefined) throw notOurs()
      if (shown === undefined) return this.#end(request, response, { consent: { grantId: decided } })
      const onPage = form.get('asked')?.split(' ')
      if (onPage === undefined) throw notOurs()
      // of two pages of one step the one that was answered counts
      const granted = scopes.filter(
        (scope) => (JSON.parse(shown) as string[]).includes(scope) && onPage.includes(scope),
      )
      const grantId = await this.#grant({ accountId, clientId }, granted, asked)
      await this.#grants.note({ grantId, accountId, clientId }, redirectUri)
      if ((await this.#users.userOf(accountId)) === undefined) {
        await this.#grants.endAll(accountId, whoIs(user))
        return this.#end(request, response, denied(signedOut))
      }
      await this.#keepDocument(clientId, true)
      return this.#end(request, response, { consent: { grantId } })
    }
    // one page is one decision, however often it is looked at
    if (details.result?.consent === undefined)
      await put(this.#values, this.#world, shownKey(uid), JSON.stringify(scopes), loginTime)
    const { scopes: texts, name } = this.#settings
    sendPage(
      response,
      200,
      consentPage({
        server: name,
        client: nameOf(client),
        from: isDocument(clientId) ? new URL(clientId).host : undefined,
        redirectUri,
        user: user.name ?? user.email ?? user.subject,
        provider: this.#settings.with.name,
        scopes: scopes.map((scope) => texts[scope] ?? scope),
        asked: scopes.join(' '),
      }),
      'form',
    )
  }

  /** What the other one of two clicks has come to; undefined if that is not known soon. */
  async #decided(uid: string): Promise<string | undefined> {
    for (let looks = 0; looks < decisionLooks; looks += 1) {
      const found = await this.#provider.Interaction.find(uid)
      const grantId = found?.result?.consent?.grantId
      if (found === undefined || grantId !== undefined) return grantId
      await pause(decisionPause, this.#world)
    }
    return undefined
  }

  async #logIn(details: Interaction, request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { uid } = details
    const end = await takeOnce(this.#values, endKey(uid))
    if (end !== undefined) {
      const read = JSON.parse(end) as LoginEnd
      if ('refused' in read) return this.#end(request, response, denied(read.refused))
      return this.#end(request, response, { login: { accountId: read.account, remember: true } })
    }
    return this.#leave({ uid }, this.#login.prove(), request, response)
  }

  /**
   * The browser was somebody else's before, maybe since a moment ago: `oidc-provider` would end that by a page
   * with a script.
   */
  async #leaveOther(uid: string, request: IncomingMessage, response: ServerResponse): Promise<void> {
    const step = await this.#provider.Interaction.find(uid)
    const account = step?.result?.login?.accountId
    if (step === undefined || account === undefined) return
    const session = await this.#provider.Session.get(this.#provider.createContext(request, response))
    if (session.accountId === undefined || session.accountId === account) return
    await session.destroy()
    step.session = undefined
    await step.save(step.exp - Math.floor(this.#world.date() / 1_000))
  }

  /** Who comes back must be the user of the account, whoever has the address of the page. */
  async #goForMore(id: string, request: IncomingMessage, response: ServerResponse): Promise<void> {
    const visit = await this.#visitAt(id)
    if (visit === undefined || request.method !== 'GET') throw notOurs()
    const { account, scopes } = visit
    return this.#leave({ account, visit: id }, this.#login.prove(scopes), request, response)
  }

  async #visitAt(id: string): Promise<Visit | undefined> {
    const kept = await this.#values.get(visitKey(id))
    return kept === undefined || kept.text === '' ? undefined : (JSON.parse(kept.text) as Visit)
  }

  /** Sends a browser to the provider. */
  async #leave(
    purpose: LoginPurpose,
    proof: LoginProof,
    request: IncomingMessage,
    response: ServerResponse,
  ): Promise<void> {
    const cookie = this.#mark(request)
    const pending: PendingLogin = { ...proof, purpose, browser: this.#browserOf(request) }
    await put(this.#values, this.#world, loginKey(proof.state), JSON.stringify(pending), loginTime)
    const address = await this.#login.begin(proof, this.#callback)
    redirect(response, address, { 'set-cookie': cookie })
  }

  /** The cookie by which a browser is known that begins something. No other host can set it (`__Host-`). */
  #mark(request: IncomingMessage): string {
    const { secret, setCookie } = markOf(request, this.#cookie, loginTime, this.#world)
    this.#browsers.set(request, secret)
    return setCookie
  }

  /** Throws for a browser without the cookie: all of those would be one. */
  #browserOf(request: IncomingMessage): string {
    const browser = this.#browsers.get(request) ?? secretOf(request, this.#cookie)
    if (browser === undefined) throw notOurs()
    return digest(browser)
  }

  /**
   * Whoever began an authorization goes on with it. The cookies of `oidc-provider` do not tell: a host beside this
   * one may set them, and have somebody sign in for it.
   */
  async #checkBrowser(uid: string, request: IncomingMessage): Promise<void> {
    const began = await this.#values.get(browserKey(uid))
    if (began === undefined || !isSame(began.text, this.#browserOf(request))) throw notOurs()
  }

  get #callback(): string {
    return `${this.#settings.issuer}${callbackPath}`
  }

  /** The provider has sent a browser back. */
  async #comeBack(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const answer = new URLSearchParams(queryOf(request.url))
    const text = await takeOnce(this.#values, loginKey(answer.get('state') ?? ''))
    if (text === undefined) throw notOurs()
    const { purpose, browser, ...proof } = JSON.parse(text) as PendingLogin
    // whoever began the login is who ends it: else an attacker could have somebody use their account
    if (!isSame(this.#browserOf(request), browser)) throw notOurs()
    if ('back' in purpose) return this.#comeBackTo(purpose, answer, proof, request, response)
    if ('account' in purpose) {
      const problem = await this.#widen(purpose.account, answer, proof)
      // somebody else's attempt ends nobody's
      const visit = problem === asAnother ? undefined : await this.#visitAt(purpose.visit)
      if (visit !== undefined)
        await put(
          this.#values,
          this.#world,
          visitKey(purpose.visit),
          JSON.stringify({ ...visit, isOver: true }),
          loginTime,
        )
      const { name } = this.#settings
      const told = problem ?? 'That is all. Close this page, and go back to your program.'
      return sendPage(response, problem === undefined ? 200 : 403, messagePage(name, told))
    }
    await this.#checkBrowser(purpose.uid, request)
    const end = await this.#finish(answer, proof)
    await put(this.#values, this.#world, endKey(purpose.uid), JSON.stringify(end), loginTime)
    redirect(response, `/sign-in/${purpose.uid}`)
  }

  /** Whose browser it is, is known for ten minutes. */
  async #comeBackTo(
    { account, back }: { readonly account: string; readonly back: string },
    answer: URLSearchParams,
    proof: LoginProof,
    request: IncomingMessage,
    response: ServerResponse,
  ): Promise<void> {
    // their tokens stay: those that come with this may be good for less
    const user = await this.#login.finish(answer, proof, this.#callback).catch((cause: unknown) => {
      if (!(cause instanceof TransportError && cause.code === 'UNAUTHORIZED')) throw cause
      this.#noteRefusal(cause)
    })
    const isSelf = user !== undefined && (await this.#users.accountOf(user.user)) === account
    if (!isSelf) return sendPage(response, 403, messagePage(this.#settings.name, asAnother))
    await put(this.#values, this.#world, shownByKey(this.#browserOf(request)), account, loginTime)
    redirect(response, back)
  }

  /**
   * Whether the browser is that of the principal; false: it was sent to the provider, and comes back to
   * `path`.
   */
  async shows(
    principal: Principal,
    request: IncomingMessage,
    response: ServerResponse,
    path: string,
  ): Promise<boolean> {
    const account = await this.#users.accountOf(principal)
    if (account === undefined || !(await this.isSignedIn(principal))) throw notOurs()
    const secret = secretOf(request, this.#cookie)
    const shown = secret === undefined ? undefined : await this.#values.get(shownByKey(digest(secret)))
    if (shown?.text === account) return true
    await this.#leave({ account, back: path }, this.#login.prove(), request, response)
    return false
  }

  /** Whether the login of a principal is there: who is signed out loses first what is looked at last. */
  async isSignedIn(principal: Principal): Promise<boolean> {
    const account = await this.#users.accountOf(principal)
    if (account === undefined || loginOf(principal) !== digest(account)) return false
    return (await this.#users.userOf(account)) !== undefined
  }

  /** Keeps a token that is good for more; answers why not. */
  async #widen(account: string, answer: URLSearchParams, proof: LoginProof): Promise<string | undefined> {
    try {
      const { user, tokens } = await this.#login.finish(answer, proof, this.#callback)
      if ((await this.#users.accountOf(user)) !== account) return asAnother
      return (await this.#keepCredentials(account, tokens)) ? undefined : asAnother
    } catch (cause) {
      if (!(cause instanceof TransportError && cause.code === 'UNAUTHORIZED')) throw cause
      this.#noteRefusal(cause)
      return 'It was refused. Close this page, and go back to your program.'
    }
  }

  /** False, and nothing is kept, for a user who was signed out meanwhile. */
  async #keepCredentials(account: string, tokens: ProviderTokens): Promise<boolean> {
    await this.#credentials.keep(account, tokens, usedClient)
    const isThere = (await this.#users.userOf(account)) !== undefined
    if (!isThere) await this.#credentials.forget(account)
    return isThere
  }

  /** What is no decision of the user has to be mended. */
  #noteRefusal(cause: TransportError): void {
    const { error } = (cause.cause ?? {}) as { readonly error?: unknown }
    if (error !== 'access_denied') this.#report(cause)
  }

  async #finish(answer: URLSearchParams, proof: LoginProof): Promise<LoginEnd> {
    try {
      const { user, tokens } = await this.#login.finish(answer, proof, this.#callback)
      if (!(await this.#users.mayEnter(user))) return { refused: notLetIn }
      const account = await this.#users.keep(user)
      if (await this.#keepCredentials(account, tokens)) return { account }
      return { refused: signedOut }
    } catch (cause) {
      if (cause instanceof TransportError && cause.code === 'UNAUTHORIZED') {
        this.#noteRefusal(cause)
        return { refused: cause.message }
      }
      throw cause
    }
  }

  /** A grant of its own for each consent: what is asked for and not granted is not asked for again. */
  async #grant(
    who: { readonly accountId: string; readonly clientId: string },
    granted: readonly string[],
    asked: string,
  ): Promise<string> {
    const { resource } = this.#settings
    const grant = new this.#provider.Grant(who)
    grant.iat = Math.floor(this.#world.date() / 1_000)
    grant.addResourceScope(resource, [baseScope, ...granted].join(' '))
    const others = asked.split(' ').filter((scope) => scope !== baseScope && !granted.includes(scope))
    if (others.length > 0) grant.rejectResourceScope(resource, others.join(' '))
    return grant.save()
  }

  /** Whose a new token is, who may still come in. */
  async #entering({ accountId = '', grantId = '' }: GrantedToken): Promise<SignedInUser> {
    const { errors } = this.#library
    const user = await this.#users.userOf(accountId)
    if (user === undefined) throw new errors.InvalidGrant(signedOut)
    const may = await this.#users.mayEnter(user).catch((cause: unknown) => this.#cannotSay(cause))
    if (may) return user
    await endGrant(this.#values, this.#world, grantId)
    throw new errors.InvalidGrant(notLetIn)
  }

  /** Whether a user may grant any of these now. */
  async #canGrant(account = '', scopes: readonly string[]): Promise<boolean> {
    const user = await this.#users.userOf(account)
    if (user === undefined) return false
    const may = this.#users
      .grantable(user, scopes.join(' '))
      .catch((cause: unknown) => this.#cannotSay(cause))
    return (await may).length > 0
  }

  async #stillGranted(code: GrantedToken, scopes: readonly string[]): Promise<readonly string[]> {
    const user = await this.#entering(code)
    return this.#users.grantable(user, scopes.join(' ')).catch((cause: unknown) => this.#cannotSay(cause))
  }

  #cannotSay(cause: unknown): never {
    this.#report(cause)
    throw this.#unavailable()
  }

  #unavailable(): Error {
    const { CustomOIDCProviderError } = this.#library.errors
    const error = new CustomOIDCProviderError('temporarily_unavailable', again)
    return Object.assign(error, { status: 503, statusCode: 503 })
  }

  /** A user may have lost what they had when they agreed. */
  async #checkRenewal(token: RefreshToken, grant: Grant): Promise<void> {
    const { resource } = this.#settings
    const user = await this.#entering(token)
    const had = grant.getResourceScope(resource)
    const may = await this.#users.grantable(user, had).catch((cause: unknown) => this.#cannotSay(cause))
    const has = new Set([baseScope, ...may])
    const lost = had.split(' ').filter((scope) => !has.has(scope))
    // of this request alone: the grant is kept as it was
    if (lost.length > 0) grant.rejectResourceScope(resource, lost.join(' '))
  }

  /**
   * Whether the document of a client is fetched. Where tokens are given only one that a user has let in before.
   */
  async #mayFetch(ctx: KoaContextWithOIDC | undefined, clientId: string): Promise<boolean> {
    const { InvalidRequest } = this.#library.errors
    if (clientId.length > longestId)
      throw new InvalidRequest(`client_id: an address may have ${longestId} characters`)
    // without a context it is for a page of a login that has begun, maybe at another node
    const isForTokens = ctx !== undefined && !['authorization', 'resume'].includes(String(ctx.oidc.route))
    const isKnown = (await this.#values.get(documentKey(clientId))) !== undefined
    if (isForTokens && !isKnown) return false
    this.#beginFetch(documentPlace(clientId), isKnown)
    return true
  }

  /**
   * One network has few fetched at a time, so that it keeps no other out; and what strangers name keeps away
   * nothing of clients that users have let in.
   */
  #beginFetch(place: string, isKnown: boolean): void {
    const now = this.#world.now()
    for (const [one, { until }] of this.#fetches) if (until < now) this.#fetches.delete(one)
    // those at once share one
    if (this.#fetches.has(place)) return
    const network = this.#network.getStore() ?? place
    const alike = [...this.#fetches.values()].filter((one) => one.isKnown === isKnown)
    const own = alike.filter((one) => one.network === network)
    if (own.length >= ofNetwork || alike.length >= mostFetches) throw this.#unavailable()
    this.#fetches.set(place, { network, isKnown, until: now + 2 * fetchTime })
  }

  /** What a client has named: its metadata document, or its keys. */
  async #fetchOf(url: string, signal = new AbortController().signal): Promise<Response> {
    // a client that is known has keys there; somebody else may name the same address as a client
    const isOfClient = this.#library.default.ctx?.oidc.client !== undefined
    if (!isOfClient && this.#fetches.has(documentPlace(url))) return this.#fetchDocument(url, signal)
    const isAway = (status: number): boolean => status === 429 || status >= 500
    const note = (): void => {
      const { ctx } = this.#library.default
      if (ctx !== undefined) this.#withoutKeys.add(ctx)
    }
    const found = this.#keysAt(url, signal)
    const { status, headers, body } = await found.catch((cause: unknown) => {
      note()
      throw cause
    })
    if (isAway(status)) note()
    return new Response(body, { status, headers })
  }

  /** A client whose keys are away for a moment is told to come again, too: what it showed may be right. */
  async #tellToComeAgain(ctx: KoaContextWithOIDC, next: () => Promise<unknown>): Promise<void> {
    await next()
    if (ctx.status >= 400 && this.#withoutKeys.has(ctx)) {
      ctx.status = 503
      ctx.body = { error: 'temporarily_unavailable', error_description: 'the keys of the client are away' }
    }
    // soon enough for a refresh token that was used up meanwhile
    if (ctx.status === 503) ctx.set('retry-after', '5')
  }

  /**
   * A code, or refresh token, is used up once all else is done: whoever fails before may try again with it, and so
   * may who has gone, and gets nothing.
   */
  async #doLast(ctx: KoaContextWithOIDC, next: () => Promise<unknown>): Promise<void> {
    await next()
    const act = this.#last.get(ctx)
    if (act === undefined || ctx.status !== 200 || ctx.res.destroyed) return
    try {
      await act()
    } catch (cause) {
      const { OIDCProviderError } = this.#library.errors
      const told = cause instanceof OIDCProviderError ? cause : undefined
      ctx.status = told?.statusCode ?? 500
      ctx.body = { error: told?.error ?? 'server_error', error_description: told?.error_description }
      if (told === undefined) this.#fail(ctx, cause)
    }
  }

  /** An engine that is away where the library does not ask it itself. */
  #fail(ctx: KoaContextWithOIDC, cause: unknown): void {
    this.#report(cause)
    if (!comesBack(cause) || ctx.type !== 'application/json') return
    ctx.status = 503
    ctx.body = { error: 'temporarily_unavailable', error_description: again }
  }

  /** A request, and others at once: a client is another object for each. */
  async #keysAt(url: string, signal: AbortSignal): Promise<FetchedKeys> {
    const { clientId = '' } = this.#library.default.ctx?.oidc.client ?? {}
    const isKnown = await this.#grants.isIn(clientId)
    const known = this.#keys.get(url)
    if (known !== undefined) return known
    const place = `keys ${url}`
    this.#beginFetch(place, isKnown)
    const fetching = this.#fetch(url, keyBytes, signal)
      .then(async (found) => ({
        ...{ status: found.status, headers: withoutLength(found.headers) },
        body: await found.arrayBuffer(),
      }))
      .finally(() => {
        this.#keys.delete(url)
        this.#fetches.delete(place)
      })
    this.#keys.set(url, fetching)
    return fetching
  }

  /** It is never an address of this machine or network, and no redirect is followed. */
  async #fetch(url: string, maxBytes: number, signal: AbortSignal): Promise<Response> {
    const request = { timeout: fetchTime, clock: this.#world, privateNetwork: false, maxRedirects: 0 }
    return toResponse(await safeFetch(url, { ...request, maxBytes, signal }))
  }

  async #fetchDocument(url: string, signal: AbortSignal): Promise<Response> {
    try {
      const found = await this.#fetch(url, documentBytes, signal)
      if (found.status === 429 || found.status >= 500) return (await this.#lastDocument(url)) ?? found
      if (found.status !== 200) return found
      const body = fitted(Buffer.from(await found.arrayBuffer()), true)
      this.#note(url, body.toString())
      return new Response(body, { status: 200, headers: withoutLength(found.headers) })
    } catch (cause) {
      const last = await this.#lastDocument(url)
      if (last === undefined) throw cause
      return last
    } finally {
      this.#fetches.delete(documentPlace(url))
    }
  }

  /** What strangers name is here only. */
  #note(url: string, text: string): void {
    if (!isOf(url, text)) return
    this.#read.delete(url)
    this.#read.set(url, { text, isKept: false })
    for (const [oldest] of this.#read) if (this.#read.size > mostRead) this.#read.delete(oldest)
  }

  /**
   * The library has taken it for a client: its users go on for a week while its host is away. `isLetIn`: a user
   * has agreed just now.
   */
  async #keepDocument(clientId: string, isLetIn = false): Promise<void> {
    const read = this.#read.get(clientId)
    if (read === undefined || (read.isKept && !isLetIn)) return
    try {
      await this.#grants.keepDocument(clientId, read.text)
      read.isKept = true
    } catch (error) {
      // the document is here: without its engine it is kept the next time
      if (!(error instanceof TransportError)) throw error
    }
  }

  async #lastDocument(url: string): Promise<Response | undefined> {
    const kept = await this.#values.get(lastDocumentKey(url))
    if (kept === undefined || kept.text === '') return undefined
    return new Response(kept.text, { status: 200, headers: { 'content-type': 'application/json' } })
  }

  async #end(request: IncomingMessage, response: ServerResponse, result: object): Promise<void> {
    await this.#provider.interactionFinished(request, response, result as never, {
      mergeWithLastSubmission: true,
    })
  }

  /** Who is asked for what is answered; errors of ours say nothing. */
  #refuse(response: ServerResponse, cause: unknown): void {
    if (response.headersSent) return void response.end()
    const { statusCode } = (cause ?? {}) as { readonly statusCode?: unknown }
    const isAway = (cause instanceof TransportError && cause.retryable) || statusCode === 503
    const status = isAway ? 503 : typeof statusCode === 'number' && statusCode < 500 ? statusCode : 500
    const text = isAway
      ? 'The login is not available at the moment. Try again in a minute.'
      : status < 500
        ? 'This login has ended, was begun in another browser, or is not yours. Go back to your program, and begin again.'
        : 'Something went wrong here. Go back to your program, and begin again.'
    if (status === 413) response.setHeader('connection', 'close')
    sendPage(response, status, messagePage(this.#settings.name, text))
    // who has gone is nothing to mend
    const isGone = (cause as { readonly code?: unknown } | undefined)?.code === 'ECONNRESET'
    if (isAway || (status === 500 && !isGone)) this.#report(cause)
  }

  /** Once a minute: what is broken is so for everybody. */
  #report(cause: unknown): void {
    const now = this.#world.now()
    if (now - this.#reportedAt < 60_000) return
    this.#reportedAt = now
    process.emitWarning(`a login has failed: ${messageOf(cause)}`, { code: 'CADUCEUS_SIGN_IN' })
  }

  #configuration({ signing, cookies }: ServerKeys): Configuration {
    const { lifetimes, resource, scopes, issuer, dpop } = this.#settings
    const { accessToken, refreshToken, login } = lifetimes
    const seconds = (ms: number): number => Math.max(1, Math.floor(ms / 1_000))
    const { interactionPolicy, errors } = this.#library
    const { Check } = interactionPolicy
    const policy = interactionPolicy.base()
    // however often its browser comes, which prolongs the session: then the provider is asked, and `allow`
    const isOver = new Check('login_over', 'the login has ended', 'login_required', async ({ oidc }) => {
      const { session, result } = oidc
      if (session?.accountId === undefined) return Check.NO_NEED_TO_PROMPT
      const { accountId } = session
      if (result?.login !== undefined) {
        // while they came in
        if ((await this.#users.userOf(accountId)) === undefined) throw new errors.AccessDenied(signedOut)
        return Check.NO_NEED_TO_PROMPT
      }
      // nor is a login any more without which tools have to send their user to the provider
      const hasEnded =
        session.past(seconds(login)) ||
        (await this.#users.userOf(accountId)) === undefined ||
        (await this.#credentials.areOver(accountId))
      return hasEnded ? Check.REQUEST_PROMPT : Check.NO_NEED_TO_PROMPT
    })
    policy.get('login')?.checks.add(isOver)
    // a user lets a client in at the address that the page has named, and at no other one that it registered
    const isElsewhere = new Check(
      'other_redirect',
      'access goes elsewhere',
      'consent_required',
      async ({ oidc }) => {
        const { result, params, grant } = oidc
        if (result?.consent !== undefined || grant?.jti === undefined) return Check.NO_NEED_TO_PROMPT
        return (await this.#grants.isFor(grant.jti, String(params?.redirect_uri)))
          ? Check.NO_NEED_TO_PROMPT
          : Check.REQUEST_PROMPT
      },
    )
    policy.get('consent')?.checks.add(isElsewhere)
    // a click counts as long as a login, whatever has come since: who has left a client with it is asked again
    const isOld = new Check('consent_over', 'the consent has ended', 'consent_required', ({ oidc }) => {
      const { result, grant } = oidc
      if (result?.consent !== undefined || grant?.jti === undefined) return Check.NO_NEED_TO_PROMPT
      return this.#world.date() - (grant.iat ?? 0) * 1_000 > login
    })
    policy.get('consent')?.checks.add(isOld)
    // what a user could not grant when they agreed, and can now
    const isGrantable = new Check(
      'scope_came',
      'more can be granted',
      'consent_required',
      async ({ oidc }) => {
        const { result, grant, params } = oidc
        if (result?.consent !== undefined || grant?.jti === undefined) return Check.NO_NEED_TO_PROMPT
        const refused = new Set(grant.getRejectedResourceScope(resource).split(' '))
        const missing = String(params?.scope)
          .split(' ')
          .filter((scope) => refused.has(scope))
        return missing.length > 0 && (await this.#canGrant(grant.accountId, missing))
      },
    )
    policy.get('consent')?.checks.add(isGrantable)
    // whatever its client says to be: who listens on this device may be another program (RFC 8252, 8.6)
    const isProgram = new Check(
      'program_on_device',
      'a program on the device asks',
      'consent_required',
      ({ oidc }) => oidc.result?.consent === undefined && isOfProgram(String(oidc.params?.redirect_uri)),
    )
    policy.get('consent')?.checks.add(isProgram)
    const kept: AdapterInput = {
      atLast: (act) => void this.#last.set(this.#library.default.ctx as object, act),
      values: this.#values,
      world: this.#world,
      usedAlready: () => new errors.InvalidGrant('it was used already'),
      unavailable: () => this.#unavailable(),
    }
    const secure = issuer.startsWith('https:')
    return {
      adapter: (kind: string) =>
        kind === 'RefreshToken'
          ? new RefreshChains({ ...kept, ids: this.#tokenIds })
          : new ValueAdapter(kind, kept),
      clientDefaults: {
        // programs of a user, which listen on any port of this machine; so are those that do not say what they are
        application_type: 'native',
        grant_types: ['authorization_code', 'refresh_token'],
        id_token_signed_response_alg: 'ES256',
      },
      clientAuthMethods: [...authMethods],
      // each is kept until it ends: anybody may register, and make any number
      assertJwtClientAuthClaimsAndHeader: async (_ctx, { exp }) => {
        const latest = (this.#world.date() + longestAssertion) / 1_000
        if (typeof exp !== 'number' || !(exp <= latest))
          throw new errors.InvalidClientAuth('an assertion may be good for ten minutes')
      },
      clientBasedCORS: () => true,
      cookies: {
        keys: [cookies],
        names: this.#names,
        long: { httpOnly: true, sameSite: 'lax', secure, path: '/' },
        short: { httpOnly: true, sameSite: 'lax', secure },
      },
      features: {
        devInteractions: { enabled: false },
        dPoP: { enabled: dpop },
        registration: { enabled: true, issueRegistrationAccessToken: false },
        revocation: {
          enabled: true,
          allowedPolicy: async (_ctx, client, token) => {
            if (token.clientId !== client.clientId) return false
            // before the token: whoever is told to try again, as the engine is away, must still find it
            const { grantId } = token as GrantedToken
            if (grantId !== undefined) await this.#provider.AccessToken.revokeByGrantId(grantId)
            return true
          },
        },
        pushedAuthorizationRequests: { enabled: false },
        rpInitiatedLogout: { enabled: false },
        userinfo: { enabled: false },
        clientIdMetadataDocument: {
          enabled: true,
          ack: 'draft-02',
          allowFetch: (ctx: KoaContextWithOIDC | undefined, clientId: string) =>
            this.#mayFetch(ctx, clientId),
        } as never,
        resourceIndicators: {
          enabled: true,
          defaultResource: () => resource,
          useGrantedResource: () => true,
          getResourceServerInfo: async ({ oidc }, asked) => {
            if (asked !== resource) throw new errors.InvalidTarget('resource: this server is another one')
            // a code of a grant that there was: its user may have lost what they had when they agreed
            const { AuthorizationCode: code } = oidc.entities
            const all = Object.keys(scopes)
            const may = code === undefined ? all : await this.#stillGranted(code, all)
            return {
              scope: [baseScope, ...may].join(' '),
              audience: resource,
              accessTokenFormat: 'opaque',
              accessTokenTTL: seconds(accessToken),
            }
          },
        },
      },
      extraTokenClaims: async (_ctx, token) => {
        await this.#entering(token as AccessToken)
        await this.#keepDocument(String(token.clientId))
        return undefined
      },
      fetch: (url, init) => this.#fetchOf(String(url), init?.signal ?? undefined),
      // it is for identities of users, which no client is told
      sectorIdentifierUriValidate: () => false,
      extraClientMetadata: {
        // which field does not matter: with it all metadata of a client is checked, wherever it came from
        properties: ['software_id'],
        validator(_ctx, _key, _value, { redirect_uris: uris }) {
          const own = [`${issuer}/sign-in/`, `${issuer}/upstream/`]
          if (Array.isArray(uris) && uris.some((uri) => isForbidden(String(uri), own)))
            throw new errors.InvalidRedirectUri()
        },
      },
      findAccount: async (_ctx, accountId) => {
        const user = await this.#users.userOf(accountId)
        return user === undefined ? undefined : { accountId, claims: () => ({ sub: accountId }) }
      },
      interactions: {
        policy,
        url: async ({ req }, { uid }) => {
          await put(this.#values, this.#world, browserKey(uid), this.#browserOf(req), loginTime)
          return `/sign-in/${uid}`
        },
      },
      // that of the library makes an entry of each client that is looked for
      loadExistingGrant: async ({ oidc }) => {
        const { client, result, session, provider } = oidc
        const grantId = result?.consent?.grantId ?? (client && grantIdOf(session, client.clientId))
        return grantId === undefined ? undefined : provider.Grant.find(grantId)
      },
      issueRefreshToken: (_ctx, client) => client.grantTypeAllowed('refresh_token'),
      expiresWithSession: () => false,
      jwks: { keys: [signing] },
      pkce: { required: () => true },
      renderError: (ctx, { error, error_description: text }) =>
        this.#showError(
          ctx,
          error === 'invalid_client' ? notKnown : `${error}${text === undefined ? '' : `: ${text}`}`,
        ),
      responseTypes: ['code'],
      // with one token of a grant all of it ends: it is marked
      revokeGrantPolicy: () => true,
      // before the old one is used up: who may not be asked now can be asked again
      rotateRefreshToken: async ({ oidc }) => {
        const { RefreshToken: token, Grant: grant } = oidc.entities
        if (token === undefined || grant === undefined) throw new errors.InvalidGrant('no grant')
        await this.#checkRenewal(token, grant)
        // while the one before it is good, too; the first one has none
        return !token.rotations || this.#world.date() - (token.iat ?? 0) * 1_000 >= shortestUse
      },
      routes,
      // all of them are the resource's
      scopes: [],
      ttl: {
        AccessToken: seconds(accessToken),
        AuthorizationCode: 60,
        Grant: seconds(longestGrant),
        Interaction: seconds(loginTime),
        RefreshToken: seconds(refreshToken),
        Session: seconds(login),
      },
    }
  }
}

/** Hosts keep what they have registered for ever, and are told of it nowhere else. */
const notKnown =
  'invalid_client: the program that has sent you here is not known here any more. Remove this server in it, and add it again.'
const asAnother =
  'You have signed in as somebody else. Begin again in your program, and sign in as who you are there.'
const signedOut = 'the user has signed out'
const refusedHere = 'the user has refused'
const notLetIn = 'this account may not use this server'
const again = 'try again in a few seconds'

/** What may be there again in a moment, as an engine is. */
function comesBack(cause: unknown): boolean {
  return cause instanceof TransportError && cause.retryable && cause.code !== 'CLIENT_LIMIT'
}

/** Without a scope all is asked for. */
function isAllOf(scope: unknown, all = ''): boolean {
  const has = new Set(typeof scope === 'string' ? scope.split(' ') : all.split(' '))
  return all.split(' ').every((one) => has.has(one))
}

interface NamedToken {
  readonly scope?: string | undefined
  readonly jkt?: string | undefined
  generateTokenId(): string
}

interface GrantedToken {
  readonly accountId?: string | undefined
  readonly grantId?: string | undefined
}

interface ServerKeys {
  readonly signing: JWK
  readonly cookies: string
}

interface ServerParts {
  readonly values: Values
  readonly world: World
  readonly library: Library
  readonly login: ProviderLogin
  readonly keys: ServerKeys
}

const otherKeys =
  'expected a key that opens what is kept there: add the one of before to its `keys`, or keep logins elsewhere (`prefix`, `folder`)'

/** Begins, with the keys that all nodes have agreed on. Rejects with BAD_OPTION without `oidc-provider`. */
export async function openServer(
  settings: SignInSettings,
  values: Values,
  scopeWorld: World,
): Promise<AuthorizationServer> {
  const world = lastingWorld(scopeWorld)
  const library = await loadProvider()
  const login = await openLogin(IdentityProvider.settings(settings.with), world)
  for (const key of ['signing key', 'cookie key'])
    if ((await values.get(key))?.text === '') throw optionError('engine', `signIn: engine: ${otherKeys}`)
  // no token is signed, as access tokens are looked up; but there is no authorization server without a key
  const signing = await agreed(values, 'signing key', () => newSigningKey(world))
  const cookies = await agreed(values, 'cookie key', () =>
    Buffer.from(world.randomBytes(32)).toString('base64url'),
  )
  const keys = { signing: JSON.parse(signing) as JWK, cookies }
  return new AuthorizationServer(settings, { values, world, library, login, keys })
}

/** An address that nobody has verified may be somebody else's; a key is that of our tokens alone. */
function claimsOf({ claims: { email: _, cnf: __, ...claims }, email, name }: SignedInUser): object {
  return { ...claims, ...(email !== undefined && { email }), ...(name !== undefined && { name }) }
}

function loginKey(state: string): string {
  return `login ${state}`
}

function visitKey(id: string): string {
  return `visit ${id}`
}

function shownKey(uid: string): string {
  return `shown ${uid}`
}

function shownByKey(browser: string): string {
  return `shown by ${browser}`
}

function browserKey(uid: string): string {
  return `browser ${uid}`
}

function endKey(uid: string): string {
  return `end of login ${uid}`
}

function limitOf(path: string): keyof SignInLimits {
  if (path === routes.registration) return 'registrations'
  return path === routes.authorization || visitOf(path) !== undefined ? 'authorizations' : 'requests'
}

/** Where the fetch of the document of a client is noted. */
function documentPlace(url: string): string {
  return `document ${url}`
}

/** The grant of a client in the login of a browser. */
function grantIdOf(session: Session | undefined, clientId: string): string | undefined {
  const { authorizations = {} } = session ?? {}
  return Object.hasOwn(authorizations, clientId) ? authorizations[clientId]?.grantId : undefined
}

function denied(why: string): object {
  return { error: 'access_denied', error_description: why.replace(/[^\x20-\x21\x23-\x5b\x5d-\x7e]/g, '?') }
}

function nameOf(client: Client): string {
  const { clientName, clientId } = client
  return typeof clientName === 'string' && clientName !== '' ? clientName : clientId
}

function tooMany(response: ServerResponse, wait: number): void {
  sendError(response, 429, {
    error: 'temporarily_unavailable',
    error_description: 'too many requests',
    wait,
  })
}

/** `wait`: the ms after which it may be tried again. */
function sendError(
  response: ServerResponse,
  status: number,
  { wait, ...error }: { readonly error: string; readonly error_description: string; readonly wait: number },
): void {
  const body = JSON.stringify(error)
  response.writeHead(status, {
    'retry-after': String(Math.ceil(wait / 1_000)),
    'cache-control': 'no-store',
    'content-type': 'application/json',
    'content-length': String(body.length),
  })
  response.end(body)
}

function tooLong(response: ServerResponse): void {
  const why = `the metadata of a client may have ${clientBytes} bytes`
  const body = JSON.stringify({ error: 'invalid_client_metadata', error_description: why })
  const headers = { 'content-type': 'application/json', 'content-length': String(body.length) }
  response.writeHead(400, headers).end(body)
}

function notAllowed(response: ServerResponse, allow: string): void {
  response.writeHead(405, { allow, 'content-length': '0' }).end()
}

/** Pages of any site may register: what they get is worth nothing without a user's consent. */
function allowAnyPage({ method, headers }: IncomingMessage, response: ServerResponse): void {
  const { origin } = headers
  if (origin === undefined) return
  response.setHeader('access-control-allow-origin', origin)
  response.setHeader('vary', 'Origin')
  if (method !== 'OPTIONS') return
  const allowed = { 'access-control-allow-methods': 'POST', 'access-control-allow-headers': 'content-type' }
  response.writeHead(204, allowed).end()
}

interface Registration {
  readonly token_endpoint_auth_method?: unknown
  readonly token_endpoint_auth_methods_supported?: unknown
  readonly scope?: unknown
  readonly grant_types?: unknown
}

/**
 * A registration without what is for other servers, which a server may replace (RFC 7591, 2): hosts name scopes
 * and grant types here. Each authorization says what it is for. Undefined: there is too much left.
 */
async function fitting(request: IncomingMessage): Promise<IncomingMessage | undefined> {
  if (request.method !== 'POST') return request
  const body = fitted(await readBody(request, registrationBytes))
  return body.length > clientBytes ? undefined : repeatRequest(request, body)
}

/** Those of a body that is another one now. */
function withoutLength(headers: Headers): Headers {
  const kept = new Headers(headers)
  for (const name of ['content-length', 'content-encoding']) kept.delete(name)
  return kept
}

/** Whether a document is that of a client at this address: its host may send a page of its own. */
function isOf(url: string, text: string): boolean {
  try {
    const document: unknown = JSON.parse(text)
    return isObject(document) && document.client_id === url
  } catch {
    return false
  }
}

/** What pages of others show, and none of ours. */
const unread = new Set(['client_uri', 'logo_uri', 'policy_uri', 'tos_uri', 'contacts'])

/** The metadata of a client; what is no JSON stays, and the answer says what is wrong. */
function fitted(body: Buffer, isOfDocument = false): Buffer {
  try {
    const given = JSON.parse(body.toString()) as Registration
    const { scope: _, grant_types: types, ...all } = given
    const metadata = Object.fromEntries(Object.entries(all).filter(([name]) => !unread.has(name)))
    const known = Array.isArray(types) ? types.filter((type) => grantTypes.includes(type)) : types
    const { token_endpoint_auth_method: method, token_endpoint_auth_methods_supported: others } = metadata
    const isWithSecret = String(method).startsWith('client_secret_')
    // a client that can do without is not asked for its key: each has PKCE
    const mayDoWithout = Array.isArray(others) && others.includes('none')
    const isUnknown = !authMethods.some((known) => known === method)
    // a document can have no secret, whatever is taken for granted where it says nothing (RFC 7591, 2)
    const isWithout = isOfDocument
      ? method === undefined || (mayDoWithout && (isUnknown || isWithSecret))
      : mayDoWithout && isUnknown
    const auth = isWithout ? { token_endpoint_auth_method: 'none' } : {}
    return Buffer.from(JSON.stringify({ ...metadata, ...auth, grant_types: known }))
  } catch {
    return body
  }
}
