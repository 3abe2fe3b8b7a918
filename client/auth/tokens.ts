import type { JsonObject } from '../../protocol/wire/json.js'
import type { TokenAnswer } from './library.js'
import type { AuthStorage } from './storage.js'

/** The tokens of one issuer for one server. */
export interface TokenSet {
  readonly accessToken: string
  readonly refreshToken: string | undefined
  /** In ms since 1970; undefined when nobody said. */
  readonly expiresAt: number | undefined
  /** What was asked for or, where the issuer gave something else, what was given. */
  readonly scope: string | undefined
  readonly issuer: string
}

/** What is remembered of a server: whose tokens it takes. */
export interface ServerPlace {
  readonly issuer: string
  readonly resourceMetadata: string | undefined
}

/** Milliseconds before its end from which on a token is not used any more. */
const margin = 30_000

/** Tokens from an answer; without another refresh token the old one goes on. */
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

/**
 * Whether a token should be got anew before it is used again; one that lives shorter than the margin is used
 * all the same.
 */
export function isExpiring({ expiresAt }: TokenSet, now: number): boolean {
  return expiresAt !== undefined && now > expiresAt - margin
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
