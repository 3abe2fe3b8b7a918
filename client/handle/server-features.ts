import { hasCapability, missingCapability } from '../../protocol/dialects/capabilities.js'
import { acceptsRequest } from '../../protocol/dialects/dialect.js'
import { isMethod, type Params, type Result } from '../../protocol/messages/methods.js'
import type { CompleteResult } from '../../protocol/messages/completion.js'
import type { Resource } from '../../protocol/messages/content.js'
import type { ListPromptsResult, Prompt } from '../../protocol/messages/prompts.js'
import type {
  ListResourcesResult,
  ListResourceTemplatesResult,
  ResourceTemplate,
} from '../../protocol/messages/resources.js'
import type { ListToolsResult, Tool } from '../../protocol/messages/tools.js'
import { dialectOf, modernDialectOf } from '../../protocol/dialects/versions.js'
import { handled } from '../../runtime/base/promise.js'
import type { CallOptions } from '../options/call-options.js'
import { callError } from '../base/errors.js'
import { allPages, type PageOptions, type PagesOptions, readPageOptions } from '../requests/pages.js'
import { readArgument, readObject } from '../base/read-options.js'
import {
  type PromptResult,
  promptResult,
  type ResourceResult,
  resourceResult,
  type ToolResult,
} from '../requests/results.js'
import type { ServerFacts } from '../base/state.js'

/** The requests for one page of a list. */
type ListMethod = 'tools/list' | 'resources/list' | 'resources/templates/list' | 'prompts/list'

/** The requests that the features below are made of. */
type FeatureMethod = ListMethod | 'ping' | 'resources/read' | 'prompts/get' | 'completion/complete'

/** What the features need of a client. */
export interface FeatureSource {
  request<M extends FeatureMethod>(method: M, params: Params<M>, options?: CallOptions): Promise<Result<M>>
  callTool(
    name: string,
    args: Record<string, unknown> | undefined,
    options?: CallOptions,
  ): Promise<ToolResult>
  readonly server: ServerFacts | undefined
}

/** What servers offer, one method for each thing; the same in every revision. */
export abstract class ServerFeatures {
  protected abstract readonly source: FeatureSource

  /**
   * Calls a tool. A tool that failed has a result with `isError`; rejects with McpError when there is no such
   * tool, and with BAD_OUTPUT.
   */
  callTool(name: string, args?: Record<string, unknown>, options?: CallOptions): Promise<ToolResult> {
    return handled(this.source.callTool(name, args, options))
  }

  /** One page of the server's tools, the first without a `cursor`. */
  listTools(options: PageOptions = {}, ...others: never[]): Promise<ListToolsResult> {
    return this.#listPage('tools/list', options, others)
  }

  /** All tools of the server, page after page as they are needed. */
  tools(options: PagesOptions = {}): AsyncGenerator<Tool, void, undefined> {
    const fetch = (page: PageOptions) => this.listTools(page)
    return allPages('tools/list', options, { fetch, elements: ({ tools }) => tools })
  }

  /** One page of the server's resources. */
  listResources(options: PageOptions = {}, ...others: never[]): Promise<ListResourcesResult> {
    return this.#listPage('resources/list', options, others)
  }

  /** All resources of the server, page after page as they are needed. */
  resources(options: PagesOptions = {}): AsyncGenerator<Resource, void, undefined> {
    const fetch = (page: PageOptions) => this.listResources(page)
    return allPages('resources/list', options, { fetch, elements: ({ resources }) => resources })
  }

  /** One page of the server's resource templates. */
  listTemplates(options: PageOptions = {}, ...others: never[]): Promise<ListResourceTemplatesResult> {
    return this.#listPage('resources/templates/list', options, others)
  }

  /** All resource templates of the server, page after page as they are needed. */
  templates(options: PagesOptions = {}): AsyncGenerator<ResourceTemplate, void, undefined> {
    const fetch = (page: PageOptions) => this.listTemplates(page)
    return allPages('resources/templates/list', options, {
      fetch,
      elements: ({ resourceTemplates }) => resourceTemplates,
    })
  }

