import { encode } from '../../protocol/wire/codec.js'
import { metaKeys } from '../../protocol/stateless/envelope.js'
import { buildNotification, type JsonRpcNotification, type RequestId } from '../../protocol/wire/jsonrpc.js'
import type { ServerCapabilities } from '../../protocol/messages/capabilities.js'
import type { SubscriptionFilter } from '../../protocol/messages/subscriptions.js'
import type { TaskRecord } from '../engine/task-store.js'
import { TurnoverSet } from '../../runtime/base/turnover.js'
import { encodedText } from '../../transports/base/encoded.js'
import type { ListKind } from '../context/changes.js'

/** A list or a resource that changes, and who listens to it. */
export class Topic<Listener> {
  readonly listeners = new TurnoverSet<Listener>()
  readonly #method: string
  readonly #params: object
  /** The JSON text of its messages up to the id of the subscription, the only part that differs. */
  readonly #head: string

  constructor(method: string, params: Readonly<Record<string, string>> = {}) {
    const fields = Object.entries(params).map(([name, value]) => `"${name}":${JSON.stringify(value)},`)
    this.#method = method
    this.#params = params
    this.#head = `{"jsonrpc":"2.0","method":"${method}","params":{${fields.join('')}"_meta":{"${metaKeys.subscriptionId}":`
  }

  /** The notification for one subscription, tagged with its id (specification: 2026-07-28, subscriptions). */
  messageFor(id: RequestId): JsonRpcNotification & { readonly [encodedText]: string } {
    const message = buildNotification(this.#method, { ...this.#params, ...tagOf(id) })
    return { ...message, [encodedText]: `${this.#head}${JSON.stringify(id)}}}}` }
  }
}

/** A task with listeners: each notification has its state at that moment. */
class TaskTopic<Listener> extends Topic<Listener> {
  record: TaskRecord
  readonly #write: (record: TaskRecord) => object

  constructor(record: TaskRecord, write: (record: TaskRecord) => object) {
    super('notifications/tasks')
    this.record = record
    this.#write = write
  }

  override messageFor(id: RequestId): JsonRpcNotification & { readonly [encodedText]: string } {
    const message = buildNotification('notifications/tasks', { ...this.#write(this.record), ...tagOf(id) })
    return { ...message, [encodedText]: encode(message) }
  }
}

export class Topics<Listener> {
  readonly #lists: { readonly [Kind in ListKind]: Topic<Listener> } = {
    tools: new Topic('notifications/tools/list_changed'),
    prompts: new Topic('notifications/prompts/list_changed'),
    resources: new Topic('notifications/resources/list_changed'),
  }
  readonly #resources = new Map<string, Topic<Listener>>()
  readonly #tasks = new Map<string, TaskTopic<Listener>>()
  readonly #writeTask: (record: TaskRecord) => object

  /** `writeTask`: the params of `notifications/tasks`. */
  constructor(writeTask: (record: TaskRecord) => object = (record) => ({ taskId: record.id })) {
    this.#writeTask = writeTask
  }

  list(kind: ListKind): Topic<Listener> {
    return this.#lists[kind]
  }

  /** Undefined when nobody listens to the resource. */
  resource(uri: string): Topic<Listener> | undefined {
    return this.#resources.get(uri)
  }

  /** Those that somebody listens to. */
  resources(): Iterable<readonly [uri: string, topic: Topic<Listener>]> {
    return this.#resources
  }

  /** The topic of a task that somebody listens to, as it is now; undefined when nobody does, or for old news. */
  task(record: TaskRecord): Topic<Listener> | undefined {
    const topic = this.#tasks.get(record.id)
    if (topic === undefined || topic.record.version >= record.version) return undefined
    topic.record = record
    return topic
  }

  /** Has somebody listen to a task. */
  joinTask(record: TaskRecord, listener: Listener): Topic<Listener> {
    const known = this.#tasks.get(record.id)
    const topic = known ?? new TaskTopic<Listener>(record, this.#writeTask)
    if (topic.record.version < record.version) topic.record = record
    topic.listeners.add(listener)
    this.#tasks.set(record.id, topic)
    return topic
  }

  join(filter: SubscriptionFilter, listener: Listener): void {
    const { resourceSubscriptions = [] } = filter
    for (const kind of kinds) if (filter[fieldOf[kind]] === true) this.#lists[kind].listeners.add(listener)
    for (const uri of resourceSubscriptions) this.#resourceFor(uri).listeners.add(listener)
  }

  leave({ resourceSubscriptions = [], taskIds = [] }: SubscriptionFilter, listener: Listener): void {
    for (const id of taskIds) {
      const topic = this.#tasks.get(id)
      topic?.listeners.delete(listener)
      if (topic?.listeners.size === 0) this.#tasks.delete(id)
    }
    for (const kind of kinds) this.#lists[kind].listeners.delete(listener)
    for (const uri of resourceSubscriptions) {
      const topic = this.#resources.get(uri)
      topic?.listeners.delete(listener)
      if (topic?.listeners.size === 0) this.#resources.delete(uri)
    }
  }

  #resourceFor(uri: string): Topic<Listener> {
    const known = this.#resources.get(uri)
    if (known !== undefined) return known
    const topic = new Topic<Listener>('notifications/resources/updated', { uri })
    this.#resources.set(uri, topic)
    return topic
  }
}

const kinds: readonly ListKind[] = Object.freeze(['tools', 'prompts', 'resources'])
const fieldOf = Object.freeze({
  tools: 'toolsListChanged',
  prompts: 'promptsListChanged',
  resources: 'resourcesListChanged',
} as const)

/** The part of a filter that the server declares, each resource once. What it does not is no error. */
export function honoured(wanted: SubscriptionFilter, capabilities: ServerCapabilities): SubscriptionFilter {
  const { resourceSubscriptions: uris } = wanted
  const told: SubscriptionFilter = {}
  for (const kind of kinds)
    if (wanted[fieldOf[kind]] === true && capabilities[kind]?.listChanged === true) told[fieldOf[kind]] = true
  if (uris !== undefined && capabilities.resources?.subscribe === true)
    told.resourceSubscriptions = [...new Set(uris)]
  return told
}

/** The `_meta` that names a subscription in all its messages; the id keeps its JSON type. */
export function tagOf(id: RequestId): { readonly _meta: Readonly<Record<string, RequestId>> } {
  return { _meta: { [metaKeys.subscriptionId]: id } }
}
