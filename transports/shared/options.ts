import { orElse, readCount, readFields, readFlag, readMs } from '../base/read-option.js'
import { readSocketPath } from './local-path.js'
import { usualMessageBytes, usualQueuedBytes } from '../contract/message-sizes.js'

/** Where a shared client is, and how it is reached. */
export interface SharedOptions {
  /** The path that its owner gave to `shareClients`. */
  readonly path: string
  /**
   * Whether a name that nobody shares is waited for, as a program is that is not there. Default false: the
   * client fails at once.
   */
  readonly waitForName?: boolean
  /**
   * Bytes a message may have, in either direction; a longer one fails the call that it is of. Default 16 MiB,
   * and less where the heap of the process is small.
   */
  readonly maxMessageBytes?: number
  /**
   * Bytes that may wait to be read by the owner before requests are refused with SEND_FAILED. Default 64 MiB,
   * or four times the default of `maxMessageBytes`.
   */
  readonly maxQueuedBytes?: number
}

/** Checked options with every default filled in. */
export type SharedSettings = Readonly<Required<SharedOptions>>

/** Where a list of shared clients is asked for. */
export interface SharedListOptions {
  readonly path: string
  /** Milliseconds that it may take. Default 5000. */
  readonly timeout?: number
}

/** Reads the options of `shared()`. Throws BAD_OPTION, naming the field. */
export function readSharedOptions(options: SharedOptions): SharedSettings {
  const given = readFields(options, 'options', ['path', 'waitForName', 'maxMessageBytes', 'maxQueuedBytes'])
  return Object.freeze({
    path: readSocketPath(given.path, 'path'),
    waitForName: orElse(readFlag, false)(given.waitForName, 'waitForName'),
    maxMessageBytes: orElse(readCount, usualMessageBytes())(given.maxMessageBytes, 'maxMessageBytes'),
    maxQueuedBytes: orElse(readCount, usualQueuedBytes())(given.maxQueuedBytes, 'maxQueuedBytes'),
  })
}

/** Reads the options of `sharedClients()`. Throws BAD_OPTION, naming the field. */
export function readSharedListOptions(options: SharedListOptions): Required<SharedListOptions> {
  const given = readFields(options, 'options', ['path', 'timeout'])
  return {
    path: readSocketPath(given.path, 'path'),
    timeout: orElse(readMs, 5_000)(given.timeout, 'timeout'),
  }
}
