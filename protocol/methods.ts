import {
  finite,
  flag,
  listOf,
  oneOf,
  optional,
  present,
  record,
  requestId,
  type Shape,
  type Shaped,
  shape,
  text,
} from './shape.js'
import type {
  BaseNotificationParams,
  BaseResult,
  Implementation,
  Meta,
  PaginatedParams,
  RequestMeta,
  RequestParams,
} from './types/base.js'
import type { InitializeParams, InitializeResult } from './types/lifecycle.js'
import type { CancelledParams, LoggingMessageParams, ProgressParams } from './types/notifications.js'
import type { CallToolParams, CallToolResult, ListToolsResult, Tool } from './types/tools.js'

/** One of the two ends of a connection. */
export type Side = 'client' | 'server'

/** Which way a message may go. */
export type Direction = 'to_server' | 'to_client' | 'both'

/** A request as data: which way it goes, what its receiver must have declared, and what its two halves look like. */
export interface MethodRow {
  readonly direction: Direction
  /** A path into the capabilities of the receiver, such as `resources.subscribe`; undefined: always allowed. */
  readonly capability: string | undefined
  readonly params: Shape<RequestParams>
  readonly result: Shape<BaseResult>
  /** Filled in where a result lacks them: fields that peers in the wild leave out although they are required. */
  readonly resultDefaults?: object
}

/** A notification as data: which way it goes, what its sender must have declared, and what its params look like. */
export interface NotificationRow {
  readonly direction: Direction
  /** A path into the capabilities of the sender, such as `tools.listChanged`; undefined: always allowed. */
  readonly capability: string | undefined
  readonly params: Shape<BaseNotificationParams>
}

const requestFields = { _meta: optional(shape<RequestMeta>({ progressToken: optional(requestId) })) }
const otherFields = { _meta: optional(shape<Meta>({})) }
const implementation = shape<Implementation>({ name: text, version: text, title: optional(text) })
const tool = shape<Tool>({
  name: text,
  title: optional(text),
  description: optional(text),
  inputSchema: record,
  outputSchema: optional(record),
  annotations: optional(record),
  execution: optional(record),
  ...otherFields,
})

/** Every request we know: the one table from which params, results, direction and gate of a method are read and inferred. */
export const methods = Object.freeze({
  initialize: {
    direction: 'to_server',
    capability: undefined,
    params: shape<InitializeParams>({
      protocolVersion: text,
      capabilities: record,
      clientInfo: implementation,
      ...requestFields,
    }),
    result: shape<InitializeResult>({
      protocolVersion: text,
      capabilities: record,
      serverInfo: implementation,
      instructions: optional(text),
      ...otherFields,
    }),
  },
  ping: {
    direction: 'both',
    capability: undefined,
    params: shape<RequestParams>(requestFields),
    result: shape<BaseResult>(otherFields),
  },
  'tools/list': {
    direction: 'to_server',
    capability: 'tools',
    params: shape<PaginatedParams>({ cursor: optional(text), ...requestFields }),
    result: shape<ListToolsResult>({ tools: listOf(tool), nextCursor: optional(text), ...otherFields }),
  },
  'tools/call': {
    direction: 'to_server',
    capability: 'tools',
    params: shape<CallToolParams>({
      name: text,
      arguments: optional(record),
      task: optional(record),
      ...requestFields,
    }),
    result: shape<CallToolResult>({
      content: listOf(shape<{ type: string }>({ type: text })),
      structuredContent: optional(record),
      isError: optional(flag),
      ...otherFields,
    }),
    resultDefaults: { content: [] },
  },
} as const satisfies { readonly [method: string]: MethodRow })

/** Every notification we know, read and inferred like `methods`. */
export const notifications = Object.freeze({
  'notifications/initialized': {
    direction: 'to_server',
    capability: undefined,
    params: shape<BaseNotificationParams>(otherFields),
  },
  'notifications/cancelled': {
    direction: 'both',
    capability: undefined,
    params: shape<CancelledParams>({
      requestId: optional(requestId),
      reason: optional(text),
      ...otherFields,
    }),
  },
  'notifications/progress': {
    direction: 'both',
    capability: undefined,
    params: shape<ProgressParams>({
      progressToken: requestId,
      progress: finite,
      total: optional(finite),
      message: optional(text),
      ...otherFields,
    }),
  },
  'notifications/message': {
    direction: 'to_client',
    capability: 'logging',
    params: shape<LoggingMessageParams>({
      level: oneOf('debug', 'info', 'notice', 'warning', 'error', 'critical', 'alert', 'emergency'),
      logger: optional(text),
      data: present,
      ...otherFields,
    }),
  },
  'notifications/tools/list_changed': {
    direction: 'to_client',
    capability: 'tools.listChanged',
    params: shape<BaseNotificationParams>(otherFields),
  },
} as const satisfies { readonly [method: string]: NotificationRow })

/** The table of requests as types. */
export type Methods = {
  readonly [M in keyof typeof methods]: {
    readonly params: Shaped<(typeof methods)[M]['params']>
    readonly result: Shaped<(typeof methods)[M]['result']>
    readonly direction: (typeof methods)[M]['direction']
    readonly capability: (typeof methods)[M]['capability']
  }
}

/** The table of notifications as types. */
export type Notifications = {
  readonly [N in keyof typeof notifications]: {
    readonly params: Shaped<(typeof notifications)[N]['params']>
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

/** The params of a request or notification as a rest argument, which may be left out when every field may be. */
export type ParamsArgument<P> = Record<never, never> extends P ? [params?: P] : [params: P]

/** Whether we know a request of this name. */
export function isMethod(name: string): name is Method {
  return Object.hasOwn(methods, name)
}

/** Whether we know a notification of this name. */
export function isNotificationMethod(name: string): name is NotificationMethod {
  return Object.hasOwn(notifications, name)
}
