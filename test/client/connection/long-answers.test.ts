import * as assert from 'uvu/assert'
import { type ClientError, startClient } from 'caduceus/client'
import { scriptedServer } from 'caduceus/testing'
import { suite, type TestContext } from '../../support/suite.js'

const test = suite('client: long answers')
const long = 'x'.repeat(300_000)

/** A client with five calls for a long text and one for a short one, before any is answered. */
async function calls(t: TestContext) {
  const server = scriptedServer({ 'tools/call': () => undefined })
  const client = startClient({ transport: server.transport, logger: false })
  t.after(() => client.close())
  await client.ready()
  const order: string[] = []
  const call = (name: string): Promise<unknown> =>
    client.callTool(name).then(
      ({ text }) => order.push(`${name} ${text.length}`),
      (error: unknown) => order.push(`${name} ${(error as ClientError).code}`),
    )
  const names = ['long 1', 'long 2', 'long 3', 'long 4', 'long 5', 'short']
  const all = Promise.all(names.map(call))
  const requests: Awaited<ReturnType<typeof server.next>>[] = []
  for (const _ of names) requests.push(await server.next('tools/call'))
  const answer = (): void => {
    for (const { id, params } of requests)
      server.send({
        jsonrpc: '2.0',
        id,
        result: { content: [{ type: 'text', text: params?.name === 'short' ? 'a' : long }] },
      })
  }
  return { server, client, requests, answer, all, order }
}

test('a short answer does not wait for long ones that came before it', async (t) => {
  const { answer, all, order } = await calls(t)
  answer()
  await all
  assert.is(order.indexOf('short 1'), 0, String(order))
  assert.equal(
    order.filter((each) => each !== 'short 1'),
    [1, 2, 3, 4, 5].map((n) => `long ${n} 300000`),
  )
})

test('long answers that came before the end of the connection are answers', async (t) => {
  const { server, answer, all, order } = await calls(t)
  answer()
  server.drop()
  await all
  assert.equal(order.sort(), [...[1, 2, 3, 4, 5].map((n) => `long ${n} 300000`), 'short 1'])
})

test.slow('of long answers only 64 wait: a server may send more than it is asked for', async (t) => {
  const { server, requests, answer, all, order } = await calls(t)
  const { id } = requests[0] ?? {}
  for (let n = 0; n < 70; n++)
    server.send({ jsonrpc: '2.0', id, result: { content: [{ type: 'text', text: long }] } })
  answer()
  await all
  assert.equal(order.sort(), [...[1, 2, 3, 4, 5].map((n) => `long ${n} 300000`), 'short 1'])
})

test('a long answer that nobody waits for is not read', async (t) => {
  const { server, client, answer, all } = await calls(t)
  // is no JSON, which nobody sees
  server.send(`{"jsonrpc":"2.0","id":"no","result":{"text":"${long}",,,}}`)
  server.send({ jsonrpc: '2.0', id: 77, result: { long } })
  answer()
  await all
  const { unknown, junk } = client.inspect().counts
  assert.equal([unknown, junk], [2, 0])
})

test('of what nobody asked for little is read', async (t) => {
  const { server, client, answer, all } = await calls(t)
  const told: unknown[] = []
  client.onNotification('notifications/message', ({ data }) => void told.push(data))
  const list = (length: number): number[] => new Array(length).fill(0)
  for (const data of [list(19_990), list(20_010), long])
    server.send({ jsonrpc: '2.0', method: 'notifications/message', params: { level: 'info', data } })
  answer()
  await all
  assert.equal(told, [list(19_990), long])
  assert.is(client.inspect().counts.junk, 1)
})

for (const [what, text, problem] of [
  [
    'is another',
    (id: number) => `{"jsonrpc":"2.0","id":${id},"result":{"a":"${long}"},"id":900,"x":1}`,
    /say another id/,
  ],
  [
    'cannot be read',
    (id: number) => `{"jsonrpc":"2.0","id":${id},"result":{"a":"${long}",,}}`,
    /not valid JSON/,
  ],
  [
    'has too much',
    (id: number) => `{"jsonrpc":"2.0","id":${id},"result":{"a":[${'{},'.repeat(250_000)}0]}}`,
    /may have 250000 values/,
  ],
] as const)
  test(`a long answer that ${what} fails its call`, async (t) => {
    const server = scriptedServer({ 'tools/call': ({ id }) => void server.send(text(Number(id))) })
    const client = startClient({ transport: server.transport, logger: false })
    t.after(() => client.close())
    const error = await client.callTool('any').catch((reason: unknown) => reason)
    assert.is((error as ClientError).code, 'INVALID_RESPONSE')
    assert.match((error as ClientError).message, problem)
  })

test('a long message that is no answer keeps its place', async (t) => {
  const server = scriptedServer({ 'tools/call': () => undefined })
  const client = startClient({ transport: server.transport, logger: false })
  t.after(() => client.close())
  const told: unknown[] = []
  const call = client.callTool('any', {}, { onProgress: ({ message }) => void told.push(message?.length) })
  const { id, params } = await server.next('tools/call')
  const progressToken = (params as { _meta: { progressToken: string } })._meta.progressToken
  server.send({
    jsonrpc: '2.0',
    method: 'notifications/progress',
    params: { progressToken, progress: 1, message: long },
  })
  server.send({ jsonrpc: '2.0', id, result: { content: [] } })
  await call
  assert.equal(told, [300_000])
})

test.run()
