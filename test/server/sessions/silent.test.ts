import * as assert from 'uvu/assert'
import { createFakeClock } from 'caduceus/runtime'
import { suite, type TestContext } from '../../support/suite.js'
import { initialize, RawClient } from '../_client.js'
import { count, startTestServer } from '../_servers.js'

const test = suite('sessions whose clients say nothing')

type Started = Awaited<ReturnType<typeof startTestServer>>

/** What `initialize` is answered, and a client of the session that it has opened. */
async function opened(t: TestContext, server: Started): Promise<{ status: number; client: RawClient }> {
  const client = new RawClient(t, server.url)
  const { status, headers } = await client.post(initialize())
  client.sessionId = String(headers['mcp-session-id'])
  return { status, client }
}

test('what a session keeps of its client has a bound', async (t) => {
  const server = await startTestServer(t, [count])
  const client = new RawClient(t, server.url)
  const { status, messages } = await client.post(initialize('x'.repeat(70_000)))
  const [answer] = messages
  assert.equal([status, answer?.error?.code], [200, -32602])
  assert.match(String(answer?.error?.message), '65536 characters at most')
  assert.is((await client.post(initialize('x'.repeat(60_000)))).messages[0]?.error, undefined)
})

test('a full server evicts the longest silent session to make room', async (t) => {
  const server = await startTestServer(t, [count], { limits: { sessions: 3 } })
  const used = await new RawClient(t, server.url).open()
  assert.is(await used.text('count'), '1')
  const silent = []
  for (let i = 0; i < 10; i += 1) silent.push(await opened(t, server))
  assert.equal(new Set(silent.map(({ status }) => status)), new Set([200]))
  assert.is((await server.sessions()).length, 3)
  const heard = []
  for (const { client } of silent) heard.push((await client.tell('notifications/initialized')).status)
  assert.equal(heard, [...Array.from({ length: 8 }, () => 404), 202, 202])
  // all of them are used now
  assert.is((await opened(t, server)).status, 503)
  assert.is(await used.text('count'), '2')
})

test('many who come at once to a full server each take the place of another one', async (t) => {
  const server = await startTestServer(t, [count], { limits: { sessions: 20 } })
  const headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }
  const come = async (): Promise<number> => {
    const response = await fetch(String(server.url), {
      method: 'POST',
      headers,
      body: JSON.stringify(initialize()),
    })
    await response.text()
    return response.status
  }
  // on connections that are there already they come at once
  for (let times = 0; times < 5; times += 1) {
    const all = await Promise.all(Array.from({ length: 20 }, come))
    assert.equal(new Set(all), new Set([200]))
  }
})

test('a client has 30 s for its first message, then the idle time', async (t) => {
  const clock = createFakeClock()
  const server = await startTestServer(t, [count], { clock, timeouts: { idle: 600_000 } })
  const [silent, spoken, reading] = [
    await opened(t, server),
    await opened(t, server),
    await opened(t, server),
  ]
  await spoken.client.tell('notifications/initialized')
  const stream = await reading.client.listen()
  await clock.advance(29_999)
  assert.is((await server.sessions()).length, 3)
  await clock.advance(1)
  assert.is((await server.sessions()).length, 2)
  assert.is((await silent.client.tell('notifications/initialized')).status, 404)
  stream.close()
  await clock.advance(500_000)
  assert.is((await spoken.client.tell('notifications/cancelled', { requestId: 1 })).status, 202)
})

test.run()
