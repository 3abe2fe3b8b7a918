import { haveHandshake } from '../protocol/dialects/versions.js'
import type { Revision } from '../protocol/dialects/dialect.js'
import { type ProcessRef, processOf } from '../runtime/process/ref.js'
import { emitServer, type ServerNoticeEvent } from './base/events.js'

const overHttp: ReadonlySet<string> = new Set(['http', 'mount'])

interface Kept {
  readonly name: string
  /** The name of its transport. */
  readonly transport: string
  readonly revisions: readonly Revision[]
  /** Whatever keeps sessions beyond this program; all undefined: nothing does. */
  readonly by: readonly unknown[]
}

/** Says that clients meet 404 after the end of this program, where nothing keeps their sessions. */
export function noteSessionsInMemory(ref: ProcessRef, { name, transport, revisions, by }: Kept): void {
  if (!overHttp.has(transport) || !haveHandshake(revisions) || by.some((one) => one !== undefined)) return
  const todo = 'give it a store (createFileStore), sealedIds or a cluster'
  note(ref, name, 'sessions_in_memory', `sessions are in memory, and end with this program: ${todo}`)
}

/** Says that SIGHUP has found nothing to do. */
export function noteNotReloaded(ref: ProcessRef, name: string): void {
  const todo = 'start it with processes, or restart it for new code or certificates'
  note(ref, name, 'not_reloaded', `SIGHUP: nothing is reloaded, and the server goes on: ${todo}`)
}

function note(ref: ProcessRef, server: string, type: ServerNoticeEvent['type'], problem: string): void {
  emitServer('notice', () => ({ type, level: 'info', tree: processOf(ref).tree.id, server, problem }))
}
