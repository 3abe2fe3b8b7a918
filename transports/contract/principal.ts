import { isObject } from '../../protocol/wire/json.js'
import { show } from '../../runtime/base/errors.js'
import { type TransportError, optionError } from '../base/errors.js'

/** Who sends a request, as the host program or an authorization has found out; plain data. */
export interface Principal {
  /** Who vouches for it: the `iss` of a token, or a name of your own for where accounts come from. */
  readonly issuer: string
  /**
   * Who it is there: the `sub` of a token, or the id of an account. Issuer and subject together say whom a
   * session belongs to.
   */
  readonly subject: string
  /** The program that it uses. */
  readonly clientId?: string
  /** What it may do. */
  readonly scopes?: readonly string[]
  /** When this stops being true, in ms since 1970; one that is past is refused with 401. */
  readonly expiresAt?: number
  /** Whatever else is known of it. */
  readonly claims?: Readonly<Record<string, unknown>>
}

/** A checked and frozen copy of what the host program says who it is. Throws TransportError BAD_OPTION. */
export function readPrincipal(given: unknown): Principal {
  if (!isObject(given)) throw bad('principal', 'an object with issuer and subject', typeof given)
  const { issuer, subject, clientId, scopes, expiresAt, claims } = given
  const known = {
    issuer: readText('issuer', issuer),
    subject: readText('subject', subject),
    ...(clientId !== undefined && { clientId: readText('clientId', clientId) }),
    ...(scopes !== undefined && { scopes: readScopes(scopes) }),
    ...(expiresAt !== undefined && { expiresAt: readTime(expiresAt) }),
    ...(isObject(claims) && { claims }),
  }
  return Object.freeze(known)
}

/** Whether two are the same one: they may use other programs, and have been given other scopes. */
export function isSamePrincipal(one: Principal | undefined, other: Principal | undefined): boolean {
  return one?.issuer === other?.issuer && one?.subject === other?.subject
}

/** Whether what is known of somebody is no longer true. */
export function hasExpired(principal: Principal | undefined): boolean {
  return principal?.expiresAt !== undefined && principal.expiresAt <= Date.now()
}

/** The same text for the same one, and for nobody else. */
export function keyOfPrincipal({ issuer, subject }: Principal): string {
  return JSON.stringify([issuer, subject])
}

function readText(field: string, value: unknown): string {
  if (typeof value === 'string' && value !== '') return value
  throw bad(field, 'a non-empty string', typeof value)
}

function readScopes(value: unknown): readonly string[] {
  if (!Array.isArray(value)) throw bad('scopes', 'an array of non-empty strings', typeof value)
  return Object.freeze(value.map((scope) => readText('scopes', scope)))
}

function readTime(value: unknown): number {
  if (typeof value === 'number' && !Number.isNaN(value)) return value
  throw bad('expiresAt', 'milliseconds since 1970', show(value))
}

/** Says the type of what came and not the value: it may be a secret. */
function bad(field: string, expected: string, got: string): TransportError {
  const message = `principal: ${field}: expected ${expected}, got ${got}`
  return optionError(field, message)
}
