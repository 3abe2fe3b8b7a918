import { createHash, createPrivateKey, createPublicKey, type KeyObject, sign } from 'node:crypto'
import type { Random } from '../../soak/random.js'

/** How a request is answered. */
export interface IssuerAnswer {
  readonly status: number
  readonly body?: object
  readonly headers?: Readonly<Record<string, string>>
}

/** A token that was given out. */
export interface Issued {
  readonly token: string
  readonly subject: string
  readonly resource: string
  /** Seconds since 1970, by the clock of the issuer. */
  readonly expiresAt: number
  /** What it came from: all that a sign-in led to. */
  readonly family: string
  /** Simulated ms since which it is no good. */
  revokedAt: number | undefined
}

export interface Grant {
  readonly kind: 'client_credentials' | 'authorization_code' | 'refresh_token'
  readonly subject: string
  readonly family: string
}

interface Key {
  readonly id: string
  readonly secret: KeyObject
  readonly jwk: object
}

interface Refresh {
  readonly family: string
  readonly subject: string
  readonly resource: string
  /** What came of it: until that is used, the answer may have been lost, and it may be used again. */
  successor: string | undefined
}

interface Code {
  readonly subject: string
  readonly challenge: string
  readonly redirectUri: string
  readonly resource: string
}

export interface IssuerParts {
  /** Its address. */
  readonly url: string
  readonly chance: Random
  /** Seconds that its tokens live. */
  readonly lifetime: number
  /** Whether tokens say what they are, or are asked about. */
  readonly tokens: 'jwt' | 'opaque'
  /** Whether those who sign in get refresh tokens. */
  readonly refreshes: boolean
  /** ms since 1970, by its own clock. */
  readonly date: () => number
  /** Simulated ms. */
  readonly now: () => number
  readonly granted: (grant: Grant) => void
  /** A refresh token was used although what came of it was used before. */
  readonly betrayed: (subject: string) => void
}

/** What servers say of themselves when they ask about tokens. */
export const resourceServer = { id: 'resource-server', secret: 'rs-secret' } as const
/** The secret of a client that signs in as itself. */
export const secretOf = (subject: string): string => `secret-of-${subject}`

/**
 * What an authorization server knows and decides; it outlives its programs, as a database does. Everything
 * comes from its chance: signatures, too, are the same in each run (Ed25519).
 */
export class Issuer {
  readonly #parts: IssuerParts
  readonly #keys: Key[] = []
  readonly #codes = new Map<string, Code>()
  readonly #refresh = new Map<string, Refresh>()
  readonly #clients = new Set<string>()
  readonly issued: Issued[] = []

  constructor(parts: IssuerParts) {
    this.#parts = parts
    this.announceKey()
  }

  get url(): string {
    return this.#parts.url
  }

  /** A key that is published; tokens are signed with it from `useKey` on. */
  announceKey(): void {
    this.#keys.push(this.#makeKey(`key-${this.#keys.length + 1}`))
  }

  /** Tokens are signed with the last key that was announced, and only that is published. */
  useKey(): void {
    this.#keys.splice(0, this.#keys.length - 1)
  }

  /** All that was given to somebody is no good any more. */
  revoke(subject: string): void {
    for (const one of this.issued) if (one.subject === subject) one.revokedAt ??= this.#parts.now()
    for (const [token, one] of this.#refresh) if (one.subject === subject) this.#refresh.delete(token)
  }

  /** Answers a request to one of its addresses. */
  answer(path: string, form: ReadonlyMap<string, string>, authorization: string | undefined): IssuerAnswer {
    switch (path) {
      case '/.well-known/oauth-authorization-server':
        return { status: 200, body: this.#metadata() }
      case '/jwks':
        return { status: 200, body: { keys: this.#keys.map(({ jwk }) => jwk) } }
      case '/register':
        return this.#register()
      case '/authorize':
        return this.#authorize(form)
      case '/token':
        return this.#token(form, basicOf(authorization))
      case '/introspect':
        return this.#introspect(form, basicOf(authorization))
      default:
        return { status: 404 }
    }
  }

  /** A token, as if its owner had signed in. */
  issue(subject: string, resource: string, family: string, more: object = {}): Issued {
    const { lifetime, date, tokens } = this.#parts
    const second = Math.floor(date() / 1_000)
    const expiresAt = second + lifetime
    const claims = {
      iss: this.url,
      sub: subject,
      aud: resource,
      iat: second,
      exp: expiresAt,
      jti: this.#word('id'),
      client_id: 'simulated',
      ...more,
    }
    const token = tokens === 'jwt' ? this.#sign(claims) : this.#word('access')
    const issued = { token, subject, resource, expiresAt, family, revokedAt: undefined }
    this.issued.push(issued)
    return issued
  }

  /** A token that looks like one of this issuer, and is signed with a key of somebody else. */
  forge(subject: string, resource: string): string {
    const second = Math.floor(this.#parts.date() / 1_000)
    const claims = { iss: this.url, sub: subject, aud: resource, iat: second, exp: second + 3_600 }
    return this.#sign(claims, this.#makeKey(this.#keys.at(-1)?.id ?? ''))
  }

  #metadata(): object {
    const { url } = this
    return {
      issuer: url,
      authorization_endpoint: `${url}/authorize`,
      token_endpoint: `${url}/token`,
      registration_endpoint: `${url}/register`,
      introspection_endpoint: `${url}/introspect`,
      jwks_uri: `${url}/jwks`,
      code_challenge_methods_supported: ['S256'],
      token_endpoint_auth_methods_supported: ['none', 'client_secret_basic'],
    }
  }

  #register(): IssuerAnswer {
    const id = this.#word('client')
    this.#clients.add(id)
    return { status: 201, body: { client_id: id, token_endpoint_auth_method: 'none' } }
  }

  /** The person has signed in already: `login` says who. */
  #authorize(form: ReadonlyMap<string, string>): IssuerAnswer {
    const field = (name: string): string => form.get(name) ?? ''
    if (!this.#clients.has(field('client_id')) || field('code_challenge_method') !== 'S256')
      return { status: 400 }
    const code = this.#word('code')
    this.#codes.set(code, {
      subject: field('login'),
      challenge: field('code_challenge'),
      redirectUri: field('redirect_uri'),
      resource: field('resource'),
    })
    const location = new URL(field('redirect_uri'))
    location.searchParams.set('code', code)
    location.searchParams.set('state', field('state'))
    return { status: 302, headers: { location: location.href } }
  }

  #token(form: ReadonlyMap<string, string>, basic: readonly [string, string] | undefined): IssuerAnswer {
    const field = (name: string): string => form.get(name) ?? ''
    if (field('grant_type') === 'client_credentials') {
      const [id = '', secret] = basic ?? []
      if (secret !== secretOf(id)) return oauthError(401, 'invalid_client')
      return this.#grant('client_credentials', id, field('resource'), this.#word('family'))
    }
    if (!this.#clients.has(field('client_id'))) return oauthError(401, 'invalid_client')
    if (field('grant_type') === 'refresh_token') return this.#renew(field('refresh_token'))
    const code = this.#codes.get(field('code'))
    this.#codes.delete(field('code'))
    const proof = createHash('sha256').update(field('code_verifier')).digest('base64url')
    if (code?.challenge !== proof || code.redirectUri !== field('redirect_uri'))
      return oauthError(400, 'invalid_grant')
    return this.#grant('authorization_code', code.subject, code.resource, this.#word('family'))
  }

  #renew(token: string): IssuerAnswer {
    const known = this.#refresh.get(token)
    if (known === undefined) return oauthError(400, 'invalid_grant')
    const { family, subject, resource, successor } = known
    if (successor !== undefined) {
      if (this.#refresh.get(successor)?.successor !== undefined) {
        this.#parts.betrayed(subject)
        this.#end(family)
        return oauthError(400, 'invalid_grant')
      }
      this.#refresh.delete(successor)
    }
    return this.#grant('refresh_token', subject, resource, family, known)
  }

