import { readFile } from 'node:fs/promises'
import { isObject, type JsonObject } from '../../protocol/wire/json.js'
import { messageOf } from '../../runtime/base/errors.js'
import type { Discovered } from './discovery.js'
import { authFailed, quotable } from './failure.js'
import type { ClientError } from '../base/errors.js'
import type { WorkloadOptions } from './options.js'
import { orAborted } from './storage.js'

/**
 * The JWT that a platform gives this program, read anew. It goes to an authorization server that it names
 * (`aud`), or that the options name: a server that chose another one could use it at the right one. Rejects
 * with AUTHORIZATION_FAILED.
 */
export async function workloadToken(
  options: WorkloadOptions,
  { metadata, resource }: Discovered,
  signal: AbortSignal,
): Promise<string> {
  const { issuer, token_endpoint: audience } = metadata
  if (options.issuer !== undefined && options.issuer !== issuer)
    throw authFailed(
      `workload.issuer is ${options.issuer}, and the server wants tokens of ${quotable(issuer)}`,
    )
  const request = { audience, issuer, resource, signal }
  const given = options.file === undefined ? ask(options, request) : read(options.file)
  const token = await orAborted(given, signal)
  const claims = claimsOf(token)
  // a file that is written anew may be empty for a moment
  if (claims === undefined) throw notYet('workload: expected a JWT')
  const named = [claims.aud].flat()
  if (options.issuer === undefined && !named.includes(audience) && !named.includes(issuer))
    throw authFailed(
      `workload: the JWT is not for ${quotable(audience)} (aud), so it is not sent there: have one made for it, or name that server with workload.issuer`,
    )
  return token
}

async function ask(
  { token }: WorkloadOptions,
  request: Parameters<NonNullable<WorkloadOptions['token']>>[0],
): Promise<string> {
  return String((await token?.(request)) ?? '').trim()
}

async function read(file: string): Promise<string> {
  try {
    return (await readFile(file, 'utf8')).trim()
  } catch (cause) {
    throw notYet(`workload.file cannot be read: ${messageOf(cause)}`)
  }
}

/** Where there was one before, the platform gives another one in a while. */
function notYet(message: string): ClientError {
  return authFailed(message, { workload: 'none' })
}

/** Unverified claims; the authorization server checks them. */
function claimsOf(token: string): JsonObject | undefined {
  const [, body, ...rest] = token.split('.')
  if (body === undefined || rest.length !== 1 || !/^[\w.-]+$/.test(token)) return undefined
  try {
    const claims: unknown = JSON.parse(Buffer.from(body, 'base64url').toString())
    return isObject(claims) ? claims : undefined
  } catch {
    return undefined
  }
}
