import * as assert from 'uvu/assert'
import { buildRequest } from 'caduceus/protocol'
import { heard } from '../../../support/heard.js'
import { suite } from '../../../support/suite.js'
import { lost } from '../../_answers.js'
import { json, polite, result, type Seen, status, stream } from '../../_http.js'
import { connect, greetings } from '../../_http-link.js'

const test = suite('a 400 within a session')

const refusal = { code: -32000, message: 'Bad Request: No valid session ID provided' }

/** The requests that asked whether the session is known. */
function checks(seen: readonly Seen[]): readonly string[] {
  return seen.flatMap(({ message }) => (message.method === 'ping' ? [String(message.id)] : []))
}

test('if everything is 400, the session is gone, and one ping asks for all', async (t) => {
  const both = await connect(
    t,
    polite((seen) => json(seen, { jsonrpc: '2.0', id: seen.message.id, error: refusal }, 400)),
  )
  await greetings(both)
  for (const id of [1, 2, 3]) both.link.send(1, buildRequest(id, 'tools/list'))
  const closed = await both.link.news.next(({ type }) => type === 'closed')
  if (closed.type !== 'closed') throw new Error('expected the end')
  const { error, fatal } = closed.end
  assert.equal([error?.code, error?.data, fatal], ['SESSION_NOT_FOUND', { status: 400 }, false])
  assert.equal(checks(both.server.seen.all), ['session-check-1'])
})

test('a refusal that comes after that of the ping asks no second one', async (t) => {
  const late = heard<Seen>()
  const refuse = (seen: Seen) => json(seen, { jsonrpc: '2.0', id: seen.message.id, error: refusal }, 400)
  const both = await connect(
    t,
    polite((seen) => (Number(seen.message.id) > 1 ? late.add(seen) : refuse(seen))),
  )
  await greetings(both)
  for (const id of [2, 3]) both.link.send(1, buildRequest(id, 'tools/list'))
  const held = [await late.next(), await late.next()]
  both.link.send(1, buildRequest(1, 'tools/list'))
  await lost(both.link, 1)
  // the connection ends once all are answered
  for (const one of held) {
    const told = lost(both.link, Number(one.message.id))
    refuse(one)
    await told
  }
  const closed = await both.link.news.next(({ type }) => type === 'closed')
  assert.is(closed.type === 'closed' && closed.end.error?.code, 'SESSION_NOT_FOUND')
  assert.equal(checks(both.server.seen.all), ['session-check-1'])
})

test('if a ping is answered, only that request fails, with its own error', async (t) => {
  const both = await connect(
    t,
    polite((seen) => {
      if (seen.message.method === 'ping') json(seen, result(seen, {}))
      else json(seen, { jsonrpc: '2.0', id: seen.message.id, error: refusal }, 400)
    }),
  )
  await greetings(both)
  both.link.send(1, buildRequest(1, 'tools/list'))
  assert.equal(await both.link.message(), { jsonrpc: '2.0', id: 1, error: refusal })
  both.link.send(1, buildRequest(2, 'tools/list'))
  assert.is((await both.link.message()).id, 2)
  assert.equal(checks(both.server.seen.all), ['session-check-1', 'session-check-2'])
})

test('a 400 to the GET stream ends an idle session that is gone', async (t) => {
  let known = true
  const both = await connect(t, (seen) => {
    if (seen.method === 'POST' && known) return polite()(seen)
    if (!known) return status(seen, 400)
    known = false
    stream(seen).end('retry: 1\nid: 1\ndata: \n\n')
  })
  await greetings(both)
  const closed = await both.link.news.next(({ type }) => type === 'closed')
  assert.is(closed.type === 'closed' && closed.end.error?.code, 'SESSION_NOT_FOUND')
})

test.run()
