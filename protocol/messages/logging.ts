import { type BaseNotificationParams, metaField, type RequestParams, requestFields } from './base.js'
import { oneOf, optional, present, shape, text } from './shape.js'

/** The levels of log messages, the least severe first (RFC 5424). */
export const loggingLevels: readonly LoggingLevel[] = Object.freeze([
  'debug',
  'info',
  'notice',
  'warning',
  'error',
  'critical',
  'alert',
  'emergency',
])

/** How severe a log message is, in the order of RFC 5424. */
export type LoggingLevel =
  | 'debug'
  | 'info'
  | 'notice'
  | 'warning'
  | 'error'
  | 'critical'
  | 'alert'
  | 'emergency'

const level = oneOf(...loggingLevels)

/** Params of `logging/setLevel`: messages of this level and above are wanted. */
export interface SetLevelParams extends RequestParams {
  level: LoggingLevel
}

export const setLevelParams = shape<SetLevelParams>({ level, ...requestFields })

/** Params of `notifications/message`: a log message of the server; `data` is any JSON value. */
export interface LoggingMessageParams extends BaseNotificationParams {
  level: LoggingLevel
  logger?: string
  data: unknown
}

export const loggingMessageParams = shape<LoggingMessageParams>({
  level,
  logger: optional(text),
  data: present,
  ...metaField,
})

/** Whether this is one of the levels. */
export function isLoggingLevel(value: unknown): value is LoggingLevel {
  return loggingLevels.includes(value as LoggingLevel)
}

/** Whether one who asked for `wanted` and above wants a message of this level; undefined: none. */
export function isWantedLevel(level: LoggingLevel, wanted: LoggingLevel | undefined): boolean {
  return wanted !== undefined && loggingLevels.indexOf(level) >= loggingLevels.indexOf(wanted)
}
