import { childSpec } from '../../runtime/supervision/child-spec.js'
import { dynamicSupervisorSpec } from '../../runtime/supervision/dynamic.js'
import { checkFree } from '../handle/supervisor.js'
import { bindMethods, methodNames } from '../../runtime/base/detached.js'
import type { JsonObject } from '../../protocol/wire/json.js'
import type { Method, Params, Result } from '../../protocol/messages/methods.js'
import type { ListToolsResult } from '../../protocol/messages/tools.js'
import { inspect, type TreeNode } from '../../runtime/watch/inspect.js'
import { handled, lastTurns } from '../../runtime/base/promise.js'
import type { ProcessRef } from '../../runtime/process/ref.js'
import { Registry } from '../../runtime/process/registry.js'
import { startSupervisor, type Supervisor } from '../../runtime/supervision/supervise.js'
import type { ClientTransport } from '../../transports/contract/contract.js'
import { type CallOptions, readCallOptions, type ToolCallOptions } from '../options/call-options.js'
import type { Client, RequestArgs, RequestMethod } from '../handle/client.js'
import { callError, ClientError, type ClientErrorCode } from '../base/errors.js'
import type { Undo } from '../base/state.js'
import { endClient, poolActor } from './actor.js'
import { PoolDesk } from './desk.js'
import { Lease } from './lease.js'
import type { MemberSnapshot, PoolEvent, PoolMember } from './member.js'
import {
  type CheckoutOptions,
  type PoolOptions,
  type PoolSettings,
  type PoolStrategy,
  readCheckoutOptions,
  readPoolOptions,
} from './options.js'
import { type PageOptions, readPageOptions } from '../requests/pages.js'
import { whenIdle, whenReady } from './waits.js'
import { readFunction, readMs, readOptions } from '../base/read-options.js'
import type { ToolResult } from '../requests/results.js'
import { type ReadyOptions, readReadyOptions } from '../requests/ready.js'

/**
 * Starts a pool of clients in a supervised tree of its own. Resolves when `min` of them are ready: then no
 * call waits for a handshake. Rejects with NOT_READY when they are not ready in time, and with CONNECT_FAILED
 * (`cause`) as soon as too many have failed: then everything has been closed again. Rejects with BAD_OPTION,
 * naming the field.
 */
export function startClientPool(options: PoolOptions): Promise<ClientPool> {
  return handled(start(options))
}

async function start(options: PoolOptions): Promise<ClientPool> {
  const settings = readPoolOptions(options)
  const { min, readyTimeout, size, tree } = settings
  const registry = tree.registry ?? new Registry()
  const desk = new PoolDesk(settings, tree.clock)
  for (let member = 1; member <= size; member++) desk.add()
  const pool = await startActors(desk, registry, settings)
  try {
    await whenReady(desk, { count: min, timeout: readyTimeout, impatient: true })
    return pool
  } catch (error) {
    await pool.close()
    throw error
  }
}

/** The pool's actor comes after the clients: it may be restarted while they go on. */
async function startActors(
  desk: PoolDesk,
  registry: Registry,
  { name, tree }: PoolSettings,
): Promise<ClientPool> {
  const actor = `pool ${name}`
  const clients = `clients of pool ${name}`
  checkFree(registry, actor, name, 'pool')
  const supervisor = await startSupervisor({
    name: actor,
    strategy: 'rest_for_one',
    ...tree,
    registry,
    children: [
      dynamicSupervisorSpec({ name: clients }, { name: clients }),
      childSpec(poolActor, { desk, clients }, { name: actor }),
    ],
  })
  desk.events.reportIn(supervisor.ref)
  return new ClientPool({ desk, registry, supervisor, clients, closed: handled(whenEnded(desk, supervisor)) })
}

/** Resolves when the pool was closed; else rejects, and refuses all callers. */
function whenEnded(desk: PoolDesk, supervisor: Supervisor): Promise<void> {
  return new Promise((resolve, reject) => {
    supervisor.onExit(() => {
      if (desk.over !== undefined) return resolve()
      const gaveUp = (what: string) => {
        const message = `${what}: pool ${desk.settings.name} has ended for good: its tree has`
        return callError('GAVE_UP', message, { sent: false, retryable: false })
      }
      desk.end(gaveUp)
      reject(gaveUp('closed'))
    })
  })
}

interface PoolParts {
  readonly desk: PoolDesk
  readonly registry: Registry
  readonly supervisor: Supervisor
  readonly clients: string
  readonly closed: Promise<void>
}

/** How many members of a pool are waited for, and how long. */
export interface PoolReadyOptions extends ReadyOptions {
  /** Default all of them. */
  readonly count?: number
}

