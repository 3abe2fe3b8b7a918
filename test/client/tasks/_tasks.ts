import type { StartClientOptions } from 'caduceus/client'
import { type JsonObject, McpError, metaKeys, type Task, type TaskStatus } from 'caduceus/protocol'
import { type Script, type ScriptedServer, scriptedServer } from 'caduceus/testing'
import type { TestContext } from '../../support/suite.js'
import { watch } from '../_raw.js'

export const extension = 'io.modelcontextprotocol/tasks'
export const complete = { resultType: 'complete', ttlMs: 0, cacheScope: 'private' }
export const said = (text: string, more: object = {}) => ({ content: [{ type: 'text', text }], ...more })

/** What a task is now, as a test sets it. */
export interface Kept {
  status: TaskStatus
  statusMessage?: string
  result?: object
  error?: { code: number; message: string; data?: unknown }
  inputRequests?: Record<string, object>
}

/** Tasks that outlive connections of a scripted server. */
export class Shelf {
  readonly tasks = new Map<string, Kept>()
  pollInterval: number | undefined = 60
  #last = 0

  make(status: TaskStatus = 'working'): string {
    this.#last += 1
    const id = `task ${this.#last}`
    this.tasks.set(id, { status })
    return id
  }

  set(id: string, kept: Kept): void {
    this.tasks.set(id, kept)
  }

  one(id: unknown): Kept {
    const kept = this.tasks.get(id as string)
    if (kept === undefined) throw new McpError(-32602, 'no such task')
    return kept
  }

  /** As 2025-11-25 tells it. */
  core(id: string): Task {
    const { status, statusMessage } = this.one(id)
    const moment = '2026-01-01T00:00:00Z'
    return {
      taskId: id,
      status,
      ...(statusMessage !== undefined && { statusMessage }),
      createdAt: moment,
      lastUpdatedAt: moment,
      ttl: null,
      ...(this.pollInterval !== undefined && { pollInterval: this.pollInterval }),
    }
  }

  /** As 2026-07-28 tells it. */
  flat(id: string): JsonObject {
    const { ttl, pollInterval, ...rest } = this.core(id)
    return { ...rest, ttlMs: ttl, ...(pollInterval !== undefined && { pollIntervalMs: pollInterval }) }
  }
}

interface Setup {
  readonly script?: Script<ScriptedServer>
  readonly client?: Partial<StartClientOptions>
  readonly taskSupport?: string
  readonly capabilities?: object
}

/** A client of a server of 2025-11-25 whose one tool, `slow`, may be a task. */
export function core(t: TestContext, { script, client, taskSupport = 'optional', capabilities }: Setup = {}) {
  const shelf = new Shelf()
  const server = scriptedServer({
    initialize: {
      protocolVersion: '2025-11-25',
      serverInfo: { name: 'core', version: '1' },
      capabilities: {
        tools: {},
        ...(capabilities ?? { tasks: { list: {}, cancel: {}, requests: { tools: { call: {} } } } }),
      },
    },
    'tools/list': {
      tools: [{ name: 'slow', inputSchema: { type: 'object' }, execution: { taskSupport } }],
    },
    'tools/call': ({ params }) => {
      if (params?.task === undefined) {
        if (taskSupport === 'required') throw new McpError(-32601, 'slow is a task only')
        return said('plain')
      }
      return { task: shelf.core(shelf.make()) }
    },
    'tasks/get': ({ params }) => shelf.core(params?.taskId as string),
    'tasks/result': ({ params }) => {
      const { result, error } = shelf.one(params?.taskId)
      if (error !== undefined) throw new McpError(error.code, error.message, { data: error.data })
      return result
    },
    'tasks/list': () => ({ tasks: [...shelf.tasks.keys()].map((id) => shelf.core(id)) }),
    'tasks/cancel': ({ params }) => {
      shelf.one(params?.taskId).status = 'cancelled'
      return shelf.core(params?.taskId as string)
    },
    ...script,
  })
  return { shelf, server, ...watch(t, { transport: server.transport, ...client }) }
}

/** A client of a server of 2026-07-28 that makes a task of every call. */
export function modern(t: TestContext, { script, client }: Setup = {}) {
  const shelf = new Shelf()
  const server = scriptedServer({
    'server/discover': {
      supportedVersions: ['2026-07-28'],
      capabilities: { tools: {}, extensions: { [extension]: {} } },
      ...complete,
      _meta: { [metaKeys.serverInfo]: { name: 'modern', version: '1' } },
    },
    'tools/call': () => ({ resultType: 'task', ...shelf.flat(shelf.make()) }),
    'tasks/get': ({ params }) => {
      const { result, error, inputRequests } = shelf.one(params?.taskId)
      return {
        resultType: 'complete',
        ...shelf.flat(params?.taskId as string),
        ...(result !== undefined && { result }),
        ...(error !== undefined && { error }),
        ...(inputRequests !== undefined && { inputRequests }),
      }
    },
    'tasks/update': ({ params }) => {
      shelf.one(params?.taskId)
      return { resultType: 'complete' }
    },
    'tasks/cancel': ({ params }) => {
      shelf.one(params?.taskId).status = 'cancelled'
      return { resultType: 'complete' }
    },
    ...script,
  })
  return { shelf, server, ...watch(t, { transport: server.transport, era: 'modern', ...client }) }
}

/** How often the server has got a request. */
export function count(server: ScriptedServer, method: string): number {
  return server.received.all.filter(
    (one) => !(one instanceof Error) && 'method' in one && one.method === method,
  ).length
}
