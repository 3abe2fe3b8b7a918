import type { RequestParams } from './base.js'
import type { LoggingLevel } from './notifications.js'

/** Params of `logging/setLevel`: messages of this level and above are wanted. */
export interface SetLevelParams extends RequestParams {
  level: LoggingLevel
}
