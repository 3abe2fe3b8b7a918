import * as assert from 'uvu/assert'
import { isRequest, metaKeys } from 'caduceus/protocol'
import { createFakeClock } from 'caduceus/runtime'
import { type ClientTransport, http } from 'caduceus/transports'
import { isObject } from '../../support/is-object.js'
import { heard } from '../../support/heard.js'
import { suite, type TestContext } from '../../support/suite.js'
import { json, listen, result, status } from '../../transports/_http.js'
import { complete, discover, listening, modern, refuse, stateless, tool } from '../_modern.js'
import { rejection, watch } from '../_raw.js'

const test = suite('changes in the newer era')
const toolsChanged = 'notifications/tools/list_changed'
const updated = 'notifications/resources/updated'

type Stream = ReturnType<typeof listening>

/** A server whose streams are in the hands of the test; each acknowledges at once, unless `acks` is false. */
async function server(t: TestContext, acks = true, options: Parameters<typeof watch>[1] = {}) {
  const streams = heard<Stream>()
  const { url, seen } = await listen(
    t,
    stateless((one) => {
      if (one.message.method !== 'subscriptions/listen') return tool(one, 'done')
      const stream = listening(one)
      if (acks) stream.acknowledge()
      streams.add(stream)
    }),
  )
  const backoff = { base: 10, cap: 10 }
  const { client } = watch(t, { transport: http(url), era: 'modern', backoff, ...options })
  return { client, streams, seen }
}

function closed({ response }: Stream): Promise<unknown> {
  return new Promise((resolve) => response.once('close', resolve))
}

test('change handlers share one stream that covers every kind they listen to', async (t) => {
  const { client, streams } = await server(t)
  await client.ready()
  const news = heard<object>()
  client.onNotification(toolsChanged, news.add)
  const stream = await streams.next()
  assert.equal(stream.filter, { toolsListChanged: true })
  stream.tell(toolsChanged)
  await news.next()
  assert.is(streams.all.length, 1)
})

test('a client without change handlers opens no stream', async (t) => {
  const { client, streams } = await server(t)
  await client.callTool('any')
  client.onNotification('notifications/progress', () => {})
  await client.callTool('any')
  assert.is(streams.all.length, 0)
})

test.slow('a subscription resolves when acknowledged; the old stream ends after that', async (t) => {
  const { client, streams, seen } = await server(t)
  const news = heard<{ uri: string }>()
  client.onNotification(updated, news.add)
  await client.subscribe('a:1')
  const first = await streams.next()
  assert.equal(first.filter, { resourceSubscriptions: ['a:1'] })
  const gone = closed(first)
  await client.subscribe('a:2')
  const second = await streams.next()
  assert.equal(second.filter, { resourceSubscriptions: ['a:1', 'a:2'] })
  await gone
  second.tell(updated, { uri: 'a:2' })
  assert.is((await news.next()).uri, 'a:2')
  const end = closed(second)
  await client.unsubscribe('a:1')
  await end
  const third = await streams.next()
  const last = closed(third)
  await client.unsubscribe('a:2')
  await last
  assert.not.ok(seen.all.some(({ message }) => String(message.method).startsWith('resources/')))
  // over HTTP a stream is given up by closing it, without a word
  assert.not.ok(seen.all.some(({ message }) => message.method === 'notifications/cancelled'))
})

test('what a server told on a stream that has just been replaced is heard', async (t) => {
  // by a clock of its own the first stream would end after a second, whether or not it has been read by then
  const { client, streams } = await server(t, true, { clock: createFakeClock() })
  const news = heard<{ uri: string }>()
  client.onNotification(updated, news.add)
  await client.subscribe('a:1')
  const first = await streams.next()
  await client.subscribe('a:2')
  await streams.next()
  first.tell(updated, { uri: 'a:1' })
  assert.is((await news.next()).uri, 'a:1')
  await client.unsubscribe('a:1')
  // of what nobody wishes any more nobody hears
  first.tell(updated, { uri: 'a:1' })
  first.tell(updated, { uri: 'a:2' })
  assert.is((await news.next()).uri, 'a:2')
})

