import type { LoggingLevel } from './types/notifications.js'

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

/** Whether this is one of the levels. */
export function isLoggingLevel(value: unknown): value is LoggingLevel {
  return loggingLevels.includes(value as LoggingLevel)
}

/**
 * Whether a message of this level is wanted by who has asked for `wanted` and what is worse; undefined: for
 * nothing.
 */
export function isWantedLevel(level: LoggingLevel, wanted: LoggingLevel | undefined): boolean {
  return wanted !== undefined && loggingLevels.indexOf(level) >= loggingLevels.indexOf(wanted)
}
