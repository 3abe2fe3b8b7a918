import type { Duplex } from 'node:stream'

/** What Node keeps of a socket with TLS: the handle of the one below, which has no name that is public. */
interface Layered {
  readonly _handle?: { readonly _parent?: { readonly writeQueueSize?: number } } | null
}

/**
 * Bytes that wait below TLS; undefined without it. Node restarts the timer of a socket when a part of a long
 * message has been taken, but with TLS it sees none before the whole is: there a reader that takes something,
 * and slowly, is known by this number alone.
 */
export function queuedBelowTls(socket: Duplex | null): number | undefined {
  return (socket as Layered | null)?._handle?._parent?.writeQueueSize
}
