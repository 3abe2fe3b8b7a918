import { elicitationModes } from '../../protocol/dialects/capabilities.js'
import { dialectOf } from '../../protocol/dialects/versions.js'
import { isMethod, type Method, methods } from '../../protocol/messages/methods.js'
import { readResult } from '../../protocol/messages/params.js'
import type {
  CallToolParams,
  CallToolResult,
  ListToolsResult,
  TaskMetadata,
  Tool,
} from '../../protocol/messages/tools.js'
import { urlElicitations } from '../../protocol/messages/elicitation.js'
import { cacheableMethods } from '../../protocol/stateless/stamp.js'
import { errorCodes, McpError, ProtocolError } from '../../protocol/wire/errors.js'
import type { JsonObject } from '../../protocol/wire/json.js'
import { didYouMean } from '../../runtime/base/near.js'
import { visitPages } from '../answers/url-visits.js'
import { callError, ClientError, sentBefore } from '../base/errors.js'
import { bad, readArgument, readObject } from '../base/read-options.js'
import type { Holdings } from '../holdings/holdings.js'
import {
  type CallOptions,
  readCallOptions,
  readToolOptions,
  type ToolCallOptions,
} from '../options/call-options.js'
import { Caller, type CallInput, type CallOutcome } from './caller.js'
import { withoutBadEntries } from './entries.js'
import { allPages, type PageOptions } from './pages.js'
import type { ClientParts } from './parts.js'
import { whenReady } from './ready.js'
import { type ToolResult, toolResult } from './results.js'
import {
  mayWantTask,
  tellsRefusal,
  type StartedTask,
  startsTasks,
  takesTasks,
  TaskRuns,
  unsupported,
} from './task-runs.js'

/** Requests of users: reuses cached answers, checks and remembers results. */
export class Requests {
  readonly #parts: ClientParts
  readonly #caller: Caller
  readonly #runs: TaskRuns

  constructor(parts: ClientParts) {
    this.#parts = parts
    this.#caller = new Caller(parts)
    this.#runs = new TaskRuns(parts, this.#caller)
  }

  /** Resolves once the transport has it. */
  async notify(method: string, params?: object): Promise<void> {
    await this.#caller.call({ method, params, wantsAnswer: false })
  }

  /** Rejects with INVALID_RESPONSE when the result does not fit a known method. */
  async make(method: string, params?: object, options?: CallOptions): Promise<JsonObject> {
    if (method === 'initialize')
      throw bad('method', 'any but initialize, which the client sends itself', method)
    const { cache } = this.#parts.holdings
    const given = params as JsonObject | undefined
    const isCacheable = cacheableMethods.has(method)
    const kept = isCacheable && !cache.isEmpty ? this.#find(method, given, options) : undefined
    if (kept !== undefined) return kept
    const { changes } = cache
    const began = this.#parts.holdings.world.now()
    const answer = await this.#call({ method, params: given, wantsAnswer: true, options })
    if (isForeign(answer, options)) return answer.result
    const outcome = isTask(method, answer) ? await this.#finish(answer, this.#within(options, began)) : answer
    const result = this.#read(method, outcome, options?.onBadEntry)
    const isCurrent =
      cache.changes === changes && outcome.rounds === 0 && outcome.dialect?.handshake === false
    // an answer to a call with headers of its own may be for one user alone; of others, no fault is hidden
    const isForAll = options?.headers === undefined && options?.onBadEntry === undefined
    if (isCacheable && isCurrent && isForAll)
      cache.keep(method, given, result, this.#parts.holdings.world.now())
    return result
  }

  /** Also checks structured content against the output schema. */
  async callTool(
    name: string,
    args: Record<string, unknown> | undefined,
    options?: ToolCallOptions,
  ): Promise<ToolResult> {
    const { holdings } = this.#parts
    const { task, call } = readToolOptions(options)
    const params = readToolCall(name, args, call)
    const isPlain = task === undefined && holdings.tools.taskSupportOf(name) !== 'required'
    const made = isPlain ? this.#callPlainly(params, call) : this.#callAsTask(params, task ?? {}, call)
    return await this.#checked(name, await made)
  }

  async #checked(name: string, answer: JsonObject): Promise<ToolResult> {
    const { settings, holdings } = this.#parts
    const result = answer as unknown as CallToolResult
    if (settings.checkOutput && holdings.tools.hasOutput(name)) await checkOutput(name, result, holdings)
    return toolResult(result)
  }

