import * as assert from 'uvu/assert'
import { startClient } from 'caduceus/client'
import { http, sse } from 'caduceus/transports'
import { suite } from '../../support/suite.js'
import { json, listen, polite, result, type Seen, status, stream } from '../../transports/_http.js'

const test = suite('the end of the handshake, lost on its way', { timeout: 15_000 })
const backoff = { base: 1, cap: 1 }

for (const [cut, greetings] of [
  [2, ['initialize', 'notifications/initialized', 'notifications/initialized', 'notifications/initialized']],
  [
    3,
    [
      ...Array(2)
        .fill(['initialize', ...Array(3).fill('notifications/initialized')])
        .flat(),
    ].slice(0, 6),
  ],
] as const)
  test(`http: initialized is repeated after ${cut} cuts, then a new session begins`, async (t) => {
    let cuts = 0
    const answer = polite((seen) => json(seen, result(seen, {})))
    const server = await listen(t, (seen) => {
      if (seen.message.method !== 'notifications/initialized' || cuts === cut) return answer(seen)
      cuts += 1
      seen.response.destroy()
    })
    await using client = startClient({ transport: http(server.url), backoff, logger: false })
    await client.ping()
    const said = server.seen.all.flatMap(({ message: { method } }) => (method === undefined ? [] : [method]))
    assert.equal(said, [...greetings, 'ping'])
  })

test.slow('http: a refused or unacknowledged initialized is not repeated', async (t) => {
  for (const answerNotice of [(seen: Seen) => status(seen, 400), () => {}]) {
    const answer = polite((seen) => json(seen, result(seen, {})))
    const server = await listen(t, (seen) =>
      seen.message.method === 'notifications/initialized' ? answerNotice(seen) : answer(seen),
    )
    await using client = startClient({ transport: http(server.url), backoff, logger: false })
    await client.ping()
    assert.is(server.seen.all.filter(({ message }) => message.method === 'initialize').length, 1)
  }
})

test('sse: a client whose notifications/initialized was cut off begins again', async (t) => {
  let cuts = 0
  const streams: ReturnType<typeof stream>[] = []
  const server = await listen(t, (seen) => {
    const { message } = seen
    if (seen.method === 'GET') {
      streams.push(stream(seen))
      return streams.at(-1)?.write('event: endpoint\ndata: /post\n\n')
    }
    if (message.method === 'notifications/initialized' && cuts++ < 1) return seen.response.destroy()
    status(seen, 202)
    const say = (value: object): unknown =>
      streams.at(-1)?.write(`event: message\ndata: ${JSON.stringify(value)}\n\n`)
    const serverInfo = { name: 'raw', version: '1' }
    if (message.method === 'initialize')
      say(result(seen, { protocolVersion: '2024-11-05', capabilities: {}, serverInfo }))
    else if (message.id !== undefined) say(result(seen, {}))
  })
  await using client = startClient({ transport: sse(server.url), backoff, logger: false })
  await client.ready()
  while (cuts < 2) await client.ping().catch(() => {})
  await client.ping()
  assert.is(streams.length, 2)
})

test.run()
