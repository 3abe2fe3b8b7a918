import type { IncomingMessage, ServerResponse } from 'node:http'
import type { JsonObject } from '../../protocol/wire/json.js'
import { messageOf } from '../../runtime/base/errors.js'
import { pause } from '../../runtime/time/wait.js'
import type { World } from '../../runtime/time/world.js'
import { TransportError } from '../base/errors.js'
import { pathOf, queryOf } from '../base/target.js'
import type { PageVisitor, ServerPages } from '../contract/pages.js'
import { keyOfPrincipal, loginOf, type Principal } from '../contract/principal.js'
import type { Values } from '../contract/values.js'
import { put, takeOnce } from './adapter.js'
import {
  checkOrigin,
  cookieOf,
  digest,
  isSame,
  markOf,
  notOurs,
  readBody,
  redirect,
  sendPage,
} from './browser.js'
import { messagePage, upstreamPage, type UpstreamUser } from './pages.js'
import { isUpstreamCallback, isUpstreamPath, upstreamCallbackOf, upstreamLoginOf } from './paths.js'
import { RateLimits } from './rate-limits.js'
import {
  forgetClients,
  type UpstreamStorage,
  upstreamStorage,
  upstreamTokensKey,
} from './upstream-storage.js'

/** Options of `oauth()` for the client of one user: where its tokens are kept, and how the user signs in. */
export interface UpstreamLogin {
  readonly storage: UpstreamStorage
  /** Absent for nobody: who tells what a server has signs in nowhere. */
  readonly signIn?: {
    begin(): Promise<{
      readonly redirectUri: string
      authorize(url: URL, signal: AbortSignal, begun?: JsonObject): Promise<never>
    }>
    returned?(): Promise<ReturnedUser | undefined>
  }
  readonly clientName: string
  /** Aborted when the client is not needed any more. */
  readonly signal: AbortSignal
}

/** What the browser of a user came back with. */
export interface ReturnedUser {
  readonly begun: JsonObject
  readonly parameters: URLSearchParams
}

/** A page at which a user signs in to a server. */
export interface UpstreamVisit {
  readonly id: string
  readonly url: string
}

/** Gets the tokens for what a user came back with; resolves with why not, for whoever runs the server. */
export type FinishLogin = (
  server: string,
  principal: Principal,
  returned: ReturnedUser,
) => Promise<string | undefined>

/** A sign-in that a user is asked for. */
interface Pending {
  readonly server: string
  readonly principal: Principal
  /** Where the authorization server of that server is. */
  readonly url: string
  readonly begun: JsonObject
  /** The digest of the cookie of the browser that went there. */
  readonly browser?: string
}

/** How one ended; nothing else is kept of it. */
interface Ended {
  readonly end: 'signed in' | 'failed'
}

/** Milliseconds for a sign-in, and in which calls are sent to one that was begun. */
const visitTime = 600_000
const askedTime = 480_000
/** Milliseconds that it is known since when nobody has come back. */
const leftTime = 400 * 24 * 3_600_000
/** Milliseconds between two looks whether a user has come back. */
const lookPause = 500
/** Characters of a login that is under way: an address, and what comes back is checked with. */
const mostOfPending = 32 * 1024
const formBytes = 1_024
/** Of one network; the first two are not used here. */
const limits = { registrations: 60, authorizations: 60, requests: 600 }

interface LoginsInput {
  readonly values: Values
  readonly world: World
  /** As pages call this server. */
  readonly name: string
  /** The origin at which browsers reach it; undefined: they do not. */
  readonly site: () => string | undefined
}

/** The logins of users at servers behind this one, on all nodes that share the values. */
export class UpstreamLogins {
  /** Set by whoever starts clients. */
  finish: FinishLogin | undefined
  readonly pages: ServerPages
  readonly #values: Values
  readonly #world: World
  readonly #name: string
  readonly #site: () => string | undefined
  readonly #limits: RateLimits
  #reportedAt = Number.NEGATIVE_INFINITY

