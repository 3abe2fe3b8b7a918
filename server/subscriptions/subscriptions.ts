import { buildResult } from '../../protocol/wire/jsonrpc.js'
import type { SubscriptionFilter } from '../../protocol/messages/subscriptions.js'
import { readParams } from '../../protocol/messages/params.js'
import { stampResult } from '../../protocol/stateless/stamp.js'
import type { World } from '../../runtime/time/world.js'
import type { ActorContext } from '../../runtime/process/context.js'
import { RuntimeError } from '../../runtime/base/errors.js'
import { forever, type RefOf } from '../../runtime/process/ref.js'
import type { Peer } from '../../transports/contract/contract.js'
import type { ExchangeAnswer, ExchangeCall } from '../../transports/inbound/exchange-call.js'
import { callerOf } from '../../transports/contract/caller.js'
import type { Rota } from '../../runtime/tasks/rota.js'
import { hearingOf } from '../catalog/authorization.js'
import type { baseActor } from './base-actor.js'
import type { Holdings } from '../holdings/holdings-actor.js'
import type { TaskRecord } from '../engine/task-store.js'
import { tasksOf } from '../tasks/load.js'
import type { McpTasks } from '../tasks/tasks.js'
import { tagOf } from './listen-topics.js'
import { weighFilter } from './listens.js'

type Undo = (() => void) | undefined

interface Wanting {
  readonly peer: Peer
  readonly signal: AbortSignal
  /** What is to be undone. */
  readonly wanted: Undo[]
}

/** Milliseconds of one turn of the event loop. */
const slice = 5

/** Opens streams of `subscriptions/listen` at the base actor, for one incarnation of the group. */
export class Subscriptions {
  readonly #base: RefOf<typeof baseActor>
  readonly #holdings: Holdings
  readonly #world: World
  readonly #tasks: McpTasks | undefined
  readonly #rota: Rota
  /** Streams so far, which tells those of this machine apart. */
  #opened = 0

  /** Throws RuntimeError NOPROC when the group is not complete. */
  constructor(holdings: Holdings, { registry, world }: ActorContext, rota: Rota) {
    const base = registry.whereis(holdings.settings.names.base)
    if (base === undefined) throw new RuntimeError('NOPROC', 'streams need the base of their group')
    this.#base = base as RefOf<typeof baseActor>
    this.#holdings = holdings
    this.#world = world
    this.#rota = rota
    this.#tasks = tasksOf(holdings, registry, world)
  }

  /**
   * Answers at the stream's end or the token's expiry; without a response if the client ended it. Rejects
   * with McpError -32602 (filter), TransportError EXCHANGE_LIMIT, and RuntimeError (group down).
   */
  async open({ request, sink, peer, signal }: ExchangeCall): Promise<ExchangeAnswer> {
    const { id, method, params } = request
    const { notifications } = readParams('subscriptions/listen', params)
    weighFilter(notifications)
    const tasks = (await this.#tasks?.listened(request, peer, notifications.taskIds)) ?? []
    const lease = leaseOf(peer, this.#world)
    const over = new AbortController()
    const tell = (record: TaskRecord): void => void this.#base.cast('taskChanged', record)
    this.#tasks?.follow(tasks, tell, over.signal)
    const wanted: Undo[] = []
    try {
      const filter = await this.#wanted(notifications, { peer, signal, wanted })
      const until = lease === undefined ? signal : AbortSignal.any([signal, lease.signal])
      const ended = await this.#base.call('listen', { id, filter, sink, peer, tasks, signal: until }, forever)
      if (ended === 'closed' && lease?.signal.aborted !== true) return { response: undefined, refused: false }
    } finally {
      over.abort()
      lease?.end()
      for (const undo of wanted) undo?.()
    }
    const { info: serverInfo } = this.#holdings.settings.definition
    return { response: buildResult(id, stampResult(method, tagOf(id), { serverInfo })), refused: false }
  }

  /**
   * The filter without the resources that the peer may not see: it hears of none of their changes. Others have
   * their turn meanwhile, as each address costs a look at each template; who has gone costs no more.
   */
  async #wanted(filter: SubscriptionFilter, { peer, signal, wanted }: Wanting): Promise<SubscriptionFilter> {
    const { resourceSubscriptions: uris } = filter
    if (uris === undefined) return filter
    const { catalog } = this.#holdings
    const allowed: string[] = []
    this.#opened += 1
    const asker = `stream ${this.#opened}`
    let until = this.#world.now() + slice
    for (const uri of uris) {
      if (this.#world.now() >= until) {
        await this.#rota.next(callerOf(peer, undefined))
        if (signal.aborted) break
        until = this.#world.now() + slice
      }
      const hearing = hearingOf(uri, peer, catalog, asker)
      if (hearing === undefined) continue
      allowed.push(uri)
      wanted.push(hearing.undo)
    }
    return { ...filter, resourceSubscriptions: allowed }
  }

  end(): void {
    this.#base.cast('endListens')
  }
}

/** Aborted when the principal expires; undefined when it does not in any time that a timer can be set to. */
function leaseOf(
  { principal }: Peer,
  world: World,
): { readonly signal: AbortSignal; end(): void } | undefined {
  const left = (principal?.expiresAt ?? Number.POSITIVE_INFINITY) - world.date()
  if (left > longest) return undefined
  const controller = new AbortController()
  const timer = world.setTimeout(() => controller.abort(), Math.max(0, left))
  return { signal: controller.signal, end: () => world.clearTimeout(timer) }
}

/** Milliseconds that a timer of Node can be set to. */
const longest = 2 ** 31 - 1
