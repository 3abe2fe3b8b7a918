import type { JsonObject } from '../wire/json.js'
import {
  type BaseNotificationParams,
  type BaseResult,
  emptyResult,
  noNews,
  noParams,
  pageParams,
  type RequestParams,
} from './base.js'
import { completeParams, completeResult } from './completion.js'
import { elicitationCompleteParams, elicitParams, elicitResult } from './elicitation.js'
import { discoverResult, initializeParams, initializeResult } from './lifecycle.js'
import { loggingMessageParams, setLevelParams } from './logging.js'
import { cancelledParams, progressParams } from './progress.js'
import { getPromptParams, getPromptResult, listPromptsResult } from './prompts.js'
import {
  listResourcesResult,
  listResourceTemplatesResult,
  readResourceParams,
  readResourceResult,
  resourceRequestParams,
  resourceUpdatedParams,
} from './resources.js'
import { listRootsResult } from './roots.js'
import { createMessageParams, createMessageResult } from './sampling.js'
import type { Check, Checked } from './shape.js'
import {
  getSkillParams,
  getSkillResult,
  listSkillsResult,
  readDirectoryParams,
  readDirectoryResult,
  skillsExtension,
} from './skills.js'
import { acknowledgedParams, listenParams, listenResult } from './subscriptions.js'
import { callToolParams, callToolResult, completedToolResult, listToolsResult } from './tools.js'

/** One of the two ends of a connection. */
export type Side = 'client' | 'server'

/** Which way a message may go. */
export type Direction = 'to_server' | 'to_client' | 'both'

/** A request as data: its direction, the capability of its receiver that it needs, and its two halves. */
export interface MethodRow {
  readonly direction: Direction
  /** A path into the receiver's capabilities, such as `resources.subscribe`; undefined: needs none. */
  readonly capability: string | undefined
  readonly params: Check<RequestParams>
  readonly result: Check<BaseResult>
  /** Adds what peers leave out of a result although it is required; else answers the same object. */
  readonly completed?: (result: JsonObject) => JsonObject
}

/** A notification as data: its direction, the capability of its sender that it needs, and its params. */
export interface NotificationRow {
  readonly direction: Direction
  /** A path into the sender's capabilities, such as `tools.listChanged`; undefined: needs none. */
  readonly capability: string | undefined
  readonly params: Check<BaseNotificationParams>
}

const skills = `extensions.${skillsExtension}` as const

/**
 * Every request we know: params, results, directions and capabilities are read and inferred from this table.
 */
export const methods = Object.freeze({
  initialize: request('to_server', undefined, initializeParams, initializeResult),
  'server/discover': request('to_server', undefined, noParams, discoverResult),
  ping: request('both', undefined, noParams, emptyResult),
  'tools/list': request('to_server', 'tools', pageParams, listToolsResult),
  'tools/call': {
    ...request('to_server', 'tools', callToolParams, callToolResult),
    completed: completedToolResult,
  },
  'resources/list': request('to_server', 'resources', pageParams, listResourcesResult),
  'resources/templates/list': request('to_server', 'resources', pageParams, listResourceTemplatesResult),
  'resources/read': request('to_server', 'resources', readResourceParams, readResourceResult),
  'resources/subscribe': request('to_server', 'resources.subscribe', resourceRequestParams, emptyResult),
  'resources/unsubscribe': request('to_server', 'resources.subscribe', resourceRequestParams, emptyResult),
  'prompts/list': request('to_server', 'prompts', pageParams, listPromptsResult),
  'prompts/get': request('to_server', 'prompts', getPromptParams, getPromptResult),
  'completion/complete': request('to_server', 'completions', completeParams, completeResult),
  'logging/setLevel': request('to_server', 'logging', setLevelParams, emptyResult),
  // no capability here: each field of the filter has its own
  'subscriptions/listen': request('to_server', undefined, listenParams, listenResult),
  'skills/list': request('to_server', skills, pageParams, listSkillsResult),
  'skills/get': request('to_server', skills, getSkillParams, getSkillResult),
  'resources/directory/read': request(
    'to_server',
    `${skills}/directoryRead`,
    readDirectoryParams,
    readDirectoryResult,
  ),
  'sampling/createMessage': request('to_client', 'sampling', createMessageParams, createMessageResult),
  'elicitation/create': request('to_client', 'elicitation', elicitParams, elicitResult),
  'roots/list': request('to_client', 'roots', noParams, listRootsResult),
} satisfies { readonly [method: string]: MethodRow })