  constructor({ values, world, name, site }: LoginsInput) {
    this.#values = values
    this.#world = world
    this.#name = name
    this.#site = site
    this.#limits = new RateLimits(limits, world)
    this.pages = {
      has: isUpstreamPath,
      take: (request, response, visitor) => {
        this.#answer(request, response, visitor).catch((cause: unknown) => this.#refuse(response, cause))
      },
    }
  }

  /** `returned`: what its user came back with. */
  loginFor(
    server: string,
    principal: Principal | undefined,
    signal: AbortSignal,
    returned?: ReturnedUser,
  ): UpstreamLogin {
    const own = { storage: upstreamStorage(this.#values, this.#world, principal, server), signal }
    const site = this.#site()
    if (principal === undefined || site === undefined) return { ...own, clientName: this.#name }
    let left = returned
    return {
      ...own,
      clientName: this.#name,
      signIn: {
        begin: async () => {
          if ((await this.visitOf(server, principal)) !== undefined) throw comesLater(server)
          await this.#forgetUnknown(server)
          return {
            redirectUri: `${site}${upstreamCallbackOf(server)}`,
            authorize: async (url, _signal, begun = {}) => {
              await this.#ask({ server, principal, url: url.href, begun })
              throw comesLater(server)
            },
          }
        },
        ...(returned !== undefined && {
          async returned() {
            const once = left
            left = undefined
            return once
          },
        }),
      },
    }
  }

  /**
   * An authorization server that does not know a client any more tells the user, and not us: nobody comes back. So
   * where that is so, it is registered anew.
   */
  async #forgetUnknown(server: string): Promise<void> {
    const since = Number((await this.#values.get(leftKey(server)))?.text)
    if (!(since + visitTime <= this.#world.date())) return
    // of all who see it one does it, and until somebody has left again nobody
    if ((await takeOnce(this.#values, leftKey(server))) !== undefined)
      await forgetClients(this.#values, this.#world, server)
  }

  /** The page that a user is asked to visit; undefined: none. */
  async visitOf(server: string, principal: Principal): Promise<UpstreamVisit | undefined> {
    const id = (await this.#values.get(askedKey(server, principal)))?.text
    if (id === undefined || id === '') return undefined
    const known = await this.#knownAt(id)
    if (known !== undefined && 'end' in known) return undefined
    return { id, url: `${this.#site()}/upstream/sign-in/${id}` }
  }

  /** Resolves when a user is back: whether they have signed in. */
  async isBack({ id }: UpstreamVisit, signal: AbortSignal): Promise<boolean> {
    while (true) {
      const known = await this.#knownAt(id)
      if (known === undefined) return false
      if ('end' in known) return known.end === 'signed in'
      await pause(lookPause, this.#world, signal)
      signal.throwIfAborted()
    }
  }

  /** One page for a user and a server, whoever asks first. */
  async #ask(pending: Pending): Promise<void> {
    const { server, principal } = pending
    const id = Buffer.from(this.#world.randomBytes(32)).toString('base64url')
    const text = JSON.stringify(pending)
    if (text.length > mostOfPending)
      throw new TransportError(
        'MESSAGE_TOO_LONG',
        `${server}: what its authorization server says is too long`,
      )
    await put(this.#values, this.#world, pendingKey(id), text, visitTime)
    const key = askedKey(server, principal)
    const was = await this.#values.get(key)
    const isAsked =
      was !== undefined && was.text !== '' && (await this.visitOf(server, principal)) !== undefined
    const isOurs = !isAsked && (await this.#values.set(key, id, { ttl: askedTime, was }))
    // of those of a user that ended the last one is kept, for calls that look how it did
    const gone = isOurs ? was?.text : id
    if (gone !== undefined && gone !== '')
      await put(this.#values, this.#world, pendingKey(gone), undefined, 1)
  }

  async #knownAt(id: string): Promise<Pending | Ended | undefined> {
    const text = (await this.#values.get(pendingKey(id)))?.text
    return text === undefined || text === '' ? undefined : (JSON.parse(text) as Pending | Ended)
  }

  /** One that has not ended. */
  async #pendingAt(id: string): Promise<Pending | undefined> {
    const known = await this.#knownAt(id)
    return known === undefined || 'end' in known ? undefined : known
  }

  async #end(id: string, { begun, browser }: Pending, end: Ended['end']): Promise<void> {
    const ended: Ended = { end }
    await put(this.#values, this.#world, pendingKey(id), JSON.stringify(ended), visitTime)
    if (browser !== undefined)
      await put(this.#values, this.#world, stateKey(String(begun.state)), undefined, 1)
  }

  get #cookie(): string {
    // a cookie of that name is of this host alone, and comes over https only
    return this.#site()?.startsWith('https:') === true ? '__Host-upstream' : 'upstream'
  }

  async #answer(request: IncomingMessage, response: ServerResponse, visitor: PageVisitor): Promise<void> {
    const wait = this.#limits.take('requests', visitor.address ?? '')
    if (wait !== undefined) {
      const headers = { 'retry-after': String(Math.ceil(wait / 1_000)), 'content-length': '0' }
      return void response.writeHead(429, headers).end()
    }
    const path = pathOf(request.url)
    const { method } = request
    if (isUpstreamCallback(path) && method === 'GET') return this.#comeBack(request, response, visitor)
    const id = upstreamLoginOf(path) ?? ''
    const pending = await this.#pendingAt(id)
    if (pending === undefined) throw notOurs()
    const { principal, server, url } = pending
    if (method !== 'GET' && method !== 'POST') throw Object.assign(notOurs(), { statusCode: 405 })
    // where users sign in, the browser shows whose it is
    const isShown = visitor.shows !== undefined
    if (isShown && !(await visitor.shows(principal, request, response, path))) return
    if (method === 'POST') return this.#decide(id, pending, request, response)
    const { setCookie } = markOf(request, this.#cookie, visitTime, this.#world)
    response.appendHeader('set-cookie', setCookie)
    const page = upstreamPage({
      name: this.#name,
      server,
      user: userOf(principal, isShown),
      at: url,
      isShown,
    })
    sendPage(response, 200, page, 'form')
  }

  /** The user goes on, with this browser. */
  async #decide(
    id: string,
    pending: Pending,
    request: IncomingMessage,
    response: ServerResponse,
  ): Promise<void> {
    checkOrigin(request, this.#site() ?? '')
    const secret = cookieOf(request, this.#cookie)
    if (secret === '') throw notOurs()
    const form = new URLSearchParams((await readBody(request, formBytes)).toString())
    if (form.get('decision') !== 'allow') {
      await this.#end(id, pending, 'failed')
      return sendPage(response, 200, messagePage(this.#name, 'Nothing was done. You may close this page.'))
    }
    const left: Pending = { ...pending, browser: digest(secret) }
    await put(this.#values, this.#world, pendingKey(id), JSON.stringify(left), visitTime)
    await put(this.#values, this.#world, stateKey(String(pending.begun.state)), id, visitTime)
    const was = await this.#values.get(leftKey(pending.server))
    const isFirst = was === undefined || was.text === ''
    if (isFirst)
      await this.#values.set(leftKey(pending.server), String(this.#world.date()), { ttl: leftTime, was })
    redirect(response, pending.url)
  }

  /** An authorization server has sent a browser back: each answer counts once. */
  async #comeBack(
    request: IncomingMessage,
    response: ServerResponse,
    { isSignedIn = async () => true }: PageVisitor,
  ): Promise<void> {
    const parameters = new URLSearchParams(queryOf(request.url))
    const state = stateKey(parameters.get('state') ?? '')
    const id = (await this.#values.get(state))?.text
    const pending = id === undefined || id === '' ? undefined : await this.#pendingAt(id)
    if (id === undefined || pending?.browser === undefined) throw notOurs()
    // an answer that came to the address of another server may be that server's
    if (pathOf(request.url) !== upstreamCallbackOf(pending.server)) throw notOurs()
    // whoever began is who ends it: else an attacker could have somebody use their account
    if (!isSame(digest(cookieOf(request, this.#cookie)), pending.browser)) throw notOurs()
    if ((await takeOnce(this.#values, state)) === undefined) throw notOurs()
    const { server, principal, begun } = pending
    const isHere = (): Promise<boolean> => isSignedIn(principal)
    const problem = await this.#finish(isHere, server, principal, { begun, parameters })
    // anybody comes back with something made up: that says nothing of the client
    if (problem === undefined) await takeOnce(this.#values, leftKey(server))
    await this.#end(id, pending, problem === undefined ? 'signed in' : 'failed')
    if (problem !== undefined) this.#report(`${server} has not signed somebody in: ${problem}`)
    const told =
      problem === undefined
        ? `You have signed in to ${server}. Close this page, and go back to your program.`
        : `${server} has not signed you in. Go back to your program, and try again.`
    sendPage(response, problem === undefined ? 200 : 403, messagePage(this.#name, told))
  }

  /** Answers why not; whoever is signed out here meanwhile leaves nothing. */
  async #finish(
    isHere: () => Promise<boolean>,
    ...given: Parameters<FinishLogin>
  ): Promise<string | undefined> {
    const { finish } = this
    if (finish === undefined) return 'the gateway is starting'
    const signedOut = 'its user was signed out here'
    if (!(await isHere())) return signedOut
    const problem = await finish(...given).catch(messageOf)
    if (await isHere()) return problem
    const [, principal] = given
    await put(this.#values, this.#world, upstreamTokensKey(principal), undefined, 1)
    return signedOut
  }

  #refuse(response: ServerResponse, cause: unknown): void {
    if (response.headersSent) return void response.end()
    const { statusCode } = (cause ?? {}) as { readonly statusCode?: unknown }
    const isAway = cause instanceof TransportError && cause.retryable
    const status = isAway ? 503 : typeof statusCode === 'number' && statusCode < 500 ? statusCode : 500
    const text = isAway
      ? 'The login is not available at the moment. Try again in a minute.'
      : 'This login has ended, was begun in another browser, or is not yours. Go back to your program, and begin again.'
    sendPage(response, status, messagePage(this.#name, text))
    if (isAway || status === 500) this.#report(`a login has failed: ${messageOf(cause)}`)
  }

  /** Once a minute, as anybody may fail as often as they like. */
  #report(problem: string): void {
    const now = this.#world.now()
    if (now - this.#reportedAt < 60_000) return
    this.#reportedAt = now
    process.emitWarning(problem, { code: 'CADUCEUS_SIGN_IN' })
  }
}

/** Nobody waits for a user here: they come back with another request. */
function comesLater(server: string): Error {
  const problem = `a user of ${server} has to sign in there`
  return Object.assign(new Error(problem), { code: 'SIGN_IN_NEEDED' })
}

/** `isOurs`: they sign in here, where an address is verified. */
function userOf({ subject, issuer, claims = {} }: Principal, isOurs: boolean): UpstreamUser {
  const { name, email, email_verified: isVerified } = claims
  return {
    subject,
    issuer,
    ...(typeof email === 'string' && (isOurs || isVerified === true) && { email }),
    ...(typeof name === 'string' && { name }),
  }
}

/** Since when nobody has come back of those who went to the authorization server of a server, in ms since 1970. */
function leftKey(server: string): string {
  return `upstream left for ${server}`
}

function pendingKey(id: string): string {
  return `upstream sign-in ${id}`
}

function askedKey(server: string, principal: Principal): string {
  const { issuer, subject } = principal
  const place = JSON.stringify([server, loginOf(principal) ?? ''])
  return `upstream asked ${place} ${keyOfPrincipal({ issuer, subject })}`
}

function stateKey(state: string): string {
  return `upstream state ${state}`
}
