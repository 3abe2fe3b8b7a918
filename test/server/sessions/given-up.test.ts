import { startClient } from 'caduceus/client'
import { defineServer, defineTool, startServer } from 'caduceus/server'
import { http, serveHttp, serveWebSocket, websocket } from 'caduceus/transports'
import * as assert from 'uvu/assert'
import { suite, type TestContext } from '../../support/suite.js'

const test = suite('requests that wait while handlers take their time')
const ways = {
  'HTTP, with a session': { serve: serveHttp, via: http, era: 'handshake' },
  'HTTP, without': { serve: serveHttp, via: http, era: 'modern' },
  WebSocket: { serve: serveWebSocket, via: websocket, era: 'handshake' },
} as const
type Way = (typeof ways)[keyof typeof ways]
const many = 24
/** They would take some 400 ms: more than a machine that is busy otherwise needs to bring an answer. */
const givenUp = 96

for (const [name, way] of Object.entries(ways)) {
  test(`${name}: of those given up few are begun`, async (t) => {
    const { client, begun } = await start(t, way)
    const giving = new AbortController()
    const first = client.callTool('work')
    const others = Array.from({ length: givenUp }, () =>
      client.callTool('work', {}, { signal: giving.signal }),
    )
    const outcomes = Promise.allSettled(others)
    await first
    giving.abort()
    const served = (await outcomes).filter(({ status }) => status === 'fulfilled').length
    assert.is((await client.callTool('work')).text, 'done')
    assert.ok(
      begun() - served < givenUp / 2,
      `${begun()} were begun, ${served} of those given up were served`,
    )
  })

  test(`${name}: one that would wait too long is refused, and others are served`, async (t) => {
    const { client, begun } = await start(t, way, 40)
    const outcomes: string[] = []
    const lane = async (): Promise<void> => {
      for (let round = 0; round < 3; round += 1)
        outcomes.push(await client.callTool('work').then(({ text }) => text, String))
    }
    await Promise.all(Array.from({ length: many }, lane))
    const served = outcomes.filter((each) => each === 'done').length
    const refused = outcomes.filter((each) => /timeouts\.waiting/.test(each)).length
    assert.is(
      served + refused,
      3 * many,
      outcomes.find((each) => each !== 'served'),
    )
    assert.ok(refused > 0 && served > 3, `${served} served, ${refused} refused`)
    assert.is(begun(), served)
    assert.is((await client.callTool('work')).text, 'done', 'when it is quiet again')
  })
}

/** A server whose tool takes all the time of the event loop for 4 ms, and a client of it. */
async function start(t: TestContext, { serve, via, era }: Way, waiting?: number) {
  let begun = 0
  const work = defineTool({
    name: 'work',
    run() {
      begun += 1
      for (const until = performance.now() + 4; performance.now() < until; );
      return 'done'
    },
  })
  const server = await startServer(defineServer({ name: 'busy', version: '1.0.0', tools: [work] }), {
    transport: serve(),
    logger: false,
    ...(waiting !== undefined && { timeouts: { waiting } }),
  })
  t.after(() => server.stop())
  const client = startClient({
    transport: via(String(server.url)),
    era,
    logger: false,
  })
  t.after(() => client.close())
  await client.ready()
  return { client, begun: () => begun }
}

test.run()
