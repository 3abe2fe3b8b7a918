import * as assert from 'uvu/assert'
import { http } from 'caduceus/transports'
import { heard } from '../support/heard.js'
import { suite } from '../support/suite.js'
import { end, greet, json, listen, polite, result, type Seen, status, stream } from '../transports/_http.js'
import { rejection, watch } from './_raw.js'

const test = suite('a server over http that dies')

const progress = { jsonrpc: '2.0', method: 'notifications/message', params: { level: 'info', data: 'begun' } }

/** Answers with the beginning of a stream that can be gone on from. */
function begins(seen: Seen): void {
  stream(seen).write(`id: 1\ndata: ${JSON.stringify(progress)}\n\n`)
}

test('a dying server rejects calls in flight at once and repeats repeatable ones', async (t) => {
  const old = await listen(t, polite(begins))
  const begun = heard<unknown>()
  const { client } = watch(t, { transport: http(old.url, { stream: false }), backoff: { base: 20, cap: 20 } })
  await client.ready()
  client.onNotification('notifications/message', begun.add)
  const once = rejection(client.callTool('slow'))
  const twice = client.callTool('slow', {}, { retry: 'safe' })
  await begun.next()
  await begun.next()
  const port = Number(new URL(old.url).port)
  await end(old.server)
  const error = await once
  assert.equal(
    [error.code, error.retryable, error.data],
    ['CONNECTION_LOST', true, { gone: true, sent: true }],
  )
  const forgetful = polite((seen) =>
    seen.headers['mcp-session-id'] === 'session-2'
      ? json(seen, result(seen, { content: [{ type: 'text', text: 'again' }] }))
      : status(seen, 404),
  )
  await listen(
    t,
    (seen) => (seen.message.method === 'initialize' ? greet(seen, 'session-2') : forgetful(seen)),
    port,
  )
  assert.is((await twice).text, 'again')
})

test('a read-only call is retried on the next server; questions of the dead one end', async (t) => {
  const tools = [{ name: 'look', inputSchema: { type: 'object' }, annotations: { readOnlyHint: true } }]
  const params = { message: 'Sure?', requestedSchema: { type: 'object', properties: {} } }
  const asks = { jsonrpc: '2.0', id: 'q', method: 'elicitation/create', params }
  const old = await listen(
    t,
    polite((seen) => {
      if (seen.message.method === 'tools/list') json(seen, result(seen, { tools }))
      else stream(seen).write(`id: 1\ndata: ${JSON.stringify(asks)}\n\n`)
    }),
  )
  const asked = heard<AbortSignal>()
  const { client, phase } = watch(t, {
    transport: http(old.url, { stream: false }),
    backoff: { base: 20, cap: 20 },
    onElicit: (_params, { signal }) => {
      asked.add(signal)
      return new Promise(() => {})
    },
  })
  await client.listTools()
  const call = client.callTool('look')
  assert.is((await asked.next()).aborted, false)
  await end(old.server)
  await phase('disconnected')
  assert.is(asked.all[0]?.aborted, true)
  const text = 'seen'
  const answer = polite((seen) => json(seen, result(seen, { content: [{ type: 'text', text }] })))
  await listen(t, answer, Number(new URL(old.url).port))
  assert.is((await call).text, text)
  assert.is(client.inspect().counts.repeated, 1)
})

test('a restarted server is recognised when it refuses to resume the stream', async (t) => {
  let isOther = false
  const server = await listen(t, (seen) => {
    if (!isOther) return polite(begins)(seen)
    if (seen.message.method === 'initialize') return greet(seen, 'session-2')
    return seen.headers['mcp-session-id'] === 'session-2' ? polite(begins)(seen) : status(seen, 404)
  })
  const begun = heard<unknown>()
  const { client } = watch(t, { transport: http(server.url, { stream: false }) })
  await client.ready()
  client.onNotification('notifications/message', begun.add)
  const call = rejection(client.callTool('slow'))
  await begun.next()
  isOther = true
  server.seen.all.find(({ message }) => message.method === 'tools/call')?.response.destroy()
  const error = await call
  assert.equal(
    [error.code, error.retryable, error.data],
    ['SESSION_NOT_FOUND', true, { status: 404, sent: true }],
  )
})

test.run()