test('wishes that change all the time have five streams at most', async (t) => {
  const { client, streams } = await server(t)
  let [open, most] = [0, 0]
  const count = (stream: Stream): void => {
    open += 1
    most = Math.max(most, open)
    stream.response.once('close', () => {
      open -= 1
    })
  }
  const watching = (async () => {
    for (;;) count(await streams.next())
  })()
  watching.catch(() => {})
  const all = Array.from({ length: 30 }, (_, n) => client.subscribe(`a:${n}`))
  await Promise.all(all)
  for (let n = 0; n < 20; n += 1) {
    void client.subscribe('b:1')
    void client.unsubscribe('b:1')
    await client.ping()
  }
  await client.subscribe('c:1')
  assert.ok(most <= 5, `${most} at once`)
})

test.slow('forty subscriptions, each after the one before, do not wait seconds', async (t) => {
  const { client } = await server(t)
  // a quarter of a second each where the oldest stream stays for a whole one
  for (let n = 0; n < 40; n += 1) await client.subscribe(`a:${n}`)
})

test('a change on another stream, or before the acknowledgement, is ignored', async (t) => {
  const { client, streams } = await server(t, false)
  await client.ready()
  const news = heard<object>()
  client.onNotification(toolsChanged, news.add)
  const stream = await streams.next()
  stream.tell(toolsChanged, { early: true })
  stream.acknowledge()
  const foreign = {
    method: toolsChanged,
    params: { foreign: true, _meta: { [metaKeys.subscriptionId]: 'x' } },
  }
  stream.response.write(`data: ${JSON.stringify({ jsonrpc: '2.0', ...foreign })}\n\n`)
  stream.tell(toolsChanged, { right: true })
  assert.is(((await news.next()) as { right?: boolean }).right, true)
})

for (const how of ['end', 'break', 'fail'] as const) {
  test(`a stream that the server ${how}s is reopened with every subscription`, async (t) => {
    const { client, streams } = await server(t)
    const news = heard<unknown>()
    client.onNotification(updated, news.add)
    await client.subscribe('a:1')
    const first = await streams.next()
    if (how === 'end') first.end()
    else if (how === 'fail') first.fail()
    else first.response.destroy()
    const second = await streams.next()
    assert.equal(second.filter, { resourceSubscriptions: ['a:1'] })
    // it may have changed meanwhile
    assert.equal(await news.next(), { uri: 'a:1' })
    assert.is(news.all.length, 1)
  })
}

test('a stream refused for now, as retryable, is asked for again', async (t) => {
  const { client, streams } = await server(t, false)
  const refused = rejection(client.subscribe('a:1'))
  const first = await streams.next()
  first.fail({ retryable: true })
  assert.is((await refused).code, -32603)
  await client.ready()
  client.onNotification(toolsChanged, () => {})
  const second = await streams.next()
  second.fail({ retryable: true })
  const third = await streams.next()
  assert.equal(third.filter, second.filter)
})

test('the stream reopens within about a second after a long outage', async (t) => {
  const clock = createFakeClock()
  const { client, streams } = await server(t, false, { clock, backoff: { random: () => 1 } })
  await client.ready()
  const news = heard<object>()
  client.onNotification(toolsChanged, news.add)
  for (let failures = 1; failures <= 8; failures++) {
    const stream = await streams.next()
    stream.fail({ retryable: true })
    while (client.inspect().counts.troubles < failures) await new Promise(setImmediate)
    await clock.advance(1_000)
  }
  const last = await streams.next()
  last.acknowledge()
  last.tell(toolsChanged)
  await news.next()
})

test('a replaced stdio stream is cancelled once and leaves no timer', async (t) => {
  const clock = createFakeClock()
  const opened = heard<{ id: string | number; filter: object }>()
  const cancelled: unknown[] = []
  let tell = (_message: object): void => {}
  const transport: ClientTransport = {
    name: 'pipe',
    connect(events) {
      tell = (message) => events.message(JSON.stringify({ jsonrpc: '2.0', ...message }))
      events.opened()
      return {
        send(_, message) {
          const { method, params } = message as { method: string; params?: Record<string, unknown> }
          if (method === 'notifications/cancelled') cancelled.push(params?.requestId)
          if (!isRequest(message)) return
          const { id } = message
          if (method === 'subscriptions/listen')
            return opened.add({ id, filter: params?.notifications as object })
          const _meta = { [metaKeys.serverInfo]: { name: 'piped', version: '1' } }
          const offered = { resources: { subscribe: true } }
          const result = { supportedVersions: [modern], capabilities: offered, ...complete, _meta }
          tell({ id, result })
        },
        close: () => events.closed({}),
      }
    },
  }
  const { client } = watch(t, { transport, era: 'modern', clock })
  await client.ready()
  const agree = ({ id, filter }: { id: string | number; filter: object }): string | number => {
    const params = { notifications: filter, _meta: { [metaKeys.subscriptionId]: id } }
    tell({ method: 'notifications/subscriptions/acknowledged', params })
    return id
  }
  const first = client.subscribe('a:1')
  const stream = await opened.next()
  // it waits for the first to be agreed to
  const second = client.subscribe('a:2')
  const replaced = agree(stream)
  agree(await opened.next())
  await Promise.all([first, second])
  await clock.advance(31_000)
  await client.ping()
  assert.equal(cancelled, [replaced])
})

