import type { Socket } from 'node:net'
import { encode } from '../../protocol/wire/codec.js'
import type { Message } from '../../protocol/wire/jsonrpc.js'
import { orElse, readFlag, readOptions, readText, type ReadWith } from '../base/read-option.js'
import type { ClientTransport, Link, LinkEnd, LinkEvents, LinkScope } from '../contract/contract.js'
import { TransportError } from '../base/errors.js'
import { notSent, sendable, tellSkipped } from '../contract/message-sizes.js'
import { readSocketPath } from './local-socket.js'
import { type LinkLimitOptions, readLinkLimits } from '../contract/link-limits.js'
import { openShared } from './socket.js'
import { type CallOutcome, readOutcome, readHelloReply, writeHello } from './hello.js'

/** Where a shared client is, and how it is reached. */
export interface SharedOptions {
  /** The path that its owner gave to `shareClients`. */
  readonly path: string
  /** Whether to wait for a name that is not shared yet. Default false: the client fails at once. */
  readonly waitForName?: boolean
  /** How large messages may be, and what waits. */
  readonly limits?: LinkLimitOptions
}

type SharedSettings = ReadWith<typeof readers>

const readers = {
  path: readSocketPath,
  waitForName: orElse(readFlag, false),
  limits: readLinkLimits,
}

/** Milliseconds that the owner may take to end a connection in an orderly way. */
const closeTimeout = 1_000

/**
 * A client that another program of this machine, and of this user, shares by that name (`shareClients`). An
 * owner that is not there is waited for, like any server. A name that it does not share is fatal
 * (NOT_SHARED), unless `waitForName`. Throws BAD_OPTION, naming the field.
 */
export function shared(name: string, options: SharedOptions): ClientTransport {
  const client = readText(name, 'name')
  const settings = readOptions(options, readers)
  return Object.freeze({
    name: `shared ${client}`,
    modern: 'none',
    connect: (events: LinkEvents, scope: LinkScope) => new SharedLink(client, settings, events, scope),
  })
}

class SharedLink implements Link {
  readonly #client: string
  readonly #settings: SharedSettings
  readonly #events: LinkEvents
  readonly #scope: LinkScope
  readonly #socket: Socket
  #isOpen = false
  #isClosing = false
  /** Why it ends, where that is known before the socket is closed. */
  #end: LinkEnd | undefined

  constructor(client: string, settings: SharedSettings, events: LinkEvents, scope: LinkScope) {
    this.#client = client
    this.#settings = settings
    this.#events = events
    this.#scope = scope
    const socket = openShared(settings.path, settings.limits.messageBytes, {
      connected: () => this.#write(encode(writeHello({ type: 'open', client }))),
      line: (text) => this.#take(text),
      skipped: (error) => tellSkipped(error, events, (text) => this.#write(text)),
      read: () => this.#catchUp(events.room()),
      closed: (error) => this.#closed(error),
    })
    this.#socket = socket
    scope.own(() => this.#destroy())
  }

  send(text: string, message: Message): void {
    const { writable, writableLength } = this.#socket
    const { messageBytes, queuedBytes } = this.#settings.limits
    const line = sendable(text, message, messageBytes, this.#events)
    if (line === undefined) return
    if (writable && writableLength < queuedBytes) return this.#write(line)
    const error = writable
      ? new TransportError('SEND_FAILED', `${writableLength} bytes wait to be read by the owner already`, {
          retryable: true,
        })
      : new TransportError('NOT_OPEN', 'the owner takes no more', { retryable: true })
    notSent(message, error, this.#events)
  }

  get queuedBytes(): number {
    return this.#socket.writableLength
  }

  close(): void {
    if (this.#isClosing) return
    this.#isClosing = true
    this.#socket.end()
    // an owner that is stopped, or does not read, would keep it open
    this.#scope.clock.setTimeout(() => void this.#socket.destroy(), closeTimeout)
  }

  #write(text: string): void {
    this.#socket.write(`${text}\n`)
  }

  #take(text: string): void {
    if (this.#end !== undefined) return
    if (!this.#isOpen) return this.#begin(text)
    const told = readOutcome(text)
    if (told === undefined) this.#events.message(text)
    else this.#events.lost(told.id, errorOf(told.message, told.outcome))
  }

  #begin(text: string): void {
    const { path, waitForName } = this.#settings
    const reply = readHelloReply(text)
    if (reply?.type === 'opened') {
      this.#isOpen = true
      return this.#events.opened({ path })
    }
    const isFatal = reply?.type === 'refused' && reply.why === 'not_shared' && !waitForName
    this.#end = { error: refusalOf(path, reply), fatal: isFatal }
    this.#socket.destroy()
  }

  /** A client that cannot keep up stops reading. The owner does not stop its server: it may cut us off. */
  #catchUp(room: Promise<void> | undefined): void {
    if (room === undefined) return
    const socket = this.#socket
    socket.pause()
    void room.then(() => socket.resume())
  }

  #closed(failure: TransportError | undefined): void {
    if (this.#end !== undefined) return this.#events.closed(this.#end)
    if (this.#isClosing) return this.#events.closed({})
    const message = `the program that shares ${this.#client} ended the connection`
    const error = failure ?? new TransportError('CONNECTION_LOST', message, { retryable: true })
    this.#events.closed({ error, fatal: isForbidden(failure) })
  }

  #destroy(): Promise<void> | undefined {
    const socket = this.#socket
    if (socket.closed) return undefined
    return new Promise((resolve) => {
      socket.once('close', () => resolve())
      socket.destroy()
    })
  }
}

function refusalOf(path: string, reply: ReturnType<typeof readHelloReply>): TransportError {
  if (reply?.type !== 'refused')
    return new TransportError('BAD_RESPONSE', `what listens at ${path} shares no clients`, {
      retryable: true,
    })
  const isUnknown = reply.why === 'not_shared'
  return new TransportError(isUnknown ? 'NOT_SHARED' : 'CONNECT_FAILED', reply.message, {
    retryable: !isUnknown,
  })
}

function errorOf(message: string, { code, sent, lost, retryable, facts }: CallOutcome): TransportError {
  const kind = lost ? 'CONNECTION_LOST' : sent ? 'BAD_RESPONSE' : 'SEND_FAILED'
  return new TransportError(kind, message, { retryable, data: { ...facts, sent, ownerCode: code } })
}

function isForbidden(error: TransportError | undefined): boolean {
  return (error?.cause as { code?: unknown } | undefined)?.code === 'EACCES'
}
