import { dialectOf, modernDialectOf } from '../../protocol/dialects/versions.js'
import { McpError } from '../../protocol/wire/errors.js'
import type { JsonObject } from '../../protocol/wire/json.js'
import type { JsonRpcRequest } from '../../protocol/wire/jsonrpc.js'
import { isPromise } from '../../runtime/base/promise.js'
import type { Peer, Response } from '../../transports/contract/contract.js'
import { refusal } from '../requests/answer.js'
import { route } from '../requests/router.js'
import { refusedCall } from '../runs/audited.js'
import { run } from '../runs/run.js'
import { nowhere } from '../runs/seat.js'
import type { TaskEnd, TaskRecord } from '../engine/task-store.js'
import type { McpTask } from './mcp-task.js'
import { McpTaskSeat } from './task-seat.js'

/** Begins the handler. Returns how the task ends that ends at once, also as there is no handler any more. */
export function startRun(task: McpTask): TaskEnd | undefined {
  const { record, host } = task
  const { id, params, capabilities } = record
  const request: JsonRpcRequest = { jsonrpc: '2.0', id, method: 'tools/call', params }
  const dialect = dialectOf(record.revision) ?? modernDialectOf(record.revision)
  if (dialect === undefined) return endOf(refusal(id, McpError.internal('the revision is not spoken here')))
  const peer = task.peer ?? peerOf(record)
  try {
    const work = route(request, { dialect, catalog: host.holdings.catalog, peer, capabilities })
    if (!('run' in work)) return endOf(refusal(id, McpError.internal('nothing to do')))
    task.run = new McpTaskSeat(task, work, dialect, { request, sink: nowhere, peer })
    const answer = run(work, task.run)
    if (!isPromise(answer)) return endOf(answer)
    task.run.answer = answer
    return undefined
  } catch (error) {
    if (!(error instanceof McpError)) throw error
    const refused = refusal(id, error, dialect)
    const { auditor } = host.holdings
    const call = { ...refusedCall({ request, peer }, task.world.now()), task: id }
    // nobody waits for the end of a task
    if (auditor !== undefined) void auditor.answered(call, refused)
    return endOf(refused)
  }
}

/** How the task ends by this answer; undefined: it continues on another node, or was stopped. */
export function endOf(response: Response | undefined): TaskEnd | undefined {
  if (response === undefined) return undefined
  if ('error' in response) return { type: 'error', error: response.error }
  // plain JSON: what it was made of may belong to the author
  return { type: 'result', result: JSON.parse(JSON.stringify(response.result)) as JsonObject }
}

/** What is known of the caller after the death of the program. */
function peerOf({ transport, trusted, principal }: TaskRecord): Peer {
  return {
    transport,
    headers: {},
    remoteAddress: undefined,
    ...(trusted !== undefined && { trusted }),
    ...(principal !== undefined && { principal }),
  }
}
