import { elicitationModes } from '../../protocol/dialects/capabilities.js'
import { errorCodes, McpError, ProtocolError } from '../../protocol/wire/errors.js'
import type { JsonObject } from '../../protocol/wire/json.js'
import { isMethod, type Method, methods } from '../../protocol/messages/methods.js'
import { readResult } from '../../protocol/messages/params.js'
import type { CallToolResult, ListToolsResult, Tool } from '../../protocol/messages/tools.js'
import { urlElicitations } from '../../protocol/messages/elicitation.js'
import { dialectOf } from '../../protocol/dialects/versions.js'
import type { Clock } from '../../runtime/time/clock.js'
import { didYouMean } from '../../runtime/base/near.js'
import { type CallOptions, readCallOptions } from '../options/call-options.js'
import type { Caller, CallInput, CallOutcome } from './caller.js'
import { callError, sentBefore } from '../base/errors.js'
import type { Holdings } from '../holdings/holdings.js'
import type { ClientSettings } from '../options/options.js'
import { checkOutput } from './output-check.js'
import { allPages, type PageParams } from './pages.js'
import { bad, readArgument, readObject } from '../base/read-options.js'
import { type ToolResult, toolResult } from './results.js'
import { visitPages } from '../answers/url-visits.js'

/** What requests are made with. */
export interface RequestParts {
  readonly caller: Caller
  readonly settings: ClientSettings
  readonly holdings: Holdings
  clock(): Clock
}

/**
 * The requests of users: answers that still hold are not asked for again, and what comes is checked and
 * remembered.
 */
export class Requests {
  readonly #parts: RequestParts

  constructor(parts: RequestParts) {
    this.#parts = parts
  }

  /**
   * Makes a request; a result of a known method is what it should be. Rejects with INVALID_RESPONSE
   * otherwise.
   */
  async make(method: string, params?: object, options?: CallOptions): Promise<JsonObject> {
    if (method === 'initialize')
      throw bad('method', 'any but initialize, which the client sends itself', method)
    const { caller, settings, holdings } = this.#parts
    const { cache } = holdings
    const given = params as JsonObject | undefined
    const kept = cache.isEmpty ? undefined : this.#find(method, given, options)
    if (kept !== undefined) return kept
    const { changes } = cache
    const call = { method, params: given, wantsAnswer: true, options }
    const rest = settings.answers.url === undefined ? undefined : this.#within(options)
    let outcome: CallOutcome
    try {
      outcome = await (given?.cursor === undefined ? caller.call(call) : this.#turnPage(call))
    } catch (error) {
      if (!(error instanceof McpError)) throw error
      if (error.code === errorCodes.methodNotFound) throw suggesting(error, method, Object.keys(methods))
      if (rest === undefined) throw error
      outcome = await again(() => this.#afterVisit(error, call, rest))
    }
    if (isForeign(outcome, options)) return outcome.result
    const result = this.#read(method, outcome)
    const isOfNow = cache.changes === changes && outcome.rounds === 0 && outcome.dialect?.handshake === false
    // what headers of its own brought may be for whoever they speak of alone
    if (isOfNow && options?.headers === undefined)
      cache.keep(method, given, result, this.#parts.clock().now())
    return result
  }

  /**
   * Calls a tool and checks what it promised. A server that misses headers (-32020) has changed the tool: the
   * tools are listed again, and the call, which was refused, is made once more (specification: 2026-07-28,
   * Streamable HTTP).
   */
  async callTool(
    name: string,
    args: Record<string, unknown> | undefined,
    options?: CallOptions,
  ): Promise<ToolResult> {
    const { caller, settings, holdings } = this.#parts
    readArgument(name, 'name', "callTool('a_tool', { a: 1 })")
    if (options?.resultTypes !== undefined)
      throw bad('resultTypes', 'none: request() takes such results', options.resultTypes)
    const params = args === undefined ? { name } : { name, arguments: readObject(args, 'args') }
    const repeats = settings.transport.modern === 'http' || settings.answers.url !== undefined
    const rest = repeats ? this.#within(options) : undefined
    // never kept, so not looked for
    const call = { method: 'tools/call', params, wantsAnswer: true, options }
    let outcome: CallOutcome
    try {
      outcome = await caller.call(call)
    } catch (error) {
      if (!(error instanceof McpError)) throw error
      if (error.code === errorCodes.invalidParams) throw suggesting(error, name, holdings.tools.names())
      if (rest === undefined) throw error
      const mismatch = error.code === errorCodes.headerMismatch
      outcome = await again(async () => {
        if (!mismatch || settings.transport.modern !== 'http') return this.#afterVisit(error, call, rest)
        await this.#listAgain(rest)
        return caller.call({ ...call, options: rest() })
      })
    }
    const answer = checkResult('tools/call', outcome.result) as unknown as CallToolResult
    if (settings.checkOutput && holdings.tools.promises(name)) await checkOutput(name, answer, holdings)
    return toolResult(answer)
  }

  #find(method: string, params: JsonObject | undefined, options?: CallOptions): JsonObject | undefined {
    const { holdings, settings, clock } = this.#parts
    const { fresh, headers } = readCallOptions(options, settings.timeout)
    return fresh || headers !== undefined ? undefined : holdings.cache.find(method, params, clock().now())
  }

  /** A cursor that the server does not know any more says that the pages before it have changed. */
  async #turnPage(call: CallInput): Promise<CallOutcome> {
    try {
      return await this.#parts.caller.call(call)
    } catch (error) {
      const badCursor = error instanceof McpError && error.code === errorCodes.invalidParams
      if (badCursor) this.#parts.holdings.cache.dropList(call.method)
      throw error
    }
  }

  /**
   * A server that wants pages to be visited first (-32042) has refused the call: where the user agrees, and
   * the server says that it is done, the call is made once more, within its time. Otherwise the caller hears
   * of the refusal (specification: 2025-11-25, elicitation).
   */
  async #afterVisit(error: McpError, call: CallInput, rest: () => CallOptions): Promise<CallOutcome> {
    const { caller, settings, holdings } = this.#parts
    const dialect = dialectOf(holdings.server?.revision ?? '')
    const knows = dialect !== undefined && elicitationModes(dialect, settings.capabilities).includes('url')
    if (!knows) throw error
    const { timeout: left = settings.timeout, signal: given } = rest()
    const signal = caller.stops(given) ?? new AbortController().signal
    const timeout = Math.min(settings.questionTimeout, left)
    const desk = { settings, holdings, clock: this.#parts.clock(), dialect, signal, timeout }
    const isDone = await visitPages(call.method, urlElicitations(error), desk, left)
    // one that was given up says so itself
    if (!isDone && !signal.aborted) throw error
    return caller.call({ ...call, options: rest() })
  }

  #read(method: string, { result, dialect }: CallOutcome): JsonObject {
    if (!isMethod(method) || method === 'ping') return result
    const checked = checkResult(method, result)
    if (method !== 'tools/list') return checked
    return this.#learn(checked as unknown as ListToolsResult, dialect?.handshake === false)
  }

