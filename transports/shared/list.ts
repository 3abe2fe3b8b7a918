import { encode } from '../../protocol/wire/codec.js'
import { handled } from '../../runtime/base/promise.js'
import { type Clock, systemClock } from '../../runtime/time/clock.js'
import { waitWithin } from '../../runtime/time/wait.js'
import { TransportError } from '../base/errors.js'
import { badOption, orElse, type Read, readMs, readOptions } from '../base/read-option.js'
import { tooLong } from '../contract/message-sizes.js'
import { readSocketPath } from './local-socket.js'
import { openShared } from './socket.js'
import { readHelloReply, type SharedClient, type HelloReply, writeHello } from './hello.js'

/** Where a list of shared clients is asked for. */
export interface SharedListOptions {
  readonly path: string
  /** Milliseconds that it may take. Default 5000. */
  readonly timeout?: number
  /** What measures them. Default: the clock of this machine. */
  readonly clock?: Clock
}

const maxMessageBytes = 4 * 1024 * 1024

/**
 * The clients that a program of this machine shares at a path, and what each is doing. Rejects with
 * TransportError BAD_OPTION, naming the field, CONNECT_FAILED when no program listens there, BAD_RESPONSE and
 * SEND_FAILED (nothing came within `timeout`).
 */
export function sharedClients(options: SharedListOptions): Promise<readonly SharedClient[]> {
  return handled(ask(options))
}

async function ask(options: SharedListOptions): Promise<readonly SharedClient[]> {
  const { path, timeout, clock } = readOptions(options, readers)
  const late = (): never => {
    const message = `no list of clients came from ${path} within ${timeout} ms`
    throw new TransportError('SEND_FAILED', message, { retryable: true })
  }
  const limits = { clock, ms: timeout, late }
  return waitWithin<readonly SharedClient[]>(limits, (resolve, reject) => {
    const bad = (): TransportError =>
      new TransportError('BAD_RESPONSE', `what listens at ${path} shares no clients`)
    const socket = openShared(path, maxMessageBytes, {
      connected: () => void socket.write(`${encode(writeHello({ type: 'list' }))}\n`),
      line(text) {
        const reply = readHelloReply(text)
        if (reply?.type === 'clients') resolve(reply.clients)
        else reject(reply?.type === 'refused' ? refusalOf(reply) : bad())
      },
      skipped: (error) => reject(tooLong(error)),
      read() {},
      closed: (error) => reject(error ?? bad()),
    })
    return () => void socket.destroy()
  })
}

const readClock: Read<Clock> = (value = systemClock, field) => {
  const { now, setTimeout, clearTimeout } = (value ?? {}) as Partial<Clock>
  if ([now, setTimeout, clearTimeout].every((method) => typeof method === 'function')) return value as Clock
  throw badOption(field, 'an object with now, setTimeout and clearTimeout', value)
}

const readers = { path: readSocketPath, timeout: orElse(readMs, 5_000), clock: readClock }

function refusalOf({ why, message }: Extract<HelloReply, { type: 'refused' }>): TransportError {
  return new TransportError('CONNECT_FAILED', message, { retryable: why === 'too_many' })
}