  /** A request of the client's tasks, unchecked. */
  ask(method: string, params: JsonObject, options: CallOptions): Promise<CallOutcome> {
    return this.#caller.call({ method, params, wantsAnswer: true, options })
  }

  /** Resolves when the server has begun it. Rejects with NOT_SUPPORTED. */
  async startTool(
    name: string,
    args: Record<string, unknown> | undefined,
    options?: ToolCallOptions,
  ): Promise<StartedTask> {
    const { task = {}, call } = readToolOptions(options)
    const params = readToolCall(name, args, call)
    const rest = this.#within(call)
    await this.#mayBeTask(name, rest)
    const { server } = this.#parts.holdings
    const isCore = takesTasks(server)
    if (server !== undefined && !startsTasks(server)) throw unsupported('tasks.start', server)
    if (isCore && !this.#isTaskTool(name)) throw forbidden(name)
    const asked = isCore ? { ...params, task } : params
    const outcome = await this.#call({
      method: 'tools/call',
      params: asked as unknown as JsonObject,
      wantsAnswer: true,
      options: rest(),
    })
    const made = this.#runs.made(outcome)
    if (made !== undefined) return { task: made.task }
    return { result: await this.#checked(name, this.#read('tools/call', outcome)) }
  }

  /** Waits for a task of an earlier call. */
  async finishTask(
    taskId: string,
    options: CallOptions,
    how: { readonly what: string; readonly owns: boolean },
  ): Promise<ToolResult> {
    const result = await this.#runs.finish(taskId, options, how)
    return toolResult(checkResult('tools/call', result) as unknown as CallToolResult)
  }

  /** A tool that was not listed may turn out to be one that has to be a task (2025-11-25, tasks). */
  async #callPlainly(params: CallToolParams, options: CallOptions | undefined): Promise<JsonObject> {
    const { tools, world } = this.#parts.holdings
    const began = world.now()
    let outcome: () => JsonObject
    try {
      const result = await this.make('tools/call', params, options)
      if (!tellsRefusal(result)) return result
      outcome = () => result
    } catch (error) {
      if (!mayWantTask(error)) throw error
      outcome = () => {
        throw error
      }
    }
    if (!takesTasks(this.#parts.holdings.server)) return outcome()
    const rest = this.#within(options, began)
    // a call beside this one may have listed it meanwhile
    if (tools.taskSupportOf(params.name) === undefined) await this.#listAgain(rest)
    return tools.taskSupportOf(params.name) === 'required'
      ? await this.#callAsTask(params, {}, rest())
      : outcome()
  }

  /** As a task where the tool may be one; otherwise plainly. */
  async #callAsTask(
    params: CallToolParams,
    task: TaskMetadata,
    options: CallOptions | undefined,
  ): Promise<JsonObject> {
    const rest = this.#within(options)
    if (!(await this.#mayBeTask(params.name, rest))) return await this.make('tools/call', params, rest())
    const make = (input: CallInput): Promise<CallOutcome> => this.#call(input)
    const outcome = await this.#runs.call(make, params as unknown as JsonObject, task, rest())
    return this.#read('tools/call', outcome)
  }

  async #mayBeTask(name: string, rest: () => CallOptions): Promise<boolean> {
    const { holdings, settings } = this.#parts
    const { tools } = holdings
    const { signal, wait, timeout } = readCallOptions(rest(), settings.timeout)
    if (holdings.server === undefined && wait)
      await whenReady(this.#parts, { timeout, ...(signal !== undefined && { signal }) })
    if (!takesTasks(holdings.server)) return false
    if (tools.taskSupportOf(name) === undefined) await this.#listAgain(rest)
    return this.#isTaskTool(name)
  }

  #isTaskTool(name: string): boolean {
    const support = this.#parts.holdings.tools.taskSupportOf(name)
    return support === 'optional' || support === 'required'
  }

  /** The server has made a task of the call (2026-07-28, tasks). */
  async #finish(outcome: CallOutcome, rest: () => CallOptions): Promise<CallOutcome> {
    const first = this.#runs.made(outcome)
    if (first === undefined) return outcome
    const result = await this.#runs.finish(first.task.taskId, rest(), { owns: true, first })
    return { ...outcome, result }
  }

