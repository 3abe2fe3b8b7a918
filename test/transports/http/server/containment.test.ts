import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import * as assert from 'uvu/assert'
import { buildResult, isRequest } from 'caduceus/protocol'
import {
  type ActorContext,
  defineActor,
  startActor,
  type StrayEvent,
  subscribe,
  systemWorld,
} from 'caduceus/runtime'
import { type Binding, type Response, serveHttp } from 'caduceus/transports'
import { serverPort, type Services } from '../../../support/ports.js'
import { guard } from '../../../../runtime/faults/containment.js'
import { processOf } from '../../../../runtime/process/ref.js'
import { AnswerQueue } from '../../../../transports/http/server/answer-queue.js'
import { ByteBudget } from '../../../../transports/connections/byte-budget.js'
import { HttpExchange } from '../../../../transports/http/server/exchange.js'
import { type Answer, RawClient } from '../../../server/_client.js'
import { suite, type TestContext } from '../../../support/suite.js'

const test = suite('http listener containment')
const never = new Promise<never>(() => {})

test('an error behind one exchange is answered 500, and the listener serves the next', async (t) => {
  t.expectStray(2)
  const ways: (() => Promise<Response>)[] = [
    () => {
      throw new Error('secret')
    },
    () => Promise.reject(new Error('secret')),
    () => {
      setTimeout(() => {
        throw new Error('secret')
      }, 1)
      return never
    },
    () => {
      void Promise.reject(new Error('secret'))
      return never
    },
  ]
  const { url, listener } = await startListener(t, {
    deliver: (_id, _message) => (ways.shift() ?? answerPing)(),
  })
  const client = new RawClient(t, url)
  client.sessionId = 's'
  for (let left = ways.length; left > 0; left--) {
    const { status, messages } = await post(client)
    assert.equal(
      [status, messages],
      [500, [{ jsonrpc: '2.0', id: 1, error: { code: -32603, message: 'Internal error' } }]],
    )
  }
  assert.is((await post(client)).status, 200)
  assert.ok(listener.alive)
})

test('an error that strays when the stream has begun ends the stream with an error', async (t) => {
  t.expectStray(1)
  const { url } = await startListener(t, {
    deliver: (_id, _message, sink) => {
      sink.send({
        jsonrpc: '2.0',
        method: 'notifications/progress',
        params: { progressToken: 1, progress: 1 },
      })
      setImmediate(() => {
        throw new Error('secret')
      })
      return never
    },
  })
  const client = new RawClient(t, url)
  client.sessionId = 's'
  const { status, messages } = await post(client)
  assert.is(status, 200)
  assert.equal(
    messages.map(({ id, error }) => [id, error?.code]),
    [
      [undefined, undefined],
      [1, -32603],
    ],
  )
})

test('an error that strays after the answer is only reported', async (t) => {
  t.expectStray(1)
  const stray = new Promise<StrayEvent>((resolve) => t.after(subscribe('stray', resolve)))
  const { url } = await startListener(t, {
    deliver: async () => {
      setTimeout(() => {
        throw new Error('secret')
      }, 20)
      return answerPing()
    },
  })
  const client = new RawClient(t, url)
  client.sessionId = 's'
  assert.is((await post(client)).status, 200)
  const { outcome, owner } = await stray
  assert.equal([outcome, owner], ['reported', 'http POST'])
})

test('a throw in a callback of the body fails its exchange only', async (t) => {
  const home = await startActor(defineActor({ name: 'home', init: () => ({}) }), undefined, { logger: false })
  t.after(() => home.stop())
  const server = createServer((request, response) => {
    const exchange = new HttpExchange(request, response, processOf(home).tree, {
      maxBufferedBytes: 1_000,
      maxMessageBytes: 1_000,
      budget: new ByteBudget({
        messageBytes: 1_000,
        pendingBytes: 1_000,
        pendingBytesPerClient: undefined,
      }),
      answers: new AnswerQueue(systemWorld),
      world: systemWorld,
      noteStream: () => {},
      closing: false,
    })
    guard(exchange.token, () =>
      request.on('data', () => {
        throw new Error('secret')
      }),
    )
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => new Promise((resolve) => server.close(resolve)))
  const client = new RawClient(t, `http://127.0.0.1:${(server.address() as AddressInfo).port}/`)
  assert.equal([(await post(client)).status, (await post(client)).status], [500, 500])
  assert.ok(home.alive)
})

test('a GET reader that does not read is cut off, and its messages are refused', async (t) => {
  let sink: { send(message: object): boolean } | undefined
  const attached = new Promise<void>((resolve) => {
    void startListener(t, {
      attach: async (_id, reader) => {
        sink = reader as { send(message: object): boolean }
        resolve()
        return () => {}
      },
    }).then(async ({ url }) => {
      const client = new RawClient(t, url)
      client.sessionId = 's'
      const stream = await client.listen({ 'x-paused': '1' })
      stream.pause()
      t.after(() => stream.close())
    })
  })
  await attached
  const big = {
    jsonrpc: '2.0',
    method: 'notifications/message',
    params: { level: 'info', data: 'x'.repeat(1_000_000) },
  }
  let sent = 0
  while (sink?.send(big)) {
    if (++sent > 100) throw new Error('nobody stops it')
    await new Promise((resolve) => setImmediate(resolve))
  }
  assert.ok(sent >= 1)
  assert.is(sink?.send(big), false)
})

function post(client: RawClient): Promise<Answer> {
  return client.post({ jsonrpc: '2.0', id: 1, method: 'ping' })
}

async function answerPing(): Promise<Response> {
  return buildResult(1, {})
}

/** A listener in a tree of its own, in front of a server that does what the test says. */
async function startListener(t: TestContext, port: Partial<Services>) {
  const server: Services = {
    open: async (request) => ({ sessionId: 's', response: buildResult(request.id, {}) }),
    deliver: async (_id, message) => (isRequest(message) ? buildResult(message.id, {}) : undefined),
    attach: async () => () => {},
    close: async () => {},
    ...port,
  }
  const scope = { name: 'listener', drainTimeout: 0, stopping: () => false, finished: () => {} }
  const holder = defineActor({
    name: 'holder',
    async init(_: undefined, ctx: ActorContext) {
      const binding: Binding = await serveHttp().bind(ctx)
      return { binding, listener: await binding.start(ctx, serverPort(server), scope) }
    },
    call: { parts: (state) => state },
  })
  const root = await startActor(holder, undefined, { logger: false })
  t.after(() => root.stop())
  const { binding, listener } = await root.call('parts')
  return { url: binding.url, listener }
}

test.run()
