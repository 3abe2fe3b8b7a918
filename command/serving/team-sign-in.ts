import {
  github,
  type IdentityProvider,
  oauth2,
  oidc,
  type OwnServer,
  type SignedInUser,
  signIn,
} from 'caduceus/transports'
import { isObject } from '../../protocol/wire/json.js'
import { messageOf } from '../../runtime/base/errors.js'
import type { optionReaders } from '../../runtime/base/read-options.js'
import type { UsageError } from '../base/usage-error.js'

/** Readers whose errors have the place in the file. */
export type TeamReaders = ReturnType<typeof optionReaders<UsageError>>
export type Wrong = (field: string, problem: string) => UsageError

/** Which users are meant: those of whom one of these holds. */
interface UserRule {
  /** Addresses that the provider has verified, in either case. */
  readonly emails: readonly string[]
  /** What comes after the @ of such an address. */
  readonly domains: readonly string[]
  /** Claims, and which values of each count; of a list one is enough. */
  readonly claims: Readonly<Record<string, readonly string[]>>
}

const fields = [
  'resource',
  'name',
  'with',
  'allow',
  'scopes',
  'scopesOf',
  'dpop',
  'lifetimes',
  'limits',
] as const
const providers = ['github', 'oidc', 'oauth2'] as const
const userFields = ['url', 'subject', 'name', 'email', 'emailVerified'] as const

/**
 * What `signIn()` makes of `caduceus.signIn`: rules stand for its functions. Throws what `wrong` makes, for
 * the field that is wrong.
 */
export function readTeamSignIn(value: unknown, readers: TeamReaders, wrong: Wrong): OwnServer {
  const { readFields } = readers
  const given = readFields(value, 'signIn', fields, 'signIn.')
  const { with: provider, allow, scopesOf, ...rest } = given
  const allowed = allow === undefined ? undefined : readRule(allow, 'signIn.allow', readers)
  const granted = scopesOf === undefined ? undefined : readGrants(scopesOf, given.scopes, readers)
  const options = {
    ...rest,
    with: readProvider(provider, readers, wrong),
    ...(allowed !== undefined && { allow: (user: SignedInUser) => isMeant(user, allowed) }),
    ...(granted !== undefined && {
      scopesOf: (user: SignedInUser) =>
        Object.keys(given.scopes as object).filter((scope) => {
          const rule = granted.get(scope)
          return rule === undefined || isMeant(user, rule)
        }),
    }),
  }
  return contained('signIn', 'signIn', wrong, () => signIn(options as never))
}

function readProvider(value: unknown, readers: TeamReaders, wrong: Wrong): IdentityProvider {
  const { readFields, badOption } = readers
  const given = readFields(value, 'signIn.with', providers, 'signIn.with.')
  const [kind, ...others] = providers.filter((name) => given[name] !== undefined)
  if (kind === undefined || others.length > 0)
    throw badOption('signIn.with', `one of ${providers.join(', ')}`, undefined)
  const field = `signIn.with.${kind}`
  const options = readers.readObject(given[kind], field)
  const make = { github, oidc, oauth2 } as Readonly<Record<string, (options: never) => IdentityProvider>>
  const read =
    kind === 'oauth2'
      ? { ...options, userInfo: readUserInfo(options.userInfo, `${field}.userInfo`, readers) }
      : options
  return contained(kind, field, wrong, () =>
    (make[kind] as (options: never) => IdentityProvider)(read as never),
  )
}

/** Where the user of a token is told, and under which names. */
function readUserInfo(value: unknown, field: string, { readFields, readText }: TeamReaders) {
  const given = readFields(value, field, userFields, `${field}.`)
  const url = readText(given.url, `${field}.url`)
  const { subject = 'sub', name = 'name', email = 'email', emailVerified = 'email_verified' } = given
  const names = Object.entries({ subject, name, email, emailVerified }).map(([key, text]) => [
    key,
    readText(text, `${field}.${key}`),
  ])
  const at = Object.fromEntries(names) as Record<'subject' | 'name' | 'email' | 'emailVerified', string>
  return async (ask: (address: string) => Promise<unknown>) => {
    const found = await ask(url)
    const user = isObject(found) ? found : {}
    const own = (key: string): unknown => (Object.hasOwn(user, key) ? user[key] : undefined)
    const [id, called, address] = [own(at.subject), own(at.name), own(at.email)]
    return {
      subject: idOf(id),
      name: typeof called === 'string' ? called : undefined,
      // an address that nobody has verified may be somebody else's
      email: own(at.emailVerified) === true && typeof address === 'string' ? address : undefined,
      claims: user,
    }
  }
}

