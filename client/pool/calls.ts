import { type CallOptions, readCallOptions } from '../options/call-options.js'
import type { Client } from '../handle/client.js'
import { ClientError, type ClientErrorCode } from '../base/errors.js'
import type { PoolDesk } from './desk.js'
import type { PoolMember } from './member.js'

/** Makes a call on one client, with what is left of the caller's time. */
export type MakeCall<T> = (client: Client, options: CallOptions) => Promise<T>

/**
 * Makes a call on the member whose turn it is, under one deadline, the wait for a member included. A call
 * that never left because its member went away is made on another, and on the same one only where nobody else
 * is free. Rejects with BAD_OPTION, naming the field, before anything is done.
 */
export async function callOnMember<T>(
  desk: PoolDesk,
  what: string,
  { options, make }: { readonly options: CallOptions | undefined; readonly make: MakeCall<T> },
): Promise<T> {
  const { timeout, signal, wait } = readCallOptions(options, desk.settings.timeout)
  const deadline = desk.clock.now() + timeout
  const avoid = new Set<PoolMember>()
  let left = timeout
  // one attempt for each member, and one for a member that comes meanwhile
  for (let attempts = desk.members.size + 1; ; attempts--) {
    const want = { what, exclusive: false, avoid, timeout: left, wait, signal }
    const taken = desk.take(want)
    const member = taken instanceof Promise ? await taken : taken
    left = deadline - desk.clock.now()
    try {
      const { client } = member
      if (client !== undefined)
        return await make(client, { ...options, timeout: Math.max(1, left), wait: false })
    } catch (error) {
      if (attempts <= 1 || !isUnsent(error)) throw error
      avoid.add(member)
    } finally {
      desk.giveBack(member, false)
    }
    left = Math.max(1, deadline - desk.clock.now())
  }
}

/** Errors of a call whose client went away: if it was not sent, another member may take it. */
const gone: ReadonlySet<ClientErrorCode> = new Set<ClientErrorCode>([
  'CLOSED',
  'GAVE_UP',
  'CONNECT_FAILED',
  'CONNECTION_LOST',
  'NO_COMMON_REVISION',
  'AUTHORIZATION_FAILED',
  'SIGN_IN_NEEDED',
  'NOT_READY',
])

function isUnsent(error: unknown): boolean {
  if (!(error instanceof ClientError) || !gone.has(error.code)) return false
  return (error.data as { sent?: unknown } | undefined)?.sent === false
}
