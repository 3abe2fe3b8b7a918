/** Headers of an answer, names in lower case. */
export type Headers = Readonly<Record<string, string>>

/** No headers. */
export const none: Headers = Object.freeze({})
/** Of an answer without a body. */
export const noContent = Object.freeze({ 'content-length': '0' })
/** Of an event stream that no proxy is to hold back. */
export const streamHeaders = Object.freeze({
  'content-type': 'text/event-stream',
  'cache-control': 'no-cache, no-transform',
  'x-accel-buffering': 'no',
})
