import { haveHandshake } from '../protocol/dialects/versions.js'
import type { Revision } from '../protocol/dialects/dialect.js'
import { type ProcessRef, processOf } from '../runtime/process/ref.js'
import { emitServer, type ServerNoticeEvent } from './base/events.js'

const overHttp: ReadonlySet<string> = new Set(['http', 'mount'])

interface Unkept {
  readonly name: string
  /** The name of its transport. */
  readonly transport: string
  readonly revisions: readonly Revision[]
}

/** Says that clients meet 404 after the end of this program, as nothing keeps their sessions. */
export function noteSessionsInMemory(ref: ProcessRef, { name, transport, revisions }: Unkept): void {
  if (!overHttp.has(transport) || !haveHandshake(revisions)) return
  const todo = 'give it an engine (files, redis, sealed)'
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
