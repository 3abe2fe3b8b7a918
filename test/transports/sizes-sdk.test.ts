// second tier: time
import { fileURLToPath } from 'node:url'
import * as assert from 'uvu/assert'
import { ClientError, startClient } from 'caduceus/client'
import type { McpError } from 'caduceus/protocol'
import { startServer } from 'caduceus/server'
import {
  type ClientTransport,
  http,
  serveHttp,
  serveSse,
  serveWebSocket,
  sse,
  stdio,
} from 'caduceus/transports'
import { type Caller, connectCaller, type Make, type Place, type Way } from '../server/exchanges/_callers.js'
import { suite, type TestContext } from '../support/suite.js'
import { sizes } from './_sizes.js'
import { serveOfficialHttp, serveOfficialSse } from './_sizes-sdk.js'

const test = suite('sizes: the official SDKs', { timeout: 60_000 })
const fiveMiB = 5 * 1024 * 1024
const limit = 100_000
const long = { text: 'x'.repeat(2 * limit) }
const ours = fileURLToPath(new URL('./_sizes-program.js', import.meta.url))
const theirs = fileURLToPath(new URL('./_sizes-sdk-program.js', import.meta.url))
const listeners = { http: serveHttp, sse: serveSse, websocket: serveWebSocket }

/** Our server, for the time of the test. */
async function placeOf(t: TestContext, way: Way, messageBytes?: number): Promise<Place> {
  if (way === 'stdio') return { args: [ours, String(messageBytes ?? 0)] }
  const transport = listeners[way](messageBytes === undefined ? {} : { limits: { messageBytes } })
  const server = await startServer(sizes, { transport, logger: false, signals: false })
  t.after(() => server.stop())
  return { url: String(server.url) }
}

async function theirClient(t: TestContext, make: Make, way: Way, messageBytes?: number): Promise<Caller> {
  return connectCaller(t, make, { way, place: await placeOf(t, way, messageBytes) })
}

for (const make of ['sdk1', 'sdk2'] as const) {
  for (const way of ['stdio', 'http', 'sse', 'websocket'] as const) {
    test(`${make} client over ${way}: several 5 MiB requests and answers arrive`, async (t) => {
      const client = await theirClient(t, make, way)
      const text = 'x'.repeat(fiveMiB)
      const measured = await Promise.all([1, 2, 3].map(() => client.call('measure', { text })))
      assert.equal(
        measured,
        [1, 2, 3].map(() => String(fiveMiB)),
      )
      const made = await Promise.all([1, 2, 3].map(() => client.call('make', { length: fiveMiB })))
      for (const answer of made) assert.ok(answer === 'é'.repeat(fiveMiB / 2))
    })

    test(`${make} client over ${way}: an answer too big to send fails its call alone`, async (t) => {
      const client = await theirClient(t, make, way, limit)
      const waiting = client.call('later')
      const error = await failureOf(client.call('make', { length: 2 * limit }))
      assert.match(error.message, `a message may have ${limit} (limits.messageBytes)`)
      assert.is(await waiting, 'late')
      assert.is(await client.call('measure', { text: 'abc' }), '3')
    })

    // a socket is closed with 1009, and their client has no other
    if (way === 'websocket') continue
    test(`${make} client over ${way}: a request too big fails alone with a reason`, async (t) => {
      const client = await theirClient(t, make, way, limit)
      const waiting = client.call('later')
      const error = await failureOf(client.call('measure', long))
      assert.match(error.message, 'limits.messageBytes')
      if (way === 'sse') assert.match(error.message, '413')
      if (way === 'http') assert.is(statusOf(error), 413)
      assert.is(await waiting, 'late')
      assert.is(await client.call('measure', { text: 'abc' }), '3')
    })
  }
}

/** A way to a server of theirs that takes 5 MiB, and what it says of a request that is beyond the limit that it has by default. */
const servers: readonly {
  readonly name: string
  start(
    t: TestContext,
    big: boolean,
  ): Promise<(options: { limits?: { messageBytes: number } }) => ClientTransport>
  readonly refusal?: RegExp
}[] = [
  ...([1, 2] as const).flatMap((sdk) => [
    {
      name: `sdk${sdk} over stdio`,
      start: async () => (options: object) =>
        stdio({ command: process.execPath, args: [theirs, String(sdk)], ...options }),
    },
    {
      name: `sdk${sdk} over http`,
      refusal: /413.*4194304/,
      async start(t: TestContext, big: boolean) {
        const url = await serveOfficialHttp(t, sdk, big ? 2 * fiveMiB : undefined)
        return (options: object) => http(url, options)
      },
    },
  ]),
  {
    name: 'sdk1 over sse',
    // it refuses 4 MiB by a reset of the connection, more often than not
    async start(t: TestContext) {
      const url = await serveOfficialSse(t)
      return (options: object) => sse(url, options)
    },
  },
]

async function reach(t: TestContext, transport: ClientTransport) {
  const client = startClient({ transport, logger: false })
  t.after(() => client.close())
  await client.ready()
  return client
}

for (const { name, start, refusal } of servers) {
  test(`${name} server: several 5 MiB requests and answers arrive`, async (t) => {
    const client = await reach(t, (await start(t, true))({}))
    const text = 'x'.repeat(fiveMiB)
    const measured = await Promise.all([1, 2, 3].map(() => client.callTool('measure', { text })))
    assert.equal(
      measured.map((result) => result.text),
      [1, 2, 3].map(() => String(fiveMiB)),
    )
    const made = await Promise.all([1, 2, 3].map(() => client.callTool('make', { length: fiveMiB })))
    for (const result of made) assert.ok(result.text === 'é'.repeat(fiveMiB / 2))
  })

  test(`${name} server: an answer too big for our client fails its call alone`, async (t) => {
    const client = await reach(t, (await start(t, true))({ limits: { messageBytes: limit } }))
    const waiting = client.callTool('later')
    const error = await failureOf(client.callTool('make', { length: 2 * limit }, { retry: 'safe' }))
    assert.ok(error instanceof ClientError, String(error))
    assert.equal([error.retryable, (error.data as { sent: boolean }).sent], [false, true], String(error))
    assert.match(error.message, `${limit} bytes (limits.messageBytes)`)
    assert.is((await waiting).text, 'late')
    assert.is((await client.callTool('measure', { text: 'abc' })).text, '3')
  })

  if (refusal !== undefined)
    test(`${name} server: a request too big for it fails alone in its words`, async (t) => {
      const client = await reach(t, (await start(t, false))({}))
      const waiting = client.callTool('later')
      const text = 'x'.repeat(fiveMiB)
      const error = await failureOf(client.callTool('measure', { text }, { retry: 'safe' }))
      assert.is((error as ClientError | McpError).retryable, false, String(error))
      assert.match(error.message, refusal)
      assert.is((await waiting).text, 'late')
      assert.is((await client.callTool('measure', { text: 'abc' })).text, '3')
    })
}

function failureOf(call: Promise<unknown>): Promise<Error> {
  return call.then(
    () => assert.unreachable('it was answered') as never,
    (error: Error) => error,
  )
}

/** SDK 1 has it as the code of the error, SDK 2 by name. */
function statusOf(error: Error): unknown {
  const { code, status } = error as Error & { code?: unknown; status?: unknown }
  return status ?? code
}

test.run()
