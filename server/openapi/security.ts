import type { JsonObject } from '../../protocol/wire/json.js'
import { among } from '../../runtime/base/near.js'
import { show } from '../../runtime/base/errors.js'
import { optionError, ToolError } from '../base/errors.js'
import type { ToolContext } from '../context/context.js'
import { type ApiDocument, Unusable } from './document.js'
import { childrenOf, type Requirement } from './operations.js'
import { type Credential, isHeaderText } from './options.js'

/** What is added to a request so that the API knows who asks. */
interface Signature {
  readonly headers: Readonly<Record<string, string>>
  readonly query: readonly string[]
  readonly cookies: readonly string[]
  /** What nobody else may read, in each way that it is sent. */
  readonly secrets: readonly string[]
}

type SchemeKind = 'bearer' | 'basic' | 'apiKey'

interface Scheme {
  readonly kind: SchemeKind
  /** Of a key: where it is sent, and under which name. */
  readonly in: 'header' | 'query' | 'cookie'
  readonly name: string
}

const bare: Signature = Object.freeze({ headers: {}, query: [], cookies: [], secrets: [] })
const kinds: readonly SchemeKind[] = ['bearer', 'basic', 'apiKey']

/** The security schemes of a document, and the credentials that there are for them. */
export class Signer {
  readonly #schemes: ReadonlyMap<string, Scheme>
  readonly #auth: ReadonlyMap<string, Credential>
  /** Whether the document names schemes, also those that are not known here. */
  readonly #hasSchemes: boolean

  /** Throws BAD_OPTION for a credential of no scheme: a misspelt one would not be sent. */
  constructor(document: ApiDocument, auth: ReadonlyMap<string, Credential>) {
    this.#schemes = schemesOf(document)
    this.#hasSchemes = Object.keys(givenSchemes(document)).length > 0
    this.#auth = auth
    const known = [...this.#schemes.keys(), ...kinds]
    for (const name of auth.keys()) {
      if (known.includes(name)) continue
      const expected = among('a security scheme of the document', known, name)
      throw optionError(`auth.${name}`, `fromOpenApi: auth: expected ${expected}, got ${show(name)}`)
    }
  }

  /**
   * How a request is signed: by the first of the ways that it may be, for which there are all credentials;
   * not at all where there is none. Rejects with ToolError for a credential that cannot be sent.
   */
  async sign(ways: readonly Requirement[], ctx: ToolContext): Promise<Signature> {
    if (this.#auth.size === 0) return bare
    for (const way of this.#waysOf(ways)) {
      const found = await this.#signAs(way, ctx)
      if (found !== undefined) return found
    }
    return bare
  }

  /** A document without schemes says nothing of who may ask. */
  #waysOf(ways: readonly Requirement[]): readonly Requirement[] {
    if (this.#hasSchemes) return ways
    return kinds.filter((kind) => this.#auth.has(kind)).map((kind) => new Map([[kind, []]]))
  }

  async #signAs(way: Requirement, ctx: ToolContext): Promise<Signature | undefined> {
    const parts: Signature[] = []
    for (const [name, scopes] of way) {
      const scheme = this.#schemes.get(name) ?? (this.#hasSchemes ? undefined : usualScheme(name))
      const credential = this.#auth.get(name) ?? (scheme && this.#auth.get(scheme.kind))
      if (scheme === undefined || credential === undefined) return undefined
      const value = typeof credential === 'string' ? credential : await credential(ctx, { scopes })
      if (value === undefined || value === '') return undefined
      if (typeof value !== 'string' || !isHeaderText(value))
        throw new ToolError(`the credential ${show(name)} of this server cannot be sent; nothing was sent`)
      parts.push(signatureOf(scheme, value))
    }
    return {
      headers: Object.fromEntries(parts.flatMap(({ headers }) => Object.entries(headers))),
      query: parts.flatMap(({ query }) => query),
      cookies: parts.flatMap(({ cookies }) => cookies),
      secrets: parts.flatMap(({ secrets }) => secrets),
    }
  }
}

function usualScheme(kind: string): Scheme | undefined {
  return kind === 'apiKey' ? undefined : { kind: kind as SchemeKind, in: 'header', name: 'authorization' }
}

function signatureOf({ kind, in: place, name }: Scheme, value: string): Signature {
  if (kind === 'apiKey') {
    const pair = `${encodeURIComponent(name)}=${encodeURIComponent(value)}`
    const secrets = [value, encodeURIComponent(value)]
    if (place === 'query') return { ...bare, query: [pair], secrets }
    if (place === 'cookie') return { ...bare, cookies: [pair], secrets }
    return { ...bare, headers: { [name.toLowerCase()]: value }, secrets }
  }
  const sent = kind === 'basic' ? Buffer.from(value).toString('base64') : value
  const word = kind === 'basic' ? 'Basic' : 'Bearer'
  const password = kind === 'basic' ? [value.replace(/^[^:]*:/, '')] : []
  return { ...bare, headers: { authorization: `${word} ${sent}` }, secrets: [value, sent, ...password] }
}

function givenSchemes(document: ApiDocument): JsonObject {
  const { components, securityDefinitions } = document.root
  return childrenOf(document.version === '2.0' ? securityDefinitions : childrenOf(components).securitySchemes)
}

function schemesOf(document: ApiDocument): ReadonlyMap<string, Scheme> {
  return new Map(
    Object.entries(givenSchemes(document)).flatMap(([name, one]): [string, Scheme][] => {
      const scheme = schemeOf(document, one)
      return scheme === undefined ? [] : [[name, scheme]]
    }),
  )
}

/** Undefined for one that no header, query or cookie can show, such as a certificate. */
function schemeOf(document: ApiDocument, given: unknown): Scheme | undefined {
  const found = contained(() => document.object(given))
  const { type, scheme, name, in: place } = found ?? {}
  const authorization = { in: 'header', name: 'authorization' } as const
  if (type === 'oauth2' || type === 'openIdConnect') return { kind: 'bearer', ...authorization }
  if (type === 'basic') return { kind: 'basic', ...authorization }
  if (type === 'http') {
    const word = String(scheme).toLowerCase()
    return word === 'bearer' || word === 'basic' ? { kind: word, ...authorization } : undefined
  }
  const isPlace = place === 'header' || place === 'query' || place === 'cookie'
  if (type !== 'apiKey' || !isPlace || typeof name !== 'string' || name === '') return undefined
  if (place === 'header' && !/^[\w!#$%&'*+.^`|~-]+$/.test(name)) return undefined
  return { kind: 'apiKey', in: place, name }
}

function contained(work: () => JsonObject): JsonObject | undefined {
  try {
    return work()
  } catch (error) {
    if (error instanceof Unusable) return undefined
    throw error
  }
}
