import { callerOf } from '../../transports/contract/caller.js'
import {
  type HttpDispatchers,
  type HttpResponse,
  openDispatchers,
} from '../../transports/http/outgoing/dispatcher.js'
import { readRetryAfter } from '../../transports/base/retry-after.js'
import { secretsSent } from '../../transports/base/secrets.js'
import { TransportError } from '../../transports/base/errors.js'
import type { World } from '../../runtime/time/world.js'
import { publicLookup, routedLookup } from '../../transports/base/private-address.js'
import { pause } from '../../runtime/time/wait.js'
import { messageOf } from '../../runtime/base/errors.js'
import type { ToolContext } from '../context/context.js'
import type { Verdict } from '../gateway/breaker.js'
import { Gate } from '../gateway/gate.js'
import type { Operation } from './operations.js'
import type { OpenApiSettings } from './options.js'
import type { ApiRequest } from './request.js'
import type { Signer } from './security.js'

export interface ApiAnswer {
  readonly status: number
  readonly contentType: string
  readonly body: Uint8Array
  /** Whether there was more than was to be read. */
  readonly isCut: boolean
  /** Where a redirect leads that was not followed. */
  readonly location: string | undefined
  /** Milliseconds after which the API wants to be asked again. */
  readonly retryAfter: number | undefined
  /** What nobody else may read. */
  readonly secrets: readonly string[]
}

/** Why there is no answer. */
export class NoAnswer extends Error {
  readonly isLate: boolean

  constructor(message: string, details: { readonly isLate: boolean; readonly cause: unknown }) {
    super(message, { cause: details.cause })
    this.isLate = details.isLate
  }
}

/** Requests that are sent once more after 429 or 503. */
const maxRepeats = 3
/** Bytes of the body of an error that are read. */
const maxErrorBytes = 16_384
const connectTimeout = 10_000
/** Characters of a secret at least: shorter ones stand in too many words. */
const shortestSecret = 6

/** One API: its connections, and what its operations are spared. */
export class Api {
  readonly #base: URL
  readonly #path: string
  /** Whether a stranger has said where it is: then no name of it may lead into our network. */
  readonly #isGuarded: boolean
  readonly #settings: OpenApiSettings
  readonly #signer: Signer
  readonly #gate: Gate
  readonly #world: World
  /** Of what only reads, which may be redirected; of the rest, which may not. */
  readonly #dispatchers = new Map<string, Promise<HttpDispatchers>>()
  #isClosed = false

  constructor(base: URL, isGuarded: boolean, settings: OpenApiSettings, signer: Signer) {
    this.#base = base
    this.#path = withoutSlashes(base.pathname)
    this.#isGuarded = isGuarded
    this.#settings = settings
    this.#signer = signer
    this.#world = settings.world
    const { maxCalls, maxCallsPerCaller, maxCallsPerTool, breaker } = settings
    const limits = {
      ...(maxCalls !== undefined && { maxCalls }),
      ...(maxCallsPerCaller !== undefined && { maxCallsPerCaller }),
      ...(maxCallsPerTool !== undefined && { maxCallsPerTool }),
      ...(breaker !== undefined && { breaker }),
    }
    this.#gate = new Gate(base.host, limits, settings.world)
  }

  /**
   * Calls an operation within its time. Rejects with NoAnswer, with McpError where a limit is reached or the
   * breaker is open, and as the functions of `auth` do.
   */
  async call(operation: Operation, request: ApiRequest, ctx: ToolContext): Promise<ApiAnswer> {
    const leave = this.#gate.enter(operation.name, callerOf(ctx.peer, ctx.session.id))
    let verdict: Verdict = 'unsaid'
    try {
      const answer = await this.#ask(operation, request, ctx)
      verdict = answer.status >= 500 ? 'fails' : answer.status === 429 ? 'unsaid' : 'serves'
      return answer
    } catch (error) {
      // a caller that gives up says nothing of the API
      if (error instanceof NoAnswer && (error.isLate || isAway(error.cause))) verdict = 'fails'
      throw error
    } finally {
      leave(verdict)
    }
  }