  /**
   * Over HTTP, a tool whose headers break the rules is left out (specification: 2026-07-28, Streamable HTTP).
   */
  #learn(page: ListToolsResult, isModern: boolean): JsonObject {
    const { holdings, settings } = this.#parts
    const mirrors = isModern && settings.transport.modern === 'http'
    const tools = page.tools.filter((tool) => {
      if (mirrors) return this.#admits(tool)
      holdings.tools.learnPlainly(tool)
      return true
    })
    return { ...page, tools } as unknown as JsonObject
  }

  #admits(tool: Tool): boolean {
    const { holdings } = this.#parts
    try {
      holdings.tools.learn(tool)
      return true
    } catch (error) {
      if (!(error instanceof ProtocolError)) throw error
      holdings.reports.warn('bad_tool', error.message, tool.name)
      return false
    }
  }

  async #listAgain(rest: () => CallOptions): Promise<void> {
    const fetch = async ({ cursor }: PageParams) => {
      const { onProgress: _progress, ...call } = rest()
      const page = cursor === undefined ? {} : { cursor }
      const result = await this.make('tools/list', page, { ...call, fresh: true })
      return result as unknown as ListToolsResult
    }
    const list = { fetch, elements: ({ tools }: ListToolsResult) => tools }
    for await (const _tool of allPages('tools/list', {}, list)) {
      // each page is remembered as it comes
    }
  }

  /** The same options with what is left of the time. */
  #within(options: CallOptions | undefined): () => CallOptions {
    const { timeout } = readCallOptions(options, this.#parts.settings.timeout)
    const began = this.#parts.clock().now()
    return () => ({ ...options, timeout: Math.max(1, timeout - (this.#parts.clock().now() - began)) })
  }
}

/**
 * The same refusal with the name that was probably meant, where the server knows none like the one that was
 * given.
 */
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

/** Makes a call that has been made before. */
async function again<T>(make: () => Promise<T>): Promise<T> {
  try {
    return await make()
  } catch (error) {
    throw sentBefore(error)
  }
}

/** A result of an extension, which the caller wants as it is. */
function isForeign({ result, dialect }: CallOutcome, options: CallOptions | undefined): boolean {
  if (options?.resultTypes === undefined || dialect?.handshake !== false) return false
  return options.resultTypes.includes(result.resultType as string)
}

function checkResult<M extends Method>(method: M, result: JsonObject): JsonObject {
  try {
    return readResult(method, result) as JsonObject
  } catch (cause) {
    if (!(cause instanceof ProtocolError)) throw cause
    throw callError('INVALID_RESPONSE', cause.message, { sent: true, retryable: false, cause })
  }
}
