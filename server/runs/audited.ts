import type { JsonRpcRequest } from '../../protocol/wire/jsonrpc.js'
import type { AuditedCall } from '../holdings/auditor.js'
import type { RequestDelivery, RunSeat } from './seat.js'

const audited: ReadonlySet<string> = new Set(['tools/call', 'resources/read', 'prompts/get'])

/** Whether requests like that have entries in an audit log. */
export function isAudited({ method }: JsonRpcRequest): boolean {
  return audited.has(method)
}

/** A run, as its entry tells of it. */
export function callOf(seat: RunSeat, isRefused = false): AuditedCall {
  const { delivery, session, taskId, upstream, startedAt, isLate } = seat
  const { request, peer } = delivery
  return { request, peer, session: session.id, task: taskId, upstream, startedAt, isLate, isRefused }
}

/** A request that was refused before there was a run. */
export function refusedCall(
  { request, peer }: Pick<RequestDelivery, 'request' | 'peer'>,
  startedAt: number,
): AuditedCall {
  const none = { session: undefined, task: undefined, upstream: undefined }
  return { request, peer, ...none, startedAt, isLate: false, isRefused: true }
}
