import { buildResult } from 'caduceus/protocol'
import { createFakeClock } from 'caduceus/runtime'
import type { LinkScope } from 'caduceus/transports'
import { getEventListeners } from 'node:events'
import type { ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import { PassThrough, Readable } from 'node:stream'
import * as assert from 'uvu/assert'
import { worldOn } from '../support/world.js'
import type { HttpResponse } from '../../transports/http/outgoing/dispatcher.js'
import { AnswerBudget } from '../../transports/http/client/answer-budget.js'
import { followStream, type StreamPort } from '../../transports/http/client/event-stream.js'
import { type Dispatching, discard, exchange } from '../../transports/http/outgoing/exchange.js'
import { textWithin } from '../../transports/contract/message-sizes.js'
import { SseConnection } from '../../transports/sse/connection.js'
import { suite } from '../support/suite.js'

const test = suite('what is left of transports')

const plain = (body: Readable): HttpResponse => ({
  status: 200,
  headers: { 'content-type': 'text/event-stream' },
  body,
  complete: false,
  secrets: [],
  origin: 'http://x',
  text: async () => '',
})

test('a stream reopened again and again keeps one listener and no timer', async () => {
  const clock = createFakeClock()
  const controller = new AbortController()
  const { signal } = controller
  const scope: LinkScope = {
    signal,
    clock,
    world: worldOn(clock),
    own: (resource) => resource,
    bind: (fn) => fn,
  }
  const counts: number[] = []
  const port: StreamPort = {
    open: async () => {
      counts.push(getEventListeners(signal, 'abort').length)
      return plain(Readable.from([Buffer.from(': \n\n')]))
    },
    refused: async () => false,
    presence: () => new AbortController().signal,
    message: () => {},
    skipped: () => {},
    missed: () => {},
    room: () => undefined,
    trouble: () => {},
    budget: new AnswerBudget({ messageBytes: 1_000, pendingBytes: 1_000 }),
  }
  const following = followStream(port, scope, { idleTimeout: 1_000, maxBytes: 1_000 })
  while (counts.length < 4) {
    await new Promise((resolve) => setImmediate(resolve))
    if (clock.pending > 0) await clock.advance(500)
  }
  assert.equal(counts.slice(0, 4), [1, 1, 1, 1])
  controller.abort()
  await following
  assert.equal([clock.pending, getEventListeners(signal, 'abort').length], [0, 0])
})

test('128 KiB of an unwanted body are read, and not a byte more', async () => {
  for (const [bytes, isCut] of [
    [128 * 1024, false],
    [128 * 1024 + 1, true],
  ] as const) {
    const body = new PassThrough()
    discard(plain(body))
    body.write(Buffer.alloc(bytes))
    await new Promise((resolve) => setImmediate(resolve))
    assert.is(body.destroyed, isCut, String(bytes))
    body.destroy()
  }
})

test('a request aborted before it is sent rejects with the reason', async () => {
  const reason = new Error('given up')
  const dispatcher = { dispatch: () => true } as unknown as Dispatching
  const request = { path: '/', method: 'GET', headers: {}, signal: AbortSignal.abort(reason) } as const
  const failed = exchange(dispatcher, request, 'http://x').catch((error) => error)
  assert.is(await failed, reason)
})

test('an answer up to 16 KiB needs no budget, a longer one all its bytes', () => {
  const asked: number[] = []
  const room = {
    add: (bytes: number) => {
      asked.push(bytes)
      return undefined
    },
  }
  const answer = (text: string) => buildResult(1, { text })
  const around = String(textWithin(answer(''), 1_000_000)).length
  const longest = 16 * 1024 - around
  textWithin(answer('x'.repeat(longest)), 1_000_000, room)
  assert.equal(asked, [])
  textWithin(answer(`${'x'.repeat(longest)}é`), 1_000_000, room)
  assert.equal(asked, [16 * 1024 + 2])
})

test('closing a stream cuts it if its reader is behind, and else ends it', () => {
  for (const [left, done] of [
    [0, 'ended'],
    [2_000, 'cut'],
  ] as const) {
    const socket = new Socket()
    Object.defineProperty(socket, 'writableLength', { value: left })
    const seen: string[] = []
    const response = { end: () => seen.push('ended'), destroy: () => seen.push('cut') }
    const limits = { maxMessageBytes: 1_000, maxBufferedBytes: 1_000, timeout: 1_000 }
    const peer = { transport: 'sse', headers: {}, remoteAddress: undefined }
    new SseConnection(response as unknown as ServerResponse, socket, peer, limits).close('session_ended')
    assert.equal(seen, [done])
    socket.destroy()
  }
})

test.run()
