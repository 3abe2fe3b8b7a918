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
import { acknowledgedParams, listenParams, listenResult } from './subscriptions.js'
import { callToolParams, callToolResult, completedToolResult, listToolsResult } from './tools.js'

/** One of the two ends of a connection. */
export type Side = 'client' | 'server'

/** Which way a message may go. */
export type Direction = 'to_server' | 'to_client' | 'both'

/**
 * A request as data: which way it goes, what its receiver must have declared, and what its two halves look
 * like.
 */
export interface MethodRow {
  readonly direction: Direction
  /**
   * A path into the capabilities of the receiver, such as `resources.subscribe`; undefined: always allowed.
   */
  readonly capability: string | undefined
  readonly params: Check<RequestParams>
  readonly result: Check<BaseResult>
  /**
   * Fills in what peers in the wild leave out of a result although it is required; answers the same object
   * where nothing is to be filled in.
   */
  readonly completed?: (result: JsonObject) => JsonObject
}

/**
 * A notification as data: which way it goes, what its sender must have declared, and what its params look
 * like.
 */
export interface NotificationRow {
  readonly direction: Direction
  /** A path into the capabilities of the sender, such as `tools.listChanged`; undefined: always allowed. */
  readonly capability: string | undefined
  readonly params: Check<BaseNotificationParams>
}

/**
 * Every request we know: the one table from which params, results, direction and gate of a method are read
 * and inferred.
 */
export const methods = Object.freeze({
  initialize: {
    direction: 'to_server',
    capability: undefined,
    params: initializeParams,
    result: initializeResult,
  },
  'server/discover': {
    direction: 'to_server',
    capability: undefined,
    params: noParams,
    result: discoverResult,
  },
  ping: {
    direction: 'both',
    capability: undefined,
    params: noParams,
    result: emptyResult,
  },
  'tools/list': {
    direction: 'to_server',
    capability: 'tools',
    params: pageParams,
    result: listToolsResult,
  },
  'tools/call': {
    direction: 'to_server',
    capability: 'tools',
    params: callToolParams,
    result: callToolResult,
    completed: completedToolResult,
  },
  'resources/list': {
    direction: 'to_server',
    capability: 'resources',
    params: pageParams,
    result: listResourcesResult,
  },
  'resources/templates/list': {
    direction: 'to_server',
    capability: 'resources',
    params: pageParams,
    result: listResourceTemplatesResult,
  },
  'resources/read': {
    direction: 'to_server',
    capability: 'resources',
    params: readResourceParams,
    result: readResourceResult,
  },
  'resources/subscribe': {
    direction: 'to_server',
    capability: 'resources.subscribe',
    params: resourceRequestParams,
    result: emptyResult,
  },
  'resources/unsubscribe': {
    direction: 'to_server',
    capability: 'resources.subscribe',
    params: resourceRequestParams,
    result: emptyResult,
  },
  'prompts/list': {
    direction: 'to_server',
    capability: 'prompts',
    params: pageParams,
    result: listPromptsResult,
  },
  'prompts/get': {
    direction: 'to_server',
    capability: 'prompts',
    params: getPromptParams,
    result: getPromptResult,
  },
  'completion/complete': {
    direction: 'to_server',
    capability: 'completions',
    params: completeParams,
    result: completeResult,
  },
  'logging/setLevel': {
    direction: 'to_server',
    capability: 'logging',
    params: setLevelParams,
    result: emptyResult,
  },
  'subscriptions/listen': {
    direction: 'to_server',
    capability: undefined, // each field of the filter has its own
    params: listenParams,
    result: listenResult,
  },
  'sampling/createMessage': {
    direction: 'to_client',
    capability: 'sampling',
    params: createMessageParams,
    result: createMessageResult,
  },
  'elicitation/create': {
    direction: 'to_client',
    capability: 'elicitation',
    params: elicitParams,
    result: elicitResult,
  },
  'roots/list': {
    direction: 'to_client',
    capability: 'roots',
    params: noParams,
    result: listRootsResult,
  },
} as const satisfies { readonly [method: string]: MethodRow })

/** Every notification we know, read and inferred like `methods`. */
export const notifications = Object.freeze({
  'notifications/initialized': { direction: 'to_server', capability: undefined, params: noNews },
  'notifications/cancelled': { direction: 'both', capability: undefined, params: cancelledParams },
  'notifications/progress': { direction: 'both', capability: undefined, params: progressParams },
  'notifications/message': { direction: 'to_client', capability: 'logging', params: loggingMessageParams },
  'notifications/tools/list_changed': {
    direction: 'to_client',
    capability: 'tools.listChanged',
    params: noNews,
  },
  'notifications/prompts/list_changed': {
    direction: 'to_client',
    capability: 'prompts.listChanged',
    params: noNews,
  },
  'notifications/resources/list_changed': {
    direction: 'to_client',
    capability: 'resources.listChanged',
    params: noNews,
  },
  'notifications/resources/updated': {
    direction: 'to_client',
    capability: 'resources.subscribe',
    params: resourceUpdatedParams,
  },
  'notifications/elicitation/complete': {
    direction: 'to_client',
    capability: undefined,
    params: elicitationCompleteParams,
  },
  'notifications/subscriptions/acknowledged': {
    direction: 'to_client',
    capability: undefined,
    params: acknowledgedParams,
  },
  'notifications/roots/list_changed': {
    direction: 'to_server',
    capability: 'roots.listChanged',
    params: noNews,
  },
} as const satisfies { readonly [method: string]: NotificationRow })

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

/** What a request asks with. */
export type Params<M extends Method> = Methods[M]['params']

/** What a request is answered with. */
export type Result<M extends Method> = Methods[M]['result']

/** What a notification tells. */
export type NotificationParams<N extends NotificationMethod> = Notifications[N]['params']

/** The requests that `S` may receive. */
export type RequestTo<S extends Side> = {
  [M in Method]: Methods[M]['direction'] extends 'both' | `to_${S}` ? M : never
}[Method]

/** The notifications that `S` may receive. */
export type NotificationTo<S extends Side> = {
  [N in NotificationMethod]: Notifications[N]['direction'] extends 'both' | `to_${S}` ? N : never
}[NotificationMethod]

/**
 * The params of a request or notification as a rest argument, which may be left out when every field may be.
 */
export type ParamsArgument<P> = Record<never, never> extends P ? [params?: P] : [params: P]

/** Whether we know a request of this name. */
export function isMethod(name: string): name is Method {
  return Object.hasOwn(methods, name)
}

/** Whether we know a notification of this name. */
export function isNotificationMethod(name: string): name is NotificationMethod {
  return Object.hasOwn(notifications, name)
}
