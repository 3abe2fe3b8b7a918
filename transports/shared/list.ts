import { encode } from '../../protocol/wire/codec.js'
import { handled } from '../../runtime/base/promise.js'
import { TransportError } from '../base/errors.js'
import { tooLong } from '../contract/message-sizes.js'
import { readSharedListOptions, type SharedListOptions } from './options.js'
import { openShared } from './socket.js'
import { readWelcome, type SharedClient, type Welcome, writeWant } from './words.js'

const maxMessageBytes = 4 * 1024 * 1024

/**
 * The clients that a program of this machine shares at a path, and what each is doing. Rejects with
 * TransportError BAD_OPTION, naming the field, CONNECT_FAILED when nobody is there, BAD_RESPONSE and
 * SEND_FAILED (nothing came within `timeout`).
 */
export function sharedClients(options: SharedListOptions): Promise<readonly SharedClient[]> {
  return handled(ask(options))
}

async function ask(options: SharedListOptions): Promise<readonly SharedClient[]> {
  const { path, timeout } = readSharedListOptions(options)
  return new Promise((resolve, reject) => {
    const bad = (): TransportError =>
      new TransportError('BAD_RESPONSE', `what listens at ${path} shares no clients`)
    const socket = openShared(path, maxMessageBytes, {
      connected: () => void socket.write(`${encode(writeWant({ type: 'list' }))}\n`),
      line(text) {
        const welcome = readWelcome(text)
        if (welcome?.type === 'clients') resolve(welcome.clients)
        else reject(welcome?.type === 'refused' ? turnedAway(welcome) : bad())
        socket.destroy()
      },
      skipped(error) {
        reject(tooLong(error))
        socket.destroy()
      },
      paused() {},
      closed(error) {
        clearTimeout(timer)
        reject(error ?? bad())
      },
    })
    const timer = setTimeout(
      () => {
        reject(late(path, timeout))
        socket.destroy()
      },
      Math.min(timeout, 2 ** 31 - 1),
    )
  })
}

function late(path: string, timeout: number): TransportError {
  const message = `no list of clients came from ${path} within ${timeout} ms`
  return new TransportError('SEND_FAILED', message, { retryable: true })
}

function turnedAway({ why, message }: Extract<Welcome, { type: 'refused' }>): TransportError {
  return new TransportError('CONNECT_FAILED', message, { retryable: why === 'too_many' })
}
