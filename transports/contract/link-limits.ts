import { orElse, readCount, readGroup } from '../base/read-option.js'
import { usualMessageBytes, usualQueuedBytes } from './message-sizes.js'

/** How much a connection of a client takes at once. */
export interface LinkLimitOptions {
  /** Bytes of a message, either way; a longer one fails its call. Default 16 MiB, less in a small heap. */
  readonly messageBytes?: number
  /** Bytes that may wait unread before SEND_FAILED. Default 64 MiB, or 4 times that of `messageBytes`. */
  readonly queuedBytes?: number
}

/** Reads the option `limits` of a connection. Throws BAD_OPTION. */
export const readLinkLimits = readGroup({
  messageBytes: orElse(readCount, usualMessageBytes()),
  queuedBytes: orElse(readCount, usualQueuedBytes()),
})
