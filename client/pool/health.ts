import { ClientError, type ClientErrorCode } from '../base/errors.js'
import type { Client } from '../handle/client.js'
import type { PoolDesk } from './desk.js'
import type { PoolMember } from './member.js'

/** What came of a question for a sign of life. */
export interface Sign {
  readonly member: PoolMember
  readonly client: Client
  /** Why there was none; undefined when there was. */
  readonly missing: Error | undefined
}

/** Asks a member that has a connection for a sign of life, one question at a time. */
export function askForSign(member: PoolMember, timeout: number, heard: (sign: Sign) => void): void {
  const { client, asked, leaving } = member
  member.overdue = asked
  if (client === undefined || client.state.phase !== 'ready' || asked || leaving) return
  member.asked = true
  void client.ping({ timeout }).then(
    () => heard({ member, client, missing: undefined }),
    (error: Error) => heard({ member, client, missing: isSilence(error) ? error : undefined }),
  )
}

/** Takes a member that is silent out of the rotation, and back in when it answers. */
export function judgeSign(desk: PoolDesk, { member, client, missing }: Sign): void {
  member.asked = false
  const { health } = desk.settings
  if (health === undefined || member.client !== client || client.state.phase !== 'ready') return
  member.misses = missing === undefined ? 0 : member.misses + 1
  const healthy = member.misses < health.misses
  // Only an answer makes one healthy again.
  if (healthy === member.healthy || (healthy && missing !== undefined)) return
  member.healthy = healthy
  member.reason = missing
  desk.tell(healthy ? 'healthy' : 'unhealthy', member, missing)
  desk.update(member)
}

const silent: ReadonlySet<ClientErrorCode> = new Set<ClientErrorCode>([
  'TIMEOUT',
  'CONNECTION_LOST',
  'REQUEST_FAILED',
  'NOT_READY',
])

/** Any answer is a sign of life, also an error, and that the server knows no such question. */
function isSilence(error: Error): boolean {
  return error instanceof ClientError && silent.has(error.code)
}