/** Every notification we know, read and inferred like `methods`. */
export const notifications = Object.freeze({
  'notifications/initialized': notification('to_server', undefined, noNews),
  'notifications/cancelled': notification('both', undefined, cancelledParams),
  'notifications/progress': notification('both', undefined, progressParams),
  'notifications/message': notification('to_client', 'logging', loggingMessageParams),
  'notifications/tools/list_changed': notification('to_client', 'tools.listChanged', noNews),
  'notifications/prompts/list_changed': notification('to_client', 'prompts.listChanged', noNews),
  'notifications/resources/list_changed': notification('to_client', 'resources.listChanged', noNews),
  'notifications/resources/updated': notification('to_client', 'resources.subscribe', resourceUpdatedParams),
  'notifications/elicitation/complete': notification('to_client', undefined, elicitationCompleteParams),
  'notifications/subscriptions/acknowledged': notification('to_client', undefined, acknowledgedParams),
  'notifications/roots/list_changed': notification('to_server', 'roots.listChanged', noNews),
} satisfies { readonly [method: string]: NotificationRow })

/** The table of requests as types. */
export type Methods = {
  readonly [M in keyof typeof methods]: {
    readonly params: Checked<(typeof methods)[M]['params']>
    readonly result: Checked<(typeof methods)[M]['result']>
    readonly direction: (typeof methods)[M]['direction']
    readonly capability: (typeof methods)[M]['capability']
  }
}

/** The table of notifications as types. */
export type Notifications = {
  readonly [N in keyof typeof notifications]: {
    readonly params: Checked<(typeof notifications)[N]['params']>
    readonly direction: (typeof notifications)[N]['direction']
    readonly capability: (typeof notifications)[N]['capability']
  }
}

/** The name of a request. */
export type Method = keyof Methods

/** The name of a notification. */
export type NotificationMethod = keyof Notifications

/** The params of a request. */
export type Params<M extends Method> = Methods[M]['params']

/** The result of a request. */
export type Result<M extends Method> = Methods[M]['result']

/** The params of a notification. */
export type NotificationParams<N extends NotificationMethod> = Notifications[N]['params']

/** The requests that `S` may receive. */
export type RequestTo<S extends Side> = {
  [M in Method]: Methods[M]['direction'] extends 'both' | `to_${S}` ? M : never
}[Method]

/** The notifications that `S` may receive. */
export type NotificationTo<S extends Side> = {
  [N in NotificationMethod]: Notifications[N]['direction'] extends 'both' | `to_${S}` ? N : never
}[NotificationMethod]

/** The params as a rest argument, which may be left out where every field may be. */
export type ParamsArgument<P> = Record<never, never> extends P ? [params?: P] : [params: P]

/** Whether we know a request of this name. */
export function isMethod(name: string): name is Method {
  return Object.hasOwn(methods, name)
}

/** Whether we know a notification of this name. */
export function isNotificationMethod(name: string): name is NotificationMethod {
  return Object.hasOwn(notifications, name)
}

function request<D extends Direction, const C extends string | undefined, P, R>(
  direction: D,
  capability: C,
  params: P,
  result: R,
) {
  return { direction, capability, params, result } as const
}

function notification<D extends Direction, const C extends string | undefined, P>(
  direction: D,
  capability: C,
  params: P,
) {
  return { direction, capability, params } as const
}
