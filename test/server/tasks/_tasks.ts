import { setImmediate } from 'node:timers/promises'
import { metaKeys } from 'caduceus/protocol'
import {
  defineTool,
  records,
  type Server,
  type ServerEngine,
  type ServerOptions,
  type TaskRecord,
  type TaskStore,
  type ToolDefinition,
} from 'caduceus/server'
import type { HttpServeOptions } from 'caduceus/transports'
import type { TreeWideOptions } from '../_servers.js'
import type { TestContext } from '../../support/suite.js'
import { RawClient, type Stream, type Wire } from '../_client.js'
import { startTestServer } from '../_servers.js'
import { posted } from '../_stateless.js'

export const extension = 'io.modelcontextprotocol/tasks'

/** Says a word after its turn, and asks when it is told to. */
export const greet = defineTool({
  name: 'greet',
  task: 'optional',
  input: { type: 'object', properties: { name: { type: 'string' } } },
  run: ({ name = 'nobody' }) => `hello ${name}`,
})

/** Fails as a tool does. */
export const fail = defineTool({
  name: 'fail',
  task: 'required',
  run: () => ({ isError: true, content: [{ type: 'text' as const, text: 'no luck' }] }),
})

/** Crashes. */
export const crashes = defineTool({
  name: 'crashes',
  task: 'optional',
  run() {
    throw new Error('a bug')
  },
})

export const plain = defineTool({ name: 'plain', run: () => 'plain' })

const form = {
  type: 'object' as const,
  properties: { name: { type: 'string' as const } },
  required: ['name'],
}

/** Asks two questions, one after the other. */
export const asks = defineTool({
  name: 'asks',
  task: 'optional',
  async run(_args, ctx) {
    const first = await ctx.elicit('first', { message: 'Your first name?', requestedSchema: form })
    const last = await ctx.elicit('last', { message: 'Your last name?', requestedSchema: form })
    return `${first.content?.name} ${last.content?.name}`
  },
})

/** What is at the end of a path of fields; undefined where one is missing. */
export function at<T = unknown>(value: unknown, ...path: readonly string[]): T {
  let inner = value
  for (const field of path) inner = (inner as Record<string, unknown> | undefined)?.[field]
  return inner as T
}

function settled<T>() {
  let resolve = (_value: T): void => {}
  const promise = new Promise<T>((settle) => {
    resolve = settle
  })
  return { promise, resolve }
}

/** A tool that ends when the test says so. */
export function held(name = 'held') {
  const gate = settled<string>()
  const begun = settled<void>()
  const signals: AbortSignal[] = []
  const tool = defineTool({
    name,
    task: 'optional',
    run(_args, ctx) {
      signals.push(ctx.signal)
      begun.resolve()
      return gate.promise
    },
  })
  return { tool, gate, begun: begun.promise, signals }
}

/** Tasks that outlive the servers of a test. */
export function keptTasks(): TaskStore {
  const kept = new Map<string, TaskRecord>()
  return {
    durable: true,
    load: (id) => kept.get(id),
    save: (record) => kept.set(record.id, record),
    delete: (id) => kept.delete(id),
    list: () => [...kept.values()],
  }
}

/** An engine that keeps tasks in this store, and no session. */
export function keeping(tasks: TaskStore): ServerEngine {
  return records({ load: () => undefined, save: () => {}, delete: () => {}, tasks })
}

type Options = Partial<ServerOptions> & TreeWideOptions & { readonly http?: HttpServeOptions }

/** A server with tasks, and a client of each era. */
export async function startTasks(
  t: Pick<TestContext, 'after'>,
  tools: readonly ToolDefinition[],
  options: Options = {},
): Promise<{ server: Server; modern: ModernClient; session(capabilities?: object): Promise<RawClient> }> {
  const server = await startTestServer(t, tools, options)
  return {
    server,
    modern: new ModernClient(t, server.url),
    session: (capabilities = { elicitation: {} }) =>
      new RawClient(t, server.url).open('raw', '2025-11-25', capabilities),
  }
}

/** A client of 2026-07-28 that declares the extension. */
export class ModernClient {
  readonly #client: RawClient
  capabilities: object = { elicitation: {}, extensions: { [extension]: {} } }

  constructor(t: Pick<TestContext, 'after'>, url: string | undefined, own: Record<string, string> = {}) {
    this.#client = new RawClient(t, url)
    this.#client.own = own
  }

  async ask(method: string, params: object = {}): Promise<Wire> {
    const { taskId } = params as { taskId?: string }
    const named: Record<string, string> = taskId === undefined ? {} : { 'mcp-name': taskId }
    const _meta = { [metaKeys.clientCapabilities]: this.capabilities }
    const { body, headers } = posted(method, { ...params, _meta }, named)
    const answer = await this.#client.post(body, headers)
    const [response] = answer.messages.slice(-1)
    if (response === undefined) throw new Error(`${method}: ${answer.status} ${answer.body}`)
    return response
  }

  call(name: string, args: object = {}): Promise<Wire> {
    return this.ask('tools/call', { name, arguments: args })
  }

  /** Calls a tool that becomes a task; resolves with its id. */
  async start(name: string, args: object = {}): Promise<string> {
    const { result, error } = await this.call(name, args)
    if (typeof result?.taskId === 'string') return result.taskId
    throw new Error(`no task: ${JSON.stringify(result ?? error)}`)
  }

  /** Opens a stream of changes. */
  listen(notifications: object): Promise<Stream> {
    const _meta = { [metaKeys.clientCapabilities]: this.capabilities }
    const { body, headers } = posted('subscriptions/listen', { notifications, _meta })
    this.#client.own = { ...this.#client.own, ...headers }
    return this.#client.stream(body)
  }

  get(taskId: string): Promise<Wire> {
    return this.ask('tasks/get', { taskId })
  }

  /** As `get`, as often as the server says to try once more: while parts of it start again. */
  async getAgain(taskId: string): Promise<Wire> {
    for (;;) {
      const answer = await this.get(taskId)
      const data = answer.error?.data as { readonly retryable?: unknown } | undefined
      if (data?.retryable !== true) return answer
      await setImmediate()
    }
  }

  /** Looks until the task has this status. */
  async until(
    taskId: string,
    status: string,
    look = (): Promise<Wire> => this.get(taskId),
  ): Promise<NonNullable<Wire['result']>> {
    for (;;) {
      const { result, error } = await look()
      if (error !== undefined) throw new Error(`${error.code} ${error.message}`)
      if (result?.status === status) return result
      await setImmediate()
    }
  }
}
