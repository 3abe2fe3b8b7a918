// second tier: time
import * as assert from 'uvu/assert'
import { ClientError } from 'caduceus/client'
import { McpError } from 'caduceus/protocol'
import { suite } from '../support/suite.js'
import { reach, ways } from './_sizes.js'

const test = suite('sizes: every transport', { timeout: 30_000 })
const fiveMiB = 5 * 1024 * 1024
const limit = 100_000

for (const way of ways) {
  test(`${way.name}: several 5 MiB requests and answers arrive`, async (t) => {
    const client = await reach(t, way)
    const text = 'x'.repeat(fiveMiB)
    const measured = [1, 2, 3].map(() => client.callTool('measure', { text }))
    assert.equal(
      (await Promise.all(measured)).map((result) => result.text),
      [1, 2, 3].map(() => String(fiveMiB)),
    )
    const made = await Promise.all([1, 2, 3].map(() => client.callTool('make', { length: fiveMiB })))
    for (const result of made) assert.is(result.text, 'é'.repeat(fiveMiB / 2))
  })

  test(`${way.name}: an answer too big for the client fails its call alone, for good`, async (t) => {
    const client = await reach(t, way, { client: limit })
    const [long, other] = await Promise.allSettled([
      client.callTool('make', { length: 2 * limit }, { retry: 'safe' }),
      client.callTool('later'),
    ])
    assert.ok(long.status === 'rejected' && long.reason instanceof ClientError, String(long.status))
    const { code, retryable, data, message } = long.reason
    assert.equal([retryable, (data as { sent: boolean }).sent], [false, true], `${code} ${message}`)
    assert.match(message, `${limit} bytes (limits.messageBytes)`)
    assert.ok(other.status === 'fulfilled', String(other.status === 'rejected' && other.reason))
    assert.is((await client.callTool('make', { length: 1_000 })).text.length, 500)
  })

  test(`${way.name}: an answer too big for the server fails its call alone, for good`, async (t) => {
    const client = await reach(t, way, { server: limit })
    const [long, other] = await Promise.allSettled([
      client.callTool('make', { length: 2 * limit }, { retry: 'safe' }),
      client.callTool('later'),
    ])
    assert.ok(long.status === 'rejected' && long.reason instanceof McpError, String(long.status))
    assert.is(long.reason.retryable, false)
    assert.match(long.reason.message, `a message may have ${limit} (limits.messageBytes)`)
    assert.ok(other.status === 'fulfilled')
    assert.is((await client.callTool('measure', { text: 'abc' })).text, '3')
  })

  test(`${way.name}: a request too big for the server is refused with a reason`, async (t) => {
    const client = await reach(t, way, { server: limit })
    const waiting = client.callTool('later')
    const refused = client.callTool('measure', { text: 'x'.repeat(2 * limit) }, { retry: 'safe' }).then(
      () => assert.unreachable('it was taken') as never,
      (error: ClientError | McpError) => error,
    )
    const error = await refused
    assert.is(error.retryable, false, String(error))
    // a socket is closed with 1009, which is all that its protocol has
    if (way.name !== 'websocket') {
      assert.match(String(error), 'limits.messageBytes')
      assert.is((await waiting).text, 'late')
    } else await waiting.catch(() => {})
    assert.is((await client.callTool('measure', { text: 'abc' })).text, '3')
  })

  test(`${way.name}: a request too big to send rejects in the caller`, async (t) => {
    const client = await reach(t, way, { client: limit })
    const error = await client.callTool('measure', { text: 'x'.repeat(2 * limit) }, { retry: 'safe' }).then(
      () => assert.unreachable('it was sent') as never,
      (reason: ClientError) => reason,
    )
    assert.equal([error.retryable, (error.data as { sent: boolean }).sent], [false, false], String(error))
    assert.match(error.message, `a message may have ${limit} (limits.messageBytes)`)
    assert.is((await client.callTool('measure', { text: 'abc' })).text, '3')
  })
}

test.run()
