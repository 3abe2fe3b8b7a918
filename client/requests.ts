import { errorCodes, McpError, ProtocolError } from '../protocol/errors.js'
import type { JsonObject } from '../protocol/json.js'
import { isMethod, type Method } from '../protocol/methods.js'
import { readResult } from '../protocol/params.js'
import type { CallToolResult, ListToolsResult, Tool } from '../protocol/types/tools.js'
import type { Clock } from '../runtime/clock.js'
import { type CallOptions, readCallOptions } from './call-options.js'
import type { Caller, CallInput, CallOutcome } from './caller.js'
import { callError } from './errors.js'
import { emitClient } from './events.js'
import type { Holdings } from './holdings.js'
import type { ClientSettings } from './options.js'
import { checkOutput } from './output-check.js'
import { allPages, type PageParams } from './pages.js'
import { bad, readObject, readText } from './read-options.js'
import { type ToolResult, toolResult } from './results.js'

/** What requests are made with. */
export interface RequestParts {
  readonly caller: Caller
  readonly settings: ClientSettings
  readonly holdings: Holdings
  clock(): Clock
}

/** The requests of users: answers that still hold are not asked for again, and what comes is checked and remembered. */
export class Requests {
  readonly #parts: RequestParts

  constructor(parts: RequestParts) {
    this.#parts = parts
  }

  /** Makes a request; a result of a known method is what it should be. Rejects with INVALID_RESPONSE otherwise. */
  async make(method: string, params?: object, options?: CallOptions): Promise<JsonObject> {
    if (method === 'initialize')
      throw bad('method', 'any but initialize, which the client sends itself', method)
    const { caller, holdings } = this.#parts
    const { cache } = holdings
    const given = params as JsonObject | undefined
    const kept = cache.isEmpty ? undefined : this.#find(method, given, options)
    if (kept !== undefined) return kept
    const { changes } = cache
    const call = { method, params: given, wantsAnswer: true, options }
    const outcome = await (given?.cursor === undefined ? caller.call(call) : this.#turnPage(call))
    const result = this.#read(method, outcome)
    const isOfNow = cache.changes === changes && outcome.rounds === 0 && outcome.dialect?.handshake === false
    // what headers of its own brought may be for whoever they speak of alone
    if (isOfNow && options?.headers === undefined)
      cache.keep(method, given, result, this.#parts.clock().now())
    return result
  }

  /**
   * Calls a tool and checks what it promised. A server that misses headers (-32020) has changed the tool: the tools are listed again, and the call, which was
   * refused, is made once more (specification: 2026-07-28, Streamable HTTP).
   */
  async callTool(
    name: string,
    args: Record<string, unknown> | undefined,
    options?: CallOptions,
  ): Promise<ToolResult> {
    const { caller, settings, holdings } = this.#parts
    readText(name, 'name')
    const params = args === undefined ? { name } : { name, arguments: readObject(args, 'args') }
    const rest = settings.transport.modern === 'http' ? this.#within(options) : undefined
    // never kept, so not looked for
    const call = { method: 'tools/call', params, wantsAnswer: true, options }
    let outcome: CallOutcome
    try {
      outcome = await caller.call(call)
    } catch (error) {
      const mismatch = error instanceof McpError && error.code === errorCodes.headerMismatch
      if (!mismatch || rest === undefined) throw error
      await this.#listAgain(rest)
      outcome = await caller.call({ ...call, options: rest() })
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

  #read(method: string, { result, dialect }: CallOutcome): JsonObject {
    if (!isMethod(method) || method === 'ping') return result
    const checked = checkResult(method, result)
    if (method !== 'tools/list') return checked
    return this.#learn(checked as unknown as ListToolsResult, dialect?.handshake === false)
  }

  /** Over HTTP, a tool whose headers break the rules is left out (specification: 2026-07-28, Streamable HTTP). */
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
      const { name: client, tree } = holdings
      const { message: reason } = error
      emitClient('warning', () => ({ client, tree, type: 'bad_tool', tool: tool.name.slice(0, 100), reason }))
      return false
    }
  }

  async #listAgain(rest: () => CallOptions): Promise<void> {
    const fetch = async (page: PageParams) => {
      const result = await this.make('tools/list', page, { ...rest(), fresh: true })
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
    const { onProgress: _progress, ...call } = options ?? {}
    const began = this.#parts.clock().now()
    return () => ({ ...call, timeout: Math.max(1, timeout - (this.#parts.clock().now() - began)) })
  }
}

function checkResult<M extends Method>(method: M, result: JsonObject): JsonObject {
  try {
    return readResult(method, result) as JsonObject
  } catch (cause) {
    if (!(cause instanceof ProtocolError)) throw cause
    throw callError('INVALID_RESPONSE', cause.message, { sent: true, retryable: false, cause })
  }
}
