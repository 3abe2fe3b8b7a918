import type { JsonObject } from '../../protocol/wire/json.js'
import type { BearerChallenge } from './challenge.js'
import type { TokenAnswer } from './library.js'
import type { AuthStorage } from './storage.js'

/** The tokens of one issuer for one server. */
export interface TokenSet {
  readonly accessToken: string
  readonly refreshToken: string | undefined
  /** In ms since 1970; undefined when the issuer does not say. */
  readonly expiresAt: number | undefined
  /** What was asked for or, where the issuer gave something else, what was given. */
  readonly scope: string | undefined
  readonly issuer: string
}

/** Why tokens are wanted. */
export interface Renewal {
  /** The access token that the server refused; undefined when there was none. */
  readonly refused: string | undefined
  readonly challenge: BearerChallenge | undefined
  /** Whether the token is good and has too few scopes (403). */
  readonly stepUp: boolean
}

/** What is remembered of a server: whose tokens it takes. */
interface ServerPlace {
  readonly issuer: string
  readonly resourceMetadata: string | undefined
}

/** Milliseconds before its end at which a token is renewed. */
const margin = 30_000

/** Tokens from an answer; without a new refresh token the old one stays. */
export function tokensOf(
  answer: TokenAnswer,
  { scope, issuer, before }: { scope: string | undefined; issuer: string; before?: TokenSet | undefined },
): TokenSet {
  const { access_token: accessToken, refresh_token: refreshToken, expires_in: seconds } = answer
  return {
    accessToken,
    refreshToken: refreshToken ?? before?.refreshToken,
    expiresAt: seconds === undefined ? undefined : Date.now() + seconds * 1_000,
    scope: answer.scope ?? scope,
    issuer,
  }
}

/** Whether a token should be renewed before it is used again. */
export function isExpiring({ expiresAt }: TokenSet, now: number): boolean {
  return expiresAt !== undefined && now > expiresAt - margin
}

/** Whether these tokens will do for a caller that was refused. */
export function satisfies(tokens: TokenSet, { refused, challenge, stepUp }: Renewal): boolean {
  return tokens.accessToken !== refused && (!stepUp || hasScopes(tokens.scope, challenge?.scope))
}

/**
 * The values of one server in a storage, each under its issuer: what one issuer gave is never sent to another
 * (2026-07-28, SEP-2352).
 */
export function createShelf(storage: AuthStorage, server: string) {
  const tokensKey = (issuer: string): string => `tokens ${issuer} ${server}`
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
    setTokens: (tokens: TokenSet) => storage.write(tokensKey(tokens.issuer), { ...tokens }),
    dropTokens: (issuer: string) => storage.write(tokensKey(issuer), undefined),
  }
}

/** What `createShelf` answers. */
export type Shelf = ReturnType<typeof createShelf>

function readTokens(value: JsonObject | undefined, issuer: string): TokenSet | undefined {
  const accessToken = textOf(value?.accessToken)
  if (accessToken === undefined || value?.issuer !== issuer) return undefined
  const { expiresAt } = value
  return {
    accessToken,
    refreshToken: textOf(value.refreshToken),
    expiresAt: typeof expiresAt === 'number' ? expiresAt : undefined,
    scope: textOf(value.scope),
    issuer,
  }
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined
}

/** What scopes are chosen by; all as space-separated lists. */
interface ScopeFacts {
  /** Of the challenge. */
  readonly challenged: string | undefined
  /** Of the user's options. */
  readonly wanted: string | undefined
  /** `scopes_supported` of the resource. */
  readonly resource: readonly string[] | undefined
  /** Asked for before, when more is needed now. */
  readonly before: string | undefined
  /** Whether the authorization server offers the scope for a refresh token. */
  readonly offline: boolean
}

/**
 * The scopes to ask for (specification: authorization, scope selection): those of the challenge, or else of
 * the user's options, or else all of the resource; and those asked for before. Undefined: none is named.
 */
export function chooseScope(facts: ScopeFacts): string | undefined {
  const { challenged, wanted, resource, before, offline } = facts
  const chosen = words(challenged ?? wanted ?? resource?.join(' '))
  const all = new Set([...words(before), ...chosen])
  if (all.size === 0) return undefined
  if (offline) all.add('offline_access')
  return [...all].join(' ')
}

/** Whether all the scopes of `needed` are among those of `had`. */
export function hasScopes(had: string | undefined, needed: string | undefined): boolean {
  const known = new Set(words(had))
  return words(needed).every((word) => known.has(word))
}

function words(scope: string | undefined): readonly string[] {
  return scope?.split(' ').filter((word) => word !== '') ?? []
}