test('the stream of a busy server reopens after its Retry-After', async (t) => {
  const clock = createFakeClock()
  const asked = heard<number>()
  const { url } = await listen(
    t,
    stateless((one) => {
      asked.add(clock.now())
      status(one, 503, { 'retry-after': '5' })
    }),
  )
  const { client } = watch(t, { transport: http(url), era: 'modern', clock, backoff: { random: () => 0.5 } })
  await client.ready()
  client.onNotification(toolsChanged, () => {})
  await asked.next()
  while (asked.all.length < 2) await clock.advance(100)
  assert.ok((asked.all[1] as number) >= 5_000)
})

test('concurrent subscriptions are all acknowledged', async (t) => {
  const { client } = await server(t)
  await Promise.all(['a:1', 'a:2', 'a:3'].map((uri) => client.subscribe(uri)))
})

test('a subscription without acknowledgement or support rejects', async (t) => {
  const streams = heard<Stream>()
  let offered: object = { resources: { subscribe: true } }
  const { url } = await listen(t, (one) => {
    if (one.message.method === 'server/discover') return discover(one, offered)
    const stream = listening(one)
    stream.acknowledge({})
    streams.add(stream)
  })
  const { client } = watch(t, { transport: http(url), era: 'modern' })
  assert.is((await rejection(client.subscribe('a:1'))).code, 'NOT_SUPPORTED')
  offered = { resources: {} }
  const { client: other } = watch(t, { transport: http(url), era: 'modern', name: 'other' })
  assert.is((await rejection(other.subscribe('a:1'))).code, 'NOT_SUPPORTED')
  assert.is(streams.all.length, 1)
})

test('a refused stream rejects the subscription with the server error', async (t) => {
  const { url } = await listen(
    t,
    stateless((one) => refuse(one, -32602, 200)),
  )
  const { client } = watch(t, { transport: http(url), era: 'modern' })
  assert.is((await rejection(client.subscribe('a:1'))).code, -32602)
})

test('a client that is closed closes its stream', async (t) => {
  const { client, streams } = await server(t)
  await client.subscribe('a:1')
  const stream = await streams.next()
  const end = closed(stream)
  await client.close()
  await end
})

test('the log level is sent with every modern request', async (t) => {
  const { client, seen } = await server(t)
  await client.callTool('any')
  await client.setLevel('warning')
  await client.callTool('any')
  const levels = seen.all.map(({ message }) => {
    const meta = message.params?._meta
    return isObject(meta) ? meta[metaKeys.logLevel] : 'no envelope'
  })
  assert.equal(levels, [undefined, undefined, 'warning'])
})

test('a cached list is fetched again after a change, or a gap that may hide one', async (t) => {
  let lists = 0
  const streams = heard<Stream>()
  const { url } = await listen(
    t,
    stateless((one) => {
      if (one.message.method === 'subscriptions/listen') {
        const stream = listening(one)
        stream.acknowledge()
        return streams.add(stream)
      }
      lists += 1
      json(
        one,
        result(one, {
          ...complete,
          ttlMs: 60_000,
          tools: [{ name: `v${lists}`, inputSchema: { type: 'object' } }],
        }),
      )
    }),
  )
  const { client } = watch(t, { transport: http(url), era: 'modern', backoff: { base: 1, cap: 1 } })
  const news = heard<object>()
  client.onNotification(toolsChanged, news.add)
  const version = async (): Promise<string | undefined> => (await client.listTools()).tools[0]?.name
  const first = await streams.next()
  assert.is(await version(), 'v1')
  assert.is(await version(), 'v1')
  first.tell(toolsChanged)
  await news.next()
  assert.is(await version(), 'v2')
  first.response.destroy()
  await streams.next()
  assert.is(await version(), 'v3')
  assert.is((await client.listTools({ fresh: true })).tools[0]?.name, 'v4')
})

test.run()
