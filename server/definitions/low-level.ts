import { isObject } from '../../protocol/wire/json.js'
import { isMethod, isNotificationMethod } from '../../protocol/messages/methods.js'
import { show } from '../../runtime/base/errors.js'
import type { ToolContext } from '../context/context.js'
import type { DefinitionReaders } from './definition.js'
import { isMethodDefinition, type MethodDefinition } from './define-method.js'
import type { RequestFacts } from '../context/request-facts.js'

/** The context of a notification handler: without what needs a request, such as questions and progress. */
export type NoticeContext = Pick<
  ToolContext,
  'session' | 'signal' | 'get' | 'update' | 'transport' | 'assign' | 'assigns' | 'principal' | 'user'
>

/** Handles one notification, in a task of its own. What it throws is reported. */
export type NotificationHandler<Context = NoticeContext> = (
  params: Readonly<Record<string, unknown>>,
  ctx: Context,
) => unknown

/** No promise of nothing, which is an object, too: a `return` is missing there. */
type Immediately = object & { readonly then?: never }

/** Answers a request with a result of the protocol. `next` is the server's own answer, result or error. */
export type RequestHandler<Context = ToolContext> = (
  request: RequestFacts,
  ctx: Context,
  next: () => Promise<object>,
) => Immediately | Promise<object>

/** What authors can answer below tools, resources and prompts. */
export interface LowLevelOptions<Context = ToolContext, Notice = NoticeContext> {
  /** Requests that are not of the protocol, by name, such as `acme/search`: what `defineMethod` returns. */
  readonly methods?: Readonly<Record<string, MethodDefinition>>
  /**
   * Handlers of notifications outside the protocol, and of `notifications/roots/list_changed`. Only sessions
   * have them (not 2026-07-28). 64 run at once in a session; more are dropped.
   */
  readonly notifications?: Readonly<Record<string, NotificationHandler<Notice>>>
  /**
   * Gets every request for tools, resources, prompts and completions, and every unknown one: answer it, or
   * call `next`. Requests of the session itself (`initialize`, `ping`, `server/discover`, log levels,
   * subscriptions) do not come here.
   */
  readonly handleRequest?: RequestHandler<Context>
}

export interface LowLevel {
  readonly methods: ReadonlyMap<string, MethodDefinition>
  readonly notifications: ReadonlyMap<string, NotificationHandler>
  readonly handleRequest: RequestHandler | undefined
}

export const lowLevelFields = ['methods', 'notifications', 'handleRequest'] as const

/** The one notification of the protocol that only a server's author handles. */
const ownedByAuthor = 'notifications/roots/list_changed'

/** Reads them from the options of a server. Throws BAD_DEFINITION, naming the field. */
export function readLowLevel(
  { bad, readFunction }: DefinitionReaders,
  options: Readonly<Record<string, unknown>>,
): LowLevel {
  const { methods = {}, notifications = {}, handleRequest } = options
  if (!isObject(methods)) throw bad('methods', 'an object of methods by their names', methods)
  for (const [name, method] of Object.entries(methods)) {
    if (isMethod(name) || !isOwnName(name))
      throw bad('methods', 'names that are not of the protocol, such as acme/search', name)
    if (!isMethodDefinition(method)) throw bad(`methods[${show(name)}]`, 'what defineMethod returns', method)
  }
  if (!isObject(notifications))
    throw bad('notifications', 'an object of functions by their names', notifications)
  for (const [name, handler] of Object.entries(notifications)) {
    if (name !== ownedByAuthor && (isNotificationMethod(name) || isMethod(name) || name === ''))
      throw bad('notifications', `names that are not of the protocol, or ${ownedByAuthor}`, name)
    readFunction(handler, `notifications[${show(name)}]`)
  }
  if (handleRequest !== undefined) readFunction(handleRequest, 'handleRequest')
  return Object.freeze({
    methods: new Map(Object.entries(methods)) as LowLevel['methods'],
    notifications: new Map(Object.entries(notifications)) as LowLevel['notifications'],
    handleRequest: handleRequest as RequestHandler | undefined,
  })
}

/**
 * Whether a method may have this name: `rpc.` is reserved (JSON-RPC 2.0, section 4), notifications get no
 * answer.
 */
function isOwnName(name: string): boolean {
  return name !== '' && !name.startsWith('rpc.') && !name.startsWith('notifications/')
}
