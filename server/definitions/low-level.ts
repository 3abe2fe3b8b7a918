import { isObject } from '../../protocol/wire/json.js'
import { isMethod, isNotificationMethod } from '../../protocol/messages/methods.js'
import { show } from '../../runtime/base/errors.js'
import type { ToolContext } from '../context/context.js'
import { badDefinition, checkFunction } from './definition.js'
import { isMethodDefinition, type MethodDefinition } from './define-method.js'
import type { RequestFacts } from '../context/request-facts.js'

/** What a handler of notifications may do: nobody waits for it, and there is nobody to ask. */
export type NoticeContext = Pick<
  ToolContext,
  'session' | 'signal' | 'get' | 'update' | 'transport' | 'assign' | 'assigns' | 'principal' | 'user'
>

/** Hears of one notification, as a task of its own; what it throws is reported. */
export type NotificationHandler<Context = NoticeContext> = (
  params: Readonly<Record<string, unknown>>,
  ctx: Context,
) => unknown

/**
 * Answers a request in place of the server, with a result as the protocol has it; `next` is what the server
 * would do, with its result or its error.
 */
export type RequestHandler<Context = ToolContext> = (
  request: RequestFacts,
  ctx: Context,
  next: () => Promise<object>,
) => object | Promise<object>

/** What is below tools, resources and prompts. */
export interface LowLevelOptions<Context = ToolContext, Notice = NoticeContext> {
  /** Requests that no revision knows, by their names, such as `acme/search`: what `defineMethod` returns. */
  readonly methods?: Readonly<Record<string, MethodDefinition>>
  /**
   * Who hears of notifications that no revision knows, by their names, and of
   * `notifications/roots/list_changed`. Only sessions have them (not 2026-07-28); 64 are handled at once in
   * each, and more are dropped.
   */
  readonly notifications?: Readonly<Record<string, NotificationHandler<Notice>>>
  /**
   * Asked first about every request for tools, resources, prompts and completions, and every one that nobody
   * knows: own it, or leave it to `next`. What the session itself is made of (`initialize`, `ping`,
   * `server/discover`, log levels, subscriptions) does not come here.
   */
  readonly handleRequest?: RequestHandler<Context>
}

/** The same, checked and frozen. */
export interface LowLevel {
  readonly methods: ReadonlyMap<string, MethodDefinition>
  readonly notifications: ReadonlyMap<string, NotificationHandler>
  readonly handleRequest: RequestHandler | undefined
}

/** The names of these fields. */
export const lowLevelFields = ['methods', 'notifications', 'handleRequest'] as const

/** The one notification of the protocol that concerns a server's author and nobody else. */
const ownedByAuthor = 'notifications/roots/list_changed'

/** Reads them from the options of a server. Throws BAD_DEFINITION, naming the field. */
export function readLowLevel(about: string, options: Readonly<Record<string, unknown>>): LowLevel {
  const { methods = {}, notifications = {}, handleRequest } = options
  if (!isObject(methods))
    throw badDefinition(about, 'methods', 'an object of methods by their names', methods)
  for (const [name, method] of Object.entries(methods)) {
    if (isMethod(name) || !isOwnName(name))
      throw badDefinition(about, 'methods', 'names that are not of the protocol, such as acme/search', name)
    if (!isMethodDefinition(method))
      throw badDefinition(about, `methods[${show(name)}]`, 'what defineMethod returns', method)
  }
  if (!isObject(notifications))
    throw badDefinition(about, 'notifications', 'an object of functions by their names', notifications)
  for (const [name, handler] of Object.entries(notifications)) {
    if (name !== ownedByAuthor && (isNotificationMethod(name) || isMethod(name) || name === ''))
      throw badDefinition(
        about,
        'notifications',
        `names that are not of the protocol, or ${ownedByAuthor}`,
        name,
      )
    checkFunction(about, `notifications[${show(name)}]`, handler)
  }
  if (handleRequest !== undefined) checkFunction(about, 'handleRequest', handleRequest)
  return Object.freeze({
    methods: new Map(Object.entries(methods)) as LowLevel['methods'],
    notifications: new Map(Object.entries(notifications)) as LowLevel['notifications'],
    handleRequest: handleRequest as RequestHandler | undefined,
  })
}

/**
 * Names that begin with `rpc.` are reserved (JSON-RPC 2.0, section 4), and those of notifications are not
 * answered.
 */
function isOwnName(name: string): boolean {
  return name !== '' && !name.startsWith('rpc.') && !name.startsWith('notifications/')
}
