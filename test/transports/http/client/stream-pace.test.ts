import * as assert from 'uvu/assert'
import { createFakeClock } from 'caduceus/runtime'
import { http } from 'caduceus/transports'
import { suite } from '../../../support/suite.js'
import { json, listen, polite, result, type Seen, status, stream } from '../../_http.js'
import { greetings } from '../../_http-link.js'
import { startLink } from '../../_link.js'

const test = suite('the pace of the stream for news', { timeout: 15_000 })

const useless: { readonly [What in string]: (seen: Seen) => unknown } = {
  'ends each stream at once, in order': (seen) => stream(seen).end(),
  'ends each stream at once, with a comment only': (seen) => stream(seen).end(': alive\n\n'),
  'asks for no pause, and ends each stream at once': (seen) => stream(seen).end('retry: 0\n\n'),
  'answers with what is no event stream': (seen) => json(seen, {}),
  'answers 409': (seen) => status(seen, 409),
  'answers 429': (seen) => status(seen, 429, { 'retry-after': '0' }),
  'answers 500': (seen) => status(seen, 500),
  'cuts each connection': ({ response }) => response.socket?.destroy(),
  'cuts each stream': (seen) => {
    stream(seen).write(': alive\n\n')
    setImmediate(() => seen.response.socket?.destroy())
  },
}

for (const [what, answer] of Object.entries(useless)) {
  test(`a server that ${what} is asked less and less`, async (t) => {
    const { gets, pause } = await start(t, answer)
    const pauses: number[] = []
    for (let i = 1; i <= 10; i++) {
      await gets(i)
      pauses.push(await pause())
    }
    for (const [i, ms] of pauses.entries()) {
      const ceiling = Math.min(30_000, 2_000 * 2 ** i)
      assert.ok(ms >= ceiling / 2 && ms <= ceiling + step, `pause ${i} of ${pauses.join(', ')}`)
    }
  })
}

for (const code of [429, 503]) {
  test(`Retry-After of a ${code} is honoured up to an hour`, async (t) => {
    const waits = ['120', '1', '99999999', 'soon']
    let count = 0
    const { gets, pause } = await start(t, (seen) =>
      status(seen, code, { 'retry-after': waits[count++ % 4] ?? '' }),
    )
    const pauses: number[] = []
    for (let i = 1; i <= 4; i++) {
      await gets(i)
      pauses.push(await pause(i === 3 ? 10_000 : step))
    }
    const [first = 0, second = 0, third = 0, fourth = 0] = pauses
    assert.ok(first >= 120_000 && first <= 121_000 + step, `${pauses}`)
    assert.ok(second >= 2_000 && second <= 4_000 + step, `${pauses}`)
    assert.ok(third >= 3_600_000 && third <= 3_620_000, `${pauses}`)
    assert.ok(fourth >= 8_000 && fourth <= 16_000 + step, `${pauses}`)
  })
}

test('a server that ends streams after one message is asked again soon, not at once', async (t) => {
  const { gets, pause, link } = await start(t, (seen) => stream(seen).end('data: {"n":1}\n\n'))
  for (let i = 1; i <= 5; i++) {
    await gets(i)
    const ms = await pause()
    assert.ok(ms >= 500 && ms <= 1_000 + step, `${ms} ms`)
    assert.equal(await link.message(), { n: 1 })
  }
})

for (const code of [405, 501]) {
  test(`a server that answers ${code} has no such stream, and is not asked again`, async (t) => {
    const { gets, asked, link, clock } = await start(t, (seen) => status(seen, code))
    await gets(1)
    link.send(1, { jsonrpc: '2.0', id: 1, method: 'ping' })
    await link.message()
    for (let minute = 0; minute < 60; minute++) await clock.advance(60_000)
    link.send(1, { jsonrpc: '2.0', id: 2, method: 'ping' })
    await link.message()
    assert.is(asked(), 1)
    assert.equal(
      link.news.all.filter(({ type }) => type === 'trouble'),
      [],
    )
  })
}

test('after an outage the stream is reopened about a second after an answer', async (t) => {
  const { gets, pause, asked, link, clock, ping } = await start(t, ({ response }) =>
    response.socket?.destroy(),
  )
  for (let i = 1; i <= 6; i++) {
    await gets(i)
    if (i < 6) await pause()
  }
  await ping()
  assert.is(asked(), 6)
  const ms = await pause()
  assert.ok(ms <= 1_000 + step, `${ms} ms, ${link.news.all.length} ${clock.now()}`)
})

test('a server that never gives the stream is not asked with every request', async (t) => {
  const { gets, asked, clock, ping } = await start(t, (seen) => status(seen, 500))
  await gets(1)
  for (let second = 0; second < 120; second++) {
    await ping()
    await clock.advance(1_000)
    for (let i = 0; i < 20; i++) await turn()
  }
  assert.ok(asked() <= 14, `asked ${asked()} times in two minutes`)
})

test('Retry-After of the stream holds despite answered requests', async (t) => {
  const { gets, asked, clock, ping } = await start(t, (seen) => status(seen, 503, { 'retry-after': '60' }))
  await gets(1)
  for (let second = 0; second < 59; second++) {
    await ping()
    await clock.advance(1_000)
  }
  assert.is(asked(), 1)
})

/** Milliseconds of a look at what the clock still waits for. */
const step = 50

/** A session whose server answers every GET in that way. */
async function start(t: Parameters<typeof startLink>[0], answer: (seen: Seen) => unknown) {
  const clock = createFakeClock()
  const server = await listen(t, (seen) => {
    if (seen.method === 'GET') answer(seen)
    else polite((call) => json(call, result(call, {})))(seen)
  })
  const link = await startLink(t, http(server.url, { streamIdleTimeout: Number.POSITIVE_INFINITY }), clock)
  const asked = (): number => server.seen.all.filter(({ method }) => method === 'GET').length
  let pings = 0
  link.open(1)
  await greetings({ server, link })
  // it waits until the stream is there, or is not: from here on, pauses are all that is waited for
  link.send(1, { jsonrpc: '2.0', id: 'first', method: 'ping' })
  await link.news.next((news) => news.type === 'message' && news.text.includes('"first"'))
  return {
    asked,
    link,
    clock,
    /** A request, and its answer. */
    async ping(): Promise<void> {
      pings += 1
      const id = `ping-${pings}`
      link.send(1, { jsonrpc: '2.0', id, method: 'ping' })
      await link.news.next((news) => news.type === 'message' && news.text.includes(`"${id}"`))
      for (let i = 0; i < 20; i++) await turn()
    },
    /** Resolves when the stream has been asked for so many times. */
    async gets(count: number): Promise<void> {
      while (asked() < count) await turn()
    },
    /** Waits until nothing but the pause is left to wait for, and answers how long that is. */
    async pause(by = step): Promise<number> {
      while (clock.pending === 0) await turn()
      const before = asked()
      let ms = 0
      for (; clock.pending > 0 && asked() === before; ms += by) await clock.advance(by)
      return ms
    },
  }
}

function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}

test.run()