/** A pool as `inspect()` shows it. */
export interface PoolInspection {
  readonly name: string
  readonly strategy: PoolStrategy
  readonly members: readonly MemberSnapshot[]
  /** Calls and checkouts that wait for a member. */
  readonly waiting: number
  readonly tree: TreeNode
}

/** Alike clients. Calls go to members that are connected and answer; a member that ends is started again. */
export class ClientPool implements AsyncDisposable {
  readonly #parts: PoolParts
  #closing: Promise<void> | undefined

  constructor(parts: PoolParts) {
    bindMethods(this, methods)
    this.#parts = parts
  }

  get name(): string {
    return this.#parts.desk.settings.name
  }

  /** The supervisor of the pool, as a process. */
  get ref(): ProcessRef {
    return this.#parts.supervisor.ref
  }

  /** The names of its tree: `findClient(registry, 'NAME-1')` finds a member. */
  get registry(): Registry {
    return this.#parts.registry
  }

  /** Resolves when the pool is closed; rejects with GAVE_UP when its own actors crashed too often. */
  get closed(): Promise<void> {
    return this.#parts.closed
  }

  /**
   * As `client.callTool`, on the member whose turn it is; a task is waited for there, across its connections.
   * TIMEOUT, `data.sent` false, when none was free.
   */
  callTool(name: string, args?: Record<string, unknown>, options?: ToolCallOptions): Promise<ToolResult> {
    if (options?.task === undefined)
      return this.#call(`tools/call ${name}`, options, (client, left) => client.callTool(name, args, left))
    const { task, ...call } = options
    return this.#call(`tools/call ${name}`, call, (client, left) =>
      client.callTool(name, args, { ...left, task }),
    )
  }

  /** One page of the tools, as `client.listTools` answers it. */
  listTools(options: PageOptions = {}, ...others: never[]): Promise<ListToolsResult> {
    return handled(this.#listTools(options, others))
  }

  /** Makes any request on the member whose turn it is, as `client.request` does. */
  request<M extends RequestMethod>(method: M, ...args: RequestArgs<Params<M>>): Promise<Result<M>>
  request<M extends string>(
    method: M extends Method ? never : M,
    params?: object,
    options?: CallOptions,
  ): Promise<JsonObject>
  request(method: string, params?: object, options?: CallOptions): Promise<JsonObject> {
    return this.#call(method, options, (client, left) => client.request(method as never, params, left))
  }

  /**
   * Checks a member out, by default for its caller alone. After `maxLease` ms its calls reject with
   * LEASE_EXPIRED. Rejects with TIMEOUT when none was free, QUEUE_FULL, CANCELLED, CLOSED, GAVE_UP or
   * BAD_OPTION.
   */
  checkout(options: CheckoutOptions = {}): Promise<Lease> {
    return handled(this.#checkout(options))
  }

  /** Checks a member out for `fn`, and always releases it. Resolves with the result of `fn`. */
  transaction<T>(fn: (client: Client) => T | Promise<T>, options: CheckoutOptions = {}): Promise<T> {
    return handled(this.#transaction(fn, options))
  }

  /**
   * Resolves once `count` members are ready (default all). Rejects with NOT_READY after `timeout` ms (default
   * 30,000), CANCELLED, CLOSED, GAVE_UP or BAD_OPTION.
   */
  ready(options: PoolReadyOptions = {}): Promise<void> {
    return handled(this.#ready(options))
  }

  /** Adds a member, by default like the others; returns its name. Throws BAD_OPTION, CLOSED or GAVE_UP. */
  add(transport?: ClientTransport): string {
    const { desk } = this.#parts
    if (desk.over !== undefined) throw desk.over('add')
    const member = desk.add(transport)
    desk.tell('added', member)
    return member.name
  }

  /**
   * Removes a member once its calls are done, or after `timeout` ms (default 30,000). Resolves with false for
   * an unknown name.
   */
  remove(name: string, { timeout }: { readonly timeout?: number } = {}): Promise<boolean> {
    return handled(this.#remove(name, timeout))
  }

  /** The members now. */
  members(): readonly MemberSnapshot[] {
    return [...this.#parts.desk.members.values()].map((member) => member.snapshot())
  }

  /** Calls `fn` with every event of members, until the returned function is called; its throws are caught. */
  onEvent(fn: (event: PoolEvent) => void): Undo {
    readFunction(fn, 'fn')
    return this.#parts.desk.events.add(fn)
  }

  /** The pool, its members and its tree, read in one go. */
  inspect(): PoolInspection {
    const { desk, supervisor } = this.#parts
    const { name, strategy } = desk.settings
    return { name, strategy, members: this.members(), waiting: desk.waiting, tree: inspect(supervisor.ref) }
  }

  /** Closes all and ends the tree; waiting calls reject with CLOSED. Never rejects; may be repeated. */
  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  #call<T>(what: string, options: CallOptions | undefined, make: MakeCall<T>): Promise<T> {
    return handled(callOnMember(this.#parts.desk, what, { options, make }))
  }

  async #listTools(options: PageOptions, others: readonly unknown[]): Promise<ListToolsResult> {
    const { page, call } = readPageOptions(options, others)
    return await this.#call('tools/list', call, (client, left) => client.listTools({ ...left, ...page }))
  }

  async #ready(options: PoolReadyOptions): Promise<void> {
    const fields = ['count', 'timeout', 'signal']
    const { count, ...rest } = readOptions(options, fields, '{ count: 2, timeout: 5000 }')
    await whenReady(this.#parts.desk, { count: count as number, ...readReadyOptions(rest, 30_000) })
  }

  async #checkout(options: CheckoutOptions): Promise<Lease> {
    const { desk } = this.#parts
    const terms = readCheckoutOptions(options, desk.settings)
    const { exclusive, timeout, signal } = terms
    for (;;) {
      const member = await desk.take({ what: 'checkout', exclusive, timeout, signal })
      const { client } = member
      if (client !== undefined) return new Lease(desk, member, client, terms)
      // it has disconnected since
      desk.giveBack(member, exclusive)
    }
  }

  async #transaction<T>(fn: (client: Client) => T | Promise<T>, options: CheckoutOptions): Promise<T> {
    readFunction(fn, 'fn')
    const lease = await this.#checkout(options)
    try {
      return await fn(lease.client)
    } finally {
      lease.release()
    }
  }

  async #remove(name: string, timeout: number | undefined): Promise<boolean> {
    const { desk, registry, clients } = this.#parts
    const ms = readMs(timeout, 'timeout', 30_000)
    const member = desk.members.get(name)
    if (member === undefined || member.leaving) return false
    member.leaving = true
    desk.update(member)
    await whenIdle(desk, member, ms)
    const { client, ref } = member
    await client?.close()
    if (ref !== undefined) {
      // not through the pool's actor, which may be down just now
      endClient(registry, clients, ref)
      await new Promise<void>((resolve) => void ref.onExit(() => resolve()))
    }
    desk.drop(member)
    desk.tell('removed', member)
    return true
  }

  async #close(): Promise<void> {
    const { desk, supervisor } = this.#parts
    const details = { sent: false, retryable: false }
    desk.end((what) => callError('CLOSED', `${what}: pool ${this.name} is closed`, details))
    await Promise.all([...desk.members.values()].map(({ client }) => client?.close()))
    if (supervisor.ref.alive) await supervisor.stop().catch(() => {})
    await lastTurns(desk.world)
  }
}

const methods = methodNames(ClientPool)

/** Its options hold what is left of the caller's time. */
type MakeCall<T> = (client: Client, options: CallOptions) => Promise<T>

/**
 * Calls under one deadline, the wait for a member included. A call left unsent when its member went away goes
 * to another. Rejects with BAD_OPTION before anything is done.
 */
async function callOnMember<T>(
  desk: PoolDesk,
  what: string,
  { options, make }: { readonly options: CallOptions | undefined; readonly make: MakeCall<T> },
): Promise<T> {
  const { timeout, signal, wait } = readCallOptions(options, desk.settings.timeout)
  const deadline = desk.world.now() + timeout
  const avoid = new Set<PoolMember>()
  let left = timeout
  // one attempt for each member, and one for a member that comes meanwhile
  for (let attempts = desk.members.size + 1; ; attempts--) {
    const want = { what, exclusive: false, avoid, timeout: left, wait, signal }
    const taken = desk.take(want)
    const member = taken instanceof Promise ? await taken : taken
    left = deadline - desk.world.now()
    try {
      const { client } = member
      if (client !== undefined)
        return await make(client, { ...options, timeout: Math.max(1, left), wait: false })
    } catch (error) {
      if (attempts <= 1 || !isUnsent(error)) throw error
      avoid.add(member)
    } finally {
      desk.giveBack(member, false)
    }
    left = Math.max(1, deadline - desk.world.now())
  }
}

/** Errors of a client that went away: an unsent call may go to another member. */
const gone: ReadonlySet<ClientErrorCode> = new Set<ClientErrorCode>([
  'CLOSED',
  'GAVE_UP',
  'CONNECT_FAILED',
  'CONNECTION_LOST',
  'NO_COMMON_REVISION',
  'AUTHORIZATION_FAILED',
  'SIGN_IN_NEEDED',
  'NOT_READY',
])

function isUnsent(error: unknown): boolean {
  if (!(error instanceof ClientError) || !gone.has(error.code)) return false
  return (error.data as { sent?: unknown } | undefined)?.sent === false
}
