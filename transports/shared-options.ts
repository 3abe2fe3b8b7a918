import { orElse, readCount, readFields, readFlag, readMs } from './client-options.js'
import { readSocketPath } from './local-path.js'

/** Where a shared client is, and how it is reached. */
export interface SharedOptions {
  /** The path that its owner gave to `shareClients`. */
  readonly path: string
  /** Whether a name that nobody shares is waited for, as a program is that is not there. Default false: the client fails at once. */
  readonly waitForName?: boolean
  /** The longest message in bytes; a longer one ends the connection. Default 4 MiB. */
  readonly maxMessageBytes?: number
  /** Bytes that may wait to be read by the owner before requests are refused with SEND_FAILED. Default 16 MiB. */
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
    maxMessageBytes: orElse(readCount, 4 * 1024 * 1024)(given.maxMessageBytes, 'maxMessageBytes'),
    maxQueuedBytes: orElse(readCount, 16 * 1024 * 1024)(given.maxQueuedBytes, 'maxQueuedBytes'),
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
