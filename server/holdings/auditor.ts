import { errorCodes } from '../../protocol/wire/errors.js'
import { isObject } from '../../protocol/wire/json.js'
import { buildError, type JsonRpcRequest } from '../../protocol/wire/jsonrpc.js'
import { cut } from '../../runtime/base/cut.js'
import { messageOf } from '../../runtime/base/errors.js'
import { outside } from '../../runtime/faults/containment.js'
import { waitWithin } from '../../runtime/time/wait.js'
import type { World } from '../../runtime/time/world.js'
import type { Peer, Response } from '../../transports/contract/contract.js'
import type { AuditEntry, AuditPlan } from '../base/audit.js'
import { digestOf, workFacts } from '../base/work-facts.js'

/** A call, as far as its entry needs it. */
export interface AuditedCall {
  readonly request: JsonRpcRequest
  readonly peer: Peer
  readonly session: string | undefined
  readonly task: string | undefined
  /** The server behind this one, what it calls that, and whether an error is as it told it. */
  readonly upstream:
    | { readonly server: string; readonly name: string; readonly isTheirs: boolean }
    | undefined
  /** By the clock of the tree. */
  readonly startedAt: number
  /** Whether its time was over. */
  readonly isLate: boolean
  /** Whether it was refused before anything ran for it. */
  readonly isRefused: boolean
}

/** Milliseconds that an answer waits for its entry. */
const patience = 10_000
/** Characters of what others have chosen, of a name, and of arguments and results as JSON. */
const longest = 500
const longestName = 2_000
const longestValue = 16_384

/** Tells the option `audit` of each call before that is answered. */
export class Auditor {
  readonly #plan: AuditPlan
  readonly #world: World
  readonly #tell: (problem: string) => void
  /** Whether the last entry was lost. */
  #isFailing = false

  constructor(plan: AuditPlan, world: World, tell: (problem: string) => void) {
    this.#plan = plan
    this.#world = world
    this.#tell = tell
  }

  /**
   * The refusal of a call that is about to begin, while entries are lost: its own entry tries whether they
   * still are. Undefined: it may begin.
   */
  before(call: AuditedCall): Promise<Response> | undefined {
    if (!this.#isFailing || this.#plan.onFailure === 'tell') return undefined
    const message = 'The audit log could not be written, so nothing is called: try again'
    const refusal = this.#refusal(call, message, { retryable: true, sent: false })
    return this.#write(entryOf({ ...call, isRefused: true }, refusal, this.#plan, this.#world)).then(
      () => refusal,
    )
  }

  /** The answer once the entry is taken; another one where the first is not to be given without it. */
  async answered<Answer extends Response | undefined>(
    call: AuditedCall,
    response: Answer,
  ): Promise<Answer | Response> {
    const isTaken = await this.#write(entryOf(call, response, this.#plan, this.#world))
    if (isTaken || response === undefined || this.#plan.onFailure === 'tell') return response
    const message = 'The call was made, and its answer is kept back: it could not be written to the audit log'
    return this.#refusal(call, message, { retryable: false, sent: !call.isRefused })
  }

  #refusal({ request: { id } }: AuditedCall, message: string, data: object): Response {
    return buildError(id, { code: errorCodes.internalError, message, data: { code: 'NOT_AUDITED', ...data } })
  }

  /** Whether it was taken. Never rejects. */
  async #write(entry: AuditEntry): Promise<boolean> {
    let problem: string | undefined
    try {
      // code of the user: not in the scope of what works for the call
      const written = outside(() => this.#plan.write(entry))
      if (written !== undefined) {
        const late = () => {
          throw new Error(`nothing came of it within ${patience} ms`)
        }
        await waitWithin<void>({ clock: this.#world, ms: patience, late }, (resolve, reject) => {
          Promise.resolve(written).then(resolve, reject)
          return undefined
        })
      }
    } catch (error) {
      problem = messageOf(error)
    }
    const wasFailing = this.#isFailing
    this.#isFailing = problem !== undefined
    if (problem !== undefined && !wasFailing) {
      const outcome =
        this.#plan.onFailure === 'tell' ? 'calls are answered all the same' : 'calls are refused'
      this.#tell(`the audit log cannot be written, and ${outcome}: ${cut(problem, longest)}`)
    }
    if (problem === undefined && wasFailing) this.#tell('the audit log is written again')
    return problem === undefined
  }
}

/** What a line says of a call; `response` is undefined for one that was cancelled. */
export function entryOf(
  call: AuditedCall,
  response: Response | undefined,
  { arguments: hasArguments, results }: Pick<AuditPlan, 'arguments' | 'results'>,
  world: Pick<World, 'now' | 'date'>,
): AuditEntry {
  const { request, peer, session, task, upstream, startedAt } = call
  const { method, params = {} } = request
  const { principal, remoteAddress, headers } = peer
  const requestId = headers['x-request-id']
  const { trace } = workFacts(request, peer)
  const name = method === 'resources/read' ? params.uri : params.name
  const args = method === 'resources/read' ? undefined : params.arguments
  const optional: Partial<AuditEntry> = {
    ...(upstream !== undefined && { server: upstream.server, upstreamName: cut(upstream.name, longestName) }),
    ...(principal !== undefined && {
      issuer: cut(principal.issuer, longest),
      subject: cut(principal.subject, longest),
      ...(principal.clientId !== undefined && { clientId: cut(principal.clientId, longest) }),
    }),
    ...(remoteAddress !== undefined && { address: remoteAddress }),
    ...(session !== undefined && { session: digestOf(session) }),
    ...(task !== undefined && { task: digestOf(task) }),
  }
  return {
    time: new Date(world.date()).toISOString(),
    method: method as AuditEntry['method'],
    name: typeof name === 'string' ? cut(name, longestName) : '',
    ...optional,
    ...outcomeOf(call, response),
    duration: Math.max(0, Math.round(world.now() - startedAt)),
    ...(typeof trace === 'string' && { trace }),
    request: typeof request.id === 'string' ? cut(request.id, longest) : request.id,
    ...(typeof requestId === 'string' && { requestId: cut(requestId, longest) }),
    ...(hasArguments && args !== undefined && { arguments: bounded(args) }),
    ...(results &&
      response !== undefined && { result: bounded('error' in response ? response.error : response.result) }),
  }
}

function outcomeOf(
  { request: { method }, upstream, isLate, isRefused }: AuditedCall,
  response: Response | undefined,
): Pick<AuditEntry, 'outcome' | 'code' | 'reason'> {
  if (response === undefined) return { outcome: 'cancelled' }
  if (isLate) return { outcome: 'timeout', ...('error' in response && { code: response.error.code }) }
  if ('error' in response) {
    const { code, message, data } = response.error
    const isOurs = isRefused || upstream?.isTheirs !== true
    const facts = isOurs && isObject(data) ? data : {}
    const outcome =
      isRefused || (facts.sent === false && typeof facts.code === 'string')
        ? 'refused'
        : facts.code === 'TIMEOUT'
          ? 'timeout'
          : 'error'
    return { outcome, code, ...(isOurs && { reason: cut(message, longest) }) }
  }
  const { result } = response
  if (result.resultType === 'input_required') return { outcome: 'input_required' }
  if (method === 'tools/call' && (result.resultType === 'task' || isObject(result.task)))
    return { outcome: 'task' }
  return { outcome: method === 'tools/call' && result.isError === true ? 'failed' : 'ok' }
}

/** The value, or the beginning of its JSON where that is long. */
function bounded(value: unknown): unknown {
  const text = JSON.stringify(value) ?? 'null'
  return text.length <= longestValue ? value : `${cut(text, longestValue)}...`
}