  #find(method: string, params: JsonObject | undefined, options?: CallOptions): JsonObject | undefined {
    const { holdings, settings } = this.#parts
    const { fresh, headers } = readCallOptions(options, settings.timeout)
    if (fresh || headers !== undefined) return undefined
    return holdings.cache.find(method, params, this.#parts.holdings.world.now())
  }

  /** Repeats the call when the server refused it until something is done first. */
  async #call(call: CallInput): Promise<CallOutcome> {
    const { settings } = this.#parts
    const mirrors = call.method === 'tools/call' && settings.transport.modern === 'http'
    const rest = mirrors || settings.answers.url !== undefined ? this.#within(call.options) : undefined
    try {
      return await this.#caller.call(call)
    } catch (error) {
      if (!(error instanceof McpError)) throw error
      if (error.code === errorCodes.methodNotFound || error.code === errorCodes.invalidParams)
        throw this.#explained(error, call)
      if (rest === undefined) throw error
      try {
        if (mirrors && error.code === errorCodes.headerMismatch) await this.#listAgain(rest)
        else await this.#visitPages(error, call.method, rest)
        return await this.#caller.call({ ...call, options: rest() })
      } catch (later) {
        throw sentBefore(later)
      }
    }
  }

  /** Adds the name that was probably meant. */
  #explained(error: McpError, { method, params = {} }: CallInput): McpError {
    const { cache, tools } = this.#parts.holdings
    const { name, cursor } = params as JsonObject
    if (error.code === errorCodes.methodNotFound) return suggesting(error, method, Object.keys(methods))
    if (method === 'tools/call') return suggesting(error, String(name), tools.names())
    // an unknown cursor says that the pages before it have changed
    if (cursor !== undefined) cache.dropList(method)
    return error
  }

  /** -32020 (headers missing): the tool changed. Lists the tools before the repeat (2026-07-28, HTTP). */
  async #listAgain(rest: () => CallOptions): Promise<void> {
    const fetch = async ({ cursor }: PageOptions) => {
      const { onProgress: _progress, ...options } = rest()
      const page = cursor === undefined ? {} : { cursor }
      const result = await this.make('tools/list', page, { ...options, fresh: true })
      return result as unknown as ListToolsResult
    }
    for await (const _tool of allPages('tools/list', {}, fetch, ({ tools }) => tools)) {
      // each page is remembered as it comes
    }
  }

  /**
   * Visits the pages that a refusal (-32042) asks for; throws the refusal unless the user agrees and all are
   * done (2025-11-25, elicitation).
   */
  async #visitPages(error: McpError, method: string, rest: () => CallOptions): Promise<void> {
    const { settings, holdings } = this.#parts
    const dialect = dialectOf(holdings.server?.revision ?? '')
    const knows = dialect !== undefined && elicitationModes(dialect, settings.capabilities).includes('url')
    if (!knows) throw error
    const { timeout: left = settings.timeout, signal: given } = rest()
    const signal = this.#caller.stops(given) ?? new AbortController().signal
    const timeout = Math.min(settings.questionTimeout, left)
    const { world: clock } = holdings
    const desk = { settings, holdings, clock, dialect, signal, callSignal: given, timeout }
    const isDone = await visitPages(method, urlElicitations(error), desk, left)
    // the call says itself that it was given up
    if (!isDone && !signal.aborted) throw error
  }

  #read(method: string, { result, dialect }: CallOutcome, tell?: CallOptions['onBadEntry']): JsonObject {
    if (!isMethod(method) || method === 'ping') return result
    const { holdings } = this.#parts
    const checked = checkResult(
      method,
      tell === undefined ? result : withoutBadEntries(method, result, holdings.outside(tell)),
    )
    if (method !== 'tools/list') return checked
    return this.#learn(checked as unknown as ListToolsResult, dialect?.handshake === false)
  }

  /** Over HTTP, leaves out tools whose headers break the rules (2026-07-28, Streamable HTTP). */
  #learn(page: ListToolsResult, isModern: boolean): JsonObject {
    const { settings } = this.#parts
    const mirrors = isModern && settings.transport.modern === 'http'
    const tools = page.tools.filter((tool) => this.#admits(tool, mirrors))
    return { ...page, tools } as unknown as JsonObject
  }

  #admits(tool: Tool, mirrors: boolean): boolean {
    const { holdings } = this.#parts
    try {
      holdings.tools.learn(tool, mirrors)
      return true
    } catch (error) {
      if (!(error instanceof ProtocolError)) throw error
      holdings.reports.warn('bad_tool', error.message, tool.name)
      return false
    }
  }

  /** With what is left of the time. */
  #within(
    options: CallOptions | undefined,
    began: number = this.#parts.holdings.world.now(),
  ): () => CallOptions {
    const { timeout, totalTimeout } = readCallOptions(options, this.#parts.settings.timeout)
    const clock = this.#parts.holdings.world
    const left = (ms: number): number => Math.max(1, ms - (clock.now() - began))
    return () => ({ ...options, timeout: left(timeout), totalTimeout: left(totalTimeout) })
  }
}