  /**
   * Reads a resource. Rejects with McpError when there is none; `isResourceNotFound` tells that in any
   * revision.
   */
  readResource(uri: string, options?: CallOptions): Promise<ResourceResult> {
    return handled(this.#readResource(uri, options))
  }

  /** One page of the server's prompts. */
  listPrompts(options: PageOptions = {}, ...others: never[]): Promise<ListPromptsResult> {
    return this.#listPage('prompts/list', options, others)
  }

  /** All prompts of the server, page after page as they are needed. */
  prompts(options: PagesOptions = {}): AsyncGenerator<Prompt, void, undefined> {
    const fetch = (page: PageOptions) => this.listPrompts(page)
    return allPages('prompts/list', options, { fetch, elements: ({ prompts }) => prompts })
  }

  /** The messages of a prompt. */
  getPrompt(name: string, args?: Record<string, string>, options?: CallOptions): Promise<PromptResult> {
    return handled(this.#getPrompt(name, args, options))
  }

  /** Suggests values for an argument of a prompt or of a resource template. */
  complete(params: Params<'completion/complete'>, options?: CallOptions): Promise<CompleteResult> {
    return this.source.request('completion/complete', params, options)
  }

  /** Asks the server for a sign of life. */
  ping(options?: CallOptions): Promise<void> {
    return handled(this.source.request('ping', {}, options).then(() => {}))
  }

  /**
   * Whether the server of the current session, or of the last one, offers a method (`resources/subscribe`) or
   * a capability (`tools.listChanged`); false before the first.
   */
  supports(what: string): boolean {
    const { server } = this.source
    if (server === undefined) return false
    if (!isMethod(what)) return hasCapability(server.capabilities, what)
    const dialect = dialectOf(server.revision) ?? modernDialectOf(server.revision)
    if (dialect === undefined || !acceptsRequest(dialect, 'server', what)) return false
    return missingCapability(what, server.capabilities, dialect) === undefined
  }

  /**
   * Throws NOT_SUPPORTED, with what the server offers, unless `supports(what)`; before the first session
   * NOT_READY, since nothing is known then.
   */
  require(what: string): void {
    const { server } = this.source
    const details = { sent: false, retryable: false }
    if (server === undefined)
      throw callError('NOT_READY', `require: ${what}: no server was met yet, await ready() first`, details)
    if (this.supports(what)) return
    const { info, capabilities, revision } = server
    const offered = Object.keys(capabilities).join(', ') || 'nothing'
    const message = `require: ${info.name} does not support ${what} (it offers ${offered}, in revision ${revision})`
    throw callError('NOT_SUPPORTED', message, details)
  }

  #listPage<M extends ListMethod>(
    method: M,
    options: PageOptions,
    others: readonly unknown[],
  ): Promise<Result<M>> {
    return handled(this.#askPage(method, options, others))
  }

  async #askPage<M extends ListMethod>(
    method: M,
    options: PageOptions,
    others: readonly unknown[],
  ): Promise<Result<M>> {
    const { page, call } = readPageOptions(options, others)
    return await this.source.request(method, page as Params<M>, call)
  }

  async #readResource(uri: string, options?: CallOptions): Promise<ResourceResult> {
    return resourceResult(
      await this.source.request(
        'resources/read',
        { uri: readArgument(uri, 'uri', "readResource('file:///a')") },
        options,
      ),
    )
  }

  async #getPrompt(
    name: string,
    args: Record<string, string> | undefined,
    options?: CallOptions,
  ): Promise<PromptResult> {
    readArgument(name, 'name', "getPrompt('a_prompt', { a: 'b' })")
    const params =
      args === undefined ? { name } : { name, arguments: readObject(args, 'args') as Record<string, string> }
    return promptResult(await this.source.request('prompts/get', params, options))
  }
}