  /** Ends all connections, and what is under way. */
  async close(): Promise<void> {
    this.#isClosed = true
    const all = [...this.#dispatchers.values()]
    this.#dispatchers.clear()
    await Promise.all(all.map(async (one) => (await one).destroy()))
  }

  async #ask(operation: Operation, request: ApiRequest, ctx: ToolContext): Promise<ApiAnswer> {
    const { timeout } = this.#settings
    const end = this.#world.now() + timeout
    for (let repeats = 0; ; repeats++) {
      const answer = await this.#send(operation, request, ctx, end)
      const { status, retryAfter } = answer
      const mayRepeat = status === 429 || (status === 503 && isSafe(request.method))
      const wait = retryAfter ?? Number.POSITIVE_INFINITY
      if (!mayRepeat || repeats === maxRepeats || this.#world.now() + wait >= end) return answer
      await pause(wait, this.#world, ctx.signal)
      ctx.signal.throwIfAborted()
    }
  }

  async #send(operation: Operation, request: ApiRequest, ctx: ToolContext, end: number): Promise<ApiAnswer> {
    const signed = await this.#signer.sign(operation.security, ctx)
    const given = this.#settings.headers
    const secrets = [
      ...signed.secrets.filter(({ length }) => length >= shortestSecret),
      ...secretsSent(given),
    ]
    const late = new AbortController()
    const ms = Math.max(0, end - this.#world.now())
    const timer = this.#world.setTimeout(() => late.abort(), ms)
    const { cookie: own, ...others }: Readonly<Record<string, string>> = given
    // no argument stands for a credential, or before one
    const signedIn = [...(own === undefined ? [] : own.split(/; */)), ...signed.cookies]
    const cookies = [...signedIn, ...withoutNames(request.cookies, signedIn)]
    const query = [...withoutNames(request.query, signed.query), ...signed.query].join('&')
    try {
      // a key in the address would go along to wherever a redirect leads
      const dispatchers = await this.#open(isSafe(request.method), signed.query.length > 0)
      const response = await dispatchers.send({
        method: request.method as 'GET',
        path: `${this.#path}${request.path}${query === '' ? '' : `?${query}`}`,
        headers: {
          accept: 'application/json, */*;q=0.5',
          'user-agent': 'caduceus',
          ...request.headers,
          ...others,
          ...signed.headers,
          ...(cookies.length > 0 && { cookie: cookies.join('; ') }),
        },
        body: request.body,
        signal: AbortSignal.any([ctx.signal, late.signal]),
      })
      return await this.#read(response, secrets)
    } catch (cause) {
      ctx.signal.throwIfAborted()
      if (late.signal.aborted) {
        const { timeout } = this.#settings
        throw new NoAnswer(`the API did not answer within ${timeout} ms`, { isLate: true, cause })
      }
      throw new NoAnswer(problemOf(cause), { isLate: false, cause })
    } finally {
      this.#world.clearTimeout(timer)
    }
  }

  #open(isSafe: boolean, hasKey: boolean): Promise<HttpDispatchers> {
    if (this.#isClosed) throw new TransportError('NOT_OPEN', 'the API was closed: close() has been called')
    const kind = `${isSafe} ${hasKey}`
    const known = this.#dispatchers.get(kind)
    if (known !== undefined) return known
    const opened = openDispatchers(this.#base.origin, {
      connections: 64,
      connectTimeout,
      lookup: this.#isGuarded ? publicLookup() : routedLookup(),
      // a request that changes something is not repeated anywhere
      redirects: { maxRedirects: isSafe ? 5 : 0, elsewhere: isSafe && !hasKey },
    })
    this.#dispatchers.set(kind, opened)
    opened.catch(() => this.#dispatchers.delete(kind))
    return opened
  }

  async #read(response: HttpResponse, secrets: readonly string[]): Promise<ApiAnswer> {
    const { status, headers } = response
    const one = (name: string): string | undefined => {
      const value = headers[name]
      return typeof value === 'string' ? value : value?.[0]
    }
    const most = status < 400 ? this.#settings.maxBytes : Math.min(maxErrorBytes, this.#settings.maxBytes)
    const { body, isCut } = await readBytes(response, most)
    return {
      status,
      contentType: one('content-type') ?? '',
      body,
      isCut,
      location: one('location'),
      retryAfter: readRetryAfter(one('retry-after'), this.#world.date()),
      secrets,
    }
  }
}

/** The bytes of a body up to a bound; more is not read. */
async function readBytes(
  response: HttpResponse,
  most: number,
): Promise<{ body: Uint8Array; isCut: boolean }> {
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of response.body as AsyncIterable<Uint8Array>) {
    chunks.push(chunk)
    size += chunk.length
    if (size > most) break // the stream is destroyed
  }
  return { body: Buffer.concat(chunks).subarray(0, most), isCut: size > most }
}

/** A path without slashes at its end, of which a document may have any number. */
export function withoutSlashes(path: string): string {
  let end = path.length
  while (end > 0 && path[end - 1] === '/') end -= 1
  return path.slice(0, end)
}

/** Pairs whose names none of the others has. */
function withoutNames(pairs: readonly string[], others: readonly string[]): readonly string[] {
  const nameOf = (pair: string): string => {
    const name = pair.slice(0, Math.max(0, pair.indexOf('=')))
    try {
      return decodeURIComponent(name)
    } catch {
      return name
    }
  }
  const taken = new Set(others.map(nameOf))
  return pairs.filter((pair) => !taken.has(nameOf(pair)))
}

function isSafe(method: string): boolean {
  return method === 'GET' || method === 'HEAD'
}

/** Whether there was no connection, or it was lost. */
function isAway(cause: unknown): boolean {
  const { code } = (cause ?? {}) as { readonly code?: unknown }
  return typeof code === 'string' && !(cause instanceof TransportError)
}

/** What went wrong, in words that name no address but that of the API, and no credential. */
function problemOf(cause: unknown): string {
  if (cause instanceof TransportError) return messageOf(cause)
  const { code } = (cause ?? {}) as { readonly code?: unknown }
  const why = typeof code === 'string' ? ` (${code})` : ''
  return `the API cannot be reached, or the connection was lost${why}`
}
