import { isObject, type JsonObject } from '../../protocol/wire/json.js'
import type { TokenChallenge } from './challenge.js'
import { isToken, type TokenAnswer } from './library.js'
import { type ProofKey, readProofKey } from './proofs.js'
import type { AuthStorage } from './storage.js'

export interface TokenSet {
  readonly accessToken: string
  readonly refreshToken: string | undefined
  /** In ms since 1970, where the issuer says it. */
  readonly expiresAt: number | undefined
  /** In ms, as it was when it was given. */
  readonly lifetime?: number | undefined
  /** As given, where that differs from what was asked for. */
  readonly scope: string | undefined
  /** What was asked for because a server had refused a token without it. */
  readonly steppedUpTo?: string | undefined
  readonly issuer: string
  /** What the access token is bound to (RFC 9449); undefined for a bearer token. */
  readonly key?: ProofKey | undefined
  /** The client that they were given to, where the issuer had registered it: it may register another. */
  readonly client?: JsonObject | undefined
  /** Whether another program had stored them, and nobody has tried them here; never stored. */
  readonly isTaken?: boolean
}

export interface Renewal {
  readonly refused: string | undefined
  readonly challenge: TokenChallenge | undefined
  /** The token is good but has too few scopes (403). */
  readonly stepUp: boolean
}

/** The authorization server whose tokens a server takes. */
interface ServerPlace {
  readonly issuer: string
  readonly resourceMetadata: string | undefined
}

/** Ms before its end at which a token is renewed; less where that is more than this part of its life. */
const margin = 30_000
const part = 0.25

/** What an issuer gave, and to which client, where it had registered that. */
export type GivenTokens = TokenAnswer & { readonly client?: JsonObject | undefined }

interface TokenFacts {
  readonly scope: string | undefined
  readonly issuer: string
  readonly key: ProofKey | undefined
  readonly before?: TokenSet
  /** In ms since 1970. */
  readonly now: number
}

/** Without a new refresh token the old one stays. */
export function tokensOf(answer: GivenTokens, { scope, issuer, key, before, now }: TokenFacts): TokenSet {
  const { access_token: accessToken, refresh_token: refreshToken, expires_in: seconds } = answer
  const client = answer.client ?? before?.client
  return {
    accessToken,
    refreshToken: refreshToken ?? before?.refreshToken,
    expiresAt: seconds === undefined ? undefined : now + seconds * 1_000,
    lifetime: seconds === undefined ? undefined : seconds * 1_000,
    scope: answer.scope ?? scope,
    issuer,
    ...(key !== undefined && { key }),
    ...(client !== undefined && { client }),
  }
}

/** Whether it is time for the next one. */
export function isExpiring(
  { expiresAt, lifetime = Number.POSITIVE_INFINITY }: TokenSet,
  now: number,
): boolean {
  return expiresAt !== undefined && now > expiresAt - Math.min(margin, lifetime * part)
}

export function hasEnded({ expiresAt }: TokenSet, now: number): boolean {
  return expiresAt !== undefined && now >= expiresAt
}

/** Whether they will do for a caller that was refused. */
export function satisfies(tokens: TokenSet, { refused, challenge, stepUp }: Renewal): boolean {
  return tokens.accessToken !== refused && (!stepUp || hasScopes(tokens.scope, challenge?.scope))
}

/** Values of one server, by issuer: none goes to another issuer (2026-07-28, SEP-2352). */
export function createShelf(given: AuthStorage, server: string, identity: string | undefined | null) {
  const whose = identity === undefined ? '' : ` as ${identity}`
  const tokensKey = (issuer: string): string => `tokens ${issuer} ${server}${whose}`
  const own = new Map<string, JsonObject>()
  const storage: Pick<AuthStorage, 'read' | 'write'> =
    identity !== null
      ? given
      : {
          read: async (key) => (key.startsWith('tokens ') ? own.get(key) : given.read(key)),
          async write(key, value) {
            if (!key.startsWith('tokens ')) return given.write(key, value)
            if (value === undefined) own.delete(key)
            else own.set(key, value)
          },
        }
  return {
    lockKey: `server ${server}`,
    async place(): Promise<ServerPlace | undefined> {
      const value = await storage.read(`server ${server}`)
      if (typeof value?.issuer !== 'string') return undefined
      return { issuer: value.issuer, resourceMetadata: textOf(value.resourceMetadata) }
    },
    setPlace: (place: ServerPlace) => storage.write(`server ${server}`, { ...place }),
    async tokens(issuer: string): Promise<TokenSet | undefined> {
      return readTokens(await storage.read(tokensKey(issuer)), issuer)
    },
    setTokens: (tokens: TokenSet) =>
      storage.write(tokensKey(tokens.issuer), {
        ...tokens,
        ...(tokens.key !== undefined && { key: { ...tokens.key } }),
      }),
    dropTokens: (issuer: string) => storage.write(tokensKey(issuer), undefined),
  }
}

export type Shelf = ReturnType<typeof createShelf>

function readTokens(value: JsonObject | undefined, issuer: string): TokenSet | undefined {
  const accessToken = textOf(value?.accessToken)
  if (accessToken === undefined || !isToken(accessToken) || value?.issuer !== issuer) return undefined
  const { expiresAt, lifetime, client } = value
  // a lost key makes the tokens worthless
  const key = readProofKey(value.key)
  const steppedUpTo = textOf(value.steppedUpTo)
  if (key === undefined && value.key !== undefined) return undefined
  return {
    accessToken,
    refreshToken: textOf(value.refreshToken),
    expiresAt: typeof expiresAt === 'number' ? expiresAt : undefined,
    lifetime: typeof lifetime === 'number' ? lifetime : undefined,
    scope: textOf(value.scope),
    ...(steppedUpTo !== undefined && { steppedUpTo }),
    issuer,
    ...(key !== undefined && { key }),
    ...(isObject(client) && { client }),
  }
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined
}

/** Space-separated lists. */
interface ScopeFacts {
  readonly challenged: string | undefined
  readonly wanted: string | undefined
  /** `scopes_supported`. */
  readonly resource: readonly string[] | undefined
  /** In a step-up. */
  readonly before: string | undefined
  /** Whether the server offers the scope for a refresh token. */
  readonly offline: boolean
}

/**
 * Scopes to ask for: the challenge's, else the options', else all of the resource; plus earlier ones
 * (specification: authorization, scope selection). Undefined: none is named.
 */
export function chooseScope(facts: ScopeFacts): string | undefined {
  const { challenged, wanted, resource, before, offline } = facts
  const chosen = words(challenged ?? wanted ?? resource?.join(' '))
  const all = new Set([...words(before), ...chosen])
  if (all.size === 0) return undefined
  if (offline) all.add('offline_access')
  return [...all].join(' ')
}

export function hasScopes(had: string | undefined, needed: string | undefined): boolean {
  const known = new Set(words(had))
  return words(needed).every((word) => known.has(word))
}

function words(scope: string | undefined): readonly string[] {
  return scope?.split(' ').filter((word) => word !== '') ?? []
}