/**
 * The id of a user as text; empty where there is none. Throws for a number that is rounded when it is read:
 * two users would be one (RFC 8259, section 6).
 */
export function idOf(id: unknown): string {
  if (typeof id === 'string') return id
  if (typeof id !== 'number') return ''
  if (Number.isSafeInteger(id)) return String(id)
  throw new Error('the id of a user is a number beyond 2^53: name a field that has it as text')
}

function readGrants(value: unknown, scopes: unknown, readers: TeamReaders): ReadonlyMap<string, UserRule> {
  const known = isObject(scopes) ? Object.keys(scopes) : []
  const given = readers.readFields(value, 'signIn.scopesOf', known, 'signIn.scopesOf.')
  return new Map(
    Object.entries(given).map(([scope, rule]) => [
      scope,
      readRule(rule, `signIn.scopesOf.${scope}`, readers),
    ]),
  )
}

function readRule(
  value: unknown,
  field: string,
  { readFields, readObject, badOption }: TeamReaders,
): UserRule {
  const given = readFields(value, field, ['emails', 'domains', 'claims'], `${field}.`)
  const texts = (at: string, list: unknown): readonly string[] => {
    if (list === undefined) return []
    if (Array.isArray(list) && list.length > 0 && list.every((one) => typeof one === 'string' && one !== ''))
      return list as string[]
    throw badOption(at, 'an array of texts', list)
  }
  const claims = given.claims === undefined ? {} : readObject(given.claims, `${field}.claims`)
  const rule = {
    emails: texts(`${field}.emails`, given.emails).map((one) => one.toLowerCase()),
    domains: texts(`${field}.domains`, given.domains).map((one) => one.toLowerCase().replace(/^@/, '')),
    claims: Object.fromEntries(
      Object.entries(claims).map(([name, list]) => [name, texts(`${field}.claims.${name}`, list)]),
    ),
  }
  // the claim says nothing of whether it was verified
  if (Object.hasOwn(rule.claims, 'email'))
    throw badOption(`${field}.claims.email`, 'no address among claims: name it in emails', given.claims)
  // with no rule nobody would be meant, or everybody
  if (Object.keys(given).length === 0) throw badOption(field, 'emails, domains or claims', value)
  return rule
}

export function isMeant({ email, claims }: SignedInUser, rule: UserRule): boolean {
  const address = email?.toLowerCase()
  if (address !== undefined && rule.emails.includes(address)) return true
  // of an address with more of them nobody knows which is meant
  const [, domain] = /^[^@]+@([^@]+)$/.exec(address ?? '') ?? []
  if (domain !== undefined && rule.domains.includes(domain)) return true
  return Object.entries(rule.claims).some(([name, wanted]) => {
    const had: unknown = Object.hasOwn(claims, name) ? claims[name] : undefined
    return [had].flat().some((one) => isRead(one) && wanted.includes(String(one)))
  })
}

/** What is told, and not a number that was rounded when it was read. */
function isRead(claim: unknown): boolean {
  return typeof claim === 'number' ? Number.isSafeInteger(claim) : /^(?:string|boolean)$/.test(typeof claim)
}

/** The error for a part of the file of one that an option would have. */
function contained<Result>(about: string, at: string, wrong: Wrong, work: () => Result): Result {
  try {
    return work()
  } catch (error) {
    const { data } = error as { readonly data?: { readonly field?: unknown } }
    const field = typeof data?.field === 'string' ? data.field : ''
    const inner = field.startsWith(`${about}.`) ? field.slice(about.length + 1) : field === about ? '' : field
    const problem = messageOf(error).replace(`${field}: `, '').replace(`${about}: `, '')
    const path = inner === '' ? at : `${at}.${inner}`
    throw wrong(path, `${path}: ${problem}`)
  }
}