  #grant(
    kind: Grant['kind'],
    subject: string,
    resource: string,
    family: string,
    before?: Refresh,
  ): IssuerAnswer {
    const { lifetime, refreshes, granted } = this.#parts
    const { token } = this.issue(subject, resource, family)
    granted({ kind, subject, family })
    const answer = { access_token: token, token_type: 'Bearer', expires_in: lifetime }
    if (kind === 'client_credentials' || !refreshes) return { status: 200, body: answer }
    const refresh = this.#word('refresh')
    this.#refresh.set(refresh, { family, subject, resource, successor: undefined })
    if (before !== undefined) before.successor = refresh
    return { status: 200, body: { ...answer, refresh_token: refresh } }
  }

  #end(family: string): void {
    for (const one of this.issued) if (one.family === family) one.revokedAt ??= this.#parts.now()
    for (const [token, one] of this.#refresh) if (one.family === family) this.#refresh.delete(token)
  }

  #introspect(form: ReadonlyMap<string, string>, basic: readonly [string, string] | undefined): IssuerAnswer {
    const [id, secret] = basic ?? []
    if (id !== resourceServer.id || secret !== resourceServer.secret) return oauthError(401, 'invalid_client')
    const found = this.issued.find(({ token }) => token === form.get('token'))
    const isActive =
      found !== undefined && found.revokedAt === undefined && found.expiresAt * 1_000 > this.#parts.date()
    if (!isActive) return { status: 200, body: { active: false } }
    const { subject: sub, resource: aud, expiresAt: exp } = found
    return { status: 200, body: { active: true, iss: this.url, sub, aud, exp, client_id: 'simulated' } }
  }

  #sign(claims: object, key = this.#keys[0] as Key): string {
    const header = { alg: 'EdDSA', typ: 'at+jwt', kid: key.id }
    const text = [header, claims].map((part) => encode(JSON.stringify(part))).join('.')
    return `${text}.${sign(null, Buffer.from(text), key.secret).toString('base64url')}`
  }

  #makeKey(id: string): Key {
    // the 32 bytes of an Ed25519 key, in PKCS #8
    const der = Buffer.concat([Buffer.from('302e020100300506032b657004220420', 'hex'), this.#bytes(32)])
    const secret = createPrivateKey({ key: der, format: 'der', type: 'pkcs8' })
    const jwk = { ...createPublicKey(secret).export({ format: 'jwk' }), kid: id, alg: 'EdDSA', use: 'sig' }
    return { id, secret, jwk }
  }

  #word(kind: string): string {
    return `${kind}-${this.#bytes(12).toString('hex')}`
  }

  #bytes(size: number): Buffer {
    return Buffer.from(Array.from({ length: size }, () => this.#parts.chance.between(0, 255)))
  }
}

function oauthError(status: number, error: string): IssuerAnswer {
  return { status, body: { error } }
}

function basicOf(header: string | undefined): readonly [string, string] | undefined {
  if (header === undefined || !header.startsWith('Basic ')) return undefined
  const [id = '', secret = ''] = Buffer.from(header.slice(6), 'base64').toString().split(':')
  const [first, second] = [id, secret].map((text) => new URLSearchParams(`=${text}`).get('') ?? '')
  return [first ?? '', second ?? '']
}

function encode(text: string): string {
  return Buffer.from(text).toString('base64url')
}