/** Adds the probable name, unless the server names one or knows this one. */
function suggesting(error: McpError, name: string, known: Iterable<string>): McpError {
  const names = [...known]
  const hint = names.includes(name) || error.message.includes('did you mean') ? '' : didYouMean(name, names)
  if (hint === '') return error
  const { code, message, data, retryable, cause } = error
  return new McpError(code, `${message}${hint}`, {
    data,
    retryable,
    ...(cause === undefined ? {} : { cause }),
  })
}

/** Whether an extension's result, which the caller wants unchecked. */
function isForeign({ result, dialect }: CallOutcome, options: CallOptions | undefined): boolean {
  if (options?.resultTypes === undefined || dialect?.handshake !== false) return false
  return options.resultTypes.includes(result.resultType as string)
}

/** One of 2025-11-25 is what its caller has asked for, who gets it as it is. */
function isTask(method: string, { result, dialect }: CallOutcome): boolean {
  return method === 'tools/call' && result.resultType === 'task' && dialect?.handshake === false
}

function forbidden(name: string): ClientError {
  const text = `tasks.start: ${name.slice(0, 100)} may not be run as a task, as the server lists it`
  return callError('NOT_SUPPORTED', text, { sent: false, retryable: false })
}

/** The params of a call. Throws BAD_OPTION. */
function readToolCall(
  name: string,
  args: Record<string, unknown> | undefined,
  options: CallOptions | undefined,
): CallToolParams {
  readArgument(name, 'name', "callTool('a_tool', { a: 1 })")
  if (options?.resultTypes !== undefined)
    throw bad('resultTypes', 'none: request() takes such results', options.resultTypes)
  return args === undefined ? { name } : { name, arguments: readObject(args, 'args') }
}

function checkResult<M extends Method>(method: M, result: JsonObject): JsonObject {
  try {
    return readResult(method, result) as JsonObject
  } catch (cause) {
    if (!(cause instanceof ProtocolError)) throw cause
    throw callError('INVALID_RESPONSE', cause.message, { sent: true, retryable: false, cause })
  }
}

/** Most issues that an error names. */
const maxIssues = 10

/** Checks structured content, unless `isError`. Rejects with BAD_OUTPUT. An unusable schema only warns. */
async function checkOutput(name: string, result: CallToolResult, holdings: Holdings): Promise<void> {
  if (result.isError === true) return
  try {
    const schema = holdings.tools.outputOf(name)
    if (schema === undefined) return
    if (!Object.hasOwn(result, 'structuredContent'))
      throw badOutput(name, ['nothing, though the tool promises it'])
    const parsed = await schema.parse(result.structuredContent)
    if ('value' in parsed) return
    throw badOutput(
      name,
      parsed.issues.slice(0, maxIssues).map(({ path, message }) => `${path} ${message}`.trim()),
    )
  } catch (error) {
    if (!(error instanceof ProtocolError)) throw error
    holdings.reports.warn('bad_schema', error.message, name)
  }
}

function badOutput(name: string, issues: readonly string[]): Error {
  const text = `tools/call ${name.slice(0, 100)}: structuredContent does not fit the listed outputSchema: ${issues.join('; ')}`
  return new ClientError('BAD_OUTPUT', text, { data: { sent: true, issues } })
}
