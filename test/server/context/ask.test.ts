import * as assert from 'uvu/assert'
import type { AskError } from 'caduceus/server'
import { suite } from '../../support/suite.js'
import type { Wire } from '../_client.js'
import { everything, form, startAsking, textOf } from './_asking.js'

const test = suite('server ask')
test('an elicitation uses the stream of the call, and the tool gets the answer', async (t) => {
  const { call, answer } = await startAsking(t, (ctx) => ctx.elicit('who', form))
  const stream = await call()
  const question = await stream.next()
  assert.equal([question.method, question.params], ['elicitation/create', form])
  const { status } = await answer(question, { action: 'accept', content: { name: 'Ada' } })
  assert.is(status, 202)
  assert.equal(JSON.parse(String(await textOf(stream))), { action: 'accept', content: { name: 'Ada' } })
})

test('a form may have fields of every kind', async (t) => {
  const choice = { const: 'a', title: 'A' }
  const every = {
    message: 'All?',
    requestedSchema: {
      type: 'object' as const,
      properties: {
        mail: { type: 'string' as const, format: 'email' as const, maxLength: 40 },
        day: { type: 'string' as const, format: 'date' as const },
        at: { type: 'string' as const, format: 'date-time' as const, default: '2025-01-01T00:00:00Z' },
        home: { type: 'string' as const, format: 'uri' as const, title: 'Home', description: 'A page.' },
        part: { type: 'number' as const, minimum: 0, maximum: 1 },
        yes: { type: 'boolean' as const, default: true },
        word: { type: 'string' as const, enum: ['a', 'b'], enumNames: ['A', 'B'] },
        one: { type: 'string' as const, oneOf: [choice] },
        some: { type: 'array' as const, items: { anyOf: [choice] }, minItems: 1 },
        many: { type: 'array' as const, items: { type: 'string' as const, enum: ['a'] }, default: ['a'] },
      },
      required: ['mail'],
    },
  }
  const { call, answer } = await startAsking(t, async (ctx) => {
    const { content } = await ctx.elicit('all', every)
    const wrong = await ctx.elicit('again', every).catch(({ message }: AskError) => message)
    return [content, wrong]
  })
  const content = {
    mail: 'a@b.example',
    day: '2025-01-01',
    at: '2025-01-01T00:00:00Z',
    home: 'https://a.example',
    part: 0.5,
    yes: false,
    word: 'a',
    one: 'a',
    some: ['a'],
    many: ['a'],
  }
  const stream = await call()
  const question = await stream.next()
  assert.equal(question.params, every)
  await answer(question, { action: 'accept', content })
  const bad = { mail: 'm'.repeat(41), part: 2, yes: 1, word: 'c', one: 'c', some: [], many: ['c'] }
  await answer(await stream.next(), { action: 'accept', content: bad })
  const [taken, wrong] = JSON.parse(String(await textOf(stream)))
  assert.equal(taken, content)
  for (const field of Object.keys(bad)) assert.match(wrong, new RegExp(`\\b${field}\\b`))
})

test('a URL elicitation reports its completion to the client', async (t) => {
  const { call, answer } = await startAsking(t, async (ctx) => {
    const { action } = await ctx.elicit('pay', {
      mode: 'url',
      message: 'Pay',
      url: 'https://pay.example/1',
      elicitationId: 'e1',
    })
    return [action, ctx.elicitationComplete('e1')]
  })
  const stream = await call()
  const question = await stream.next()
  assert.equal(question.params, {
    mode: 'url',
    message: 'Pay',
    url: 'https://pay.example/1',
    elicitationId: 'e1',
  })
  await answer(question, { action: 'accept' })
  assert.equal(await stream.next(), {
    jsonrpc: '2.0',
    method: 'notifications/elicitation/complete',
    params: { elicitationId: 'e1' },
  })
  assert.is(await textOf(stream), '["accept",true]')
})

test('sampling and roots are asked concurrently, and a key is asked once', async (t) => {
  const message = { role: 'user' as const, content: { type: 'text' as const, text: 'Say hi' } }
  const { call, answer } = await startAsking(t, async (ctx) => {
    const [said, roots, again] = await Promise.all([
      ctx.sample('hi', { messages: [message], maxTokens: 10 }),
      ctx.roots('roots'),
      ctx.roots('roots'),
    ])
    return [said.model, roots, again === roots, (await ctx.roots('roots')).length]
  })
  const stream = await call()
  const questions = [await stream.next(), await stream.next()]
  assert.equal(
    questions.map(({ method }) => method),
    ['sampling/createMessage', 'roots/list'],
  )
  assert.not.equal(questions[0]?.id, questions[1]?.id)
  await answer(questions[1] as Wire, { roots: [{ uri: 'file:///a' }] })
  await answer(questions[0] as Wire, { role: 'assistant', content: { type: 'text', text: 'hi' }, model: 'm' })
  assert.is(await textOf(stream), '["m",[{"uri":"file:///a"}],true,1]')
})

test('ctx.ping pings the client', async (t) => {
  const { call, answer } = await startAsking(t, async (ctx) => {
    await ctx.ping()
    return 'alive'
  })
  const stream = await call()
  const question = await stream.next()
  assert.equal([question.method, question.params], ['ping', undefined])
  await answer(question, {})
  assert.is(await textOf(stream), '"alive"')
})

test('a 2025-06-18 client is asked in its own format', async (t) => {
  const titled = {
    message: 'Which?',
    requestedSchema: {
      type: 'object' as const,
      properties: {
        size: { type: 'string' as const, oneOf: [{ const: 's', title: 'Small' }], default: 's' },
      },
    },
  }
  const { call, answer } = await startAsking(t, (ctx) => ctx.elicit('q', titled), {
    revision: '2025-06-18',
    capabilities: { elicitation: {} },
  })
  const stream = await call()
  const question = await stream.next()
  assert.equal(((question.params ?? {}).requestedSchema as { properties: object }).properties, {
    size: { type: 'string', enum: ['s'], enumNames: ['Small'] },
  })
  await answer(question, { action: 'decline' })
  assert.is(await textOf(stream), '{"action":"decline"}')
})

const bad: [string, object, RegExp][] = [
  ['an error', { error: { code: -1, message: 'no way' } }, /answered with an error \(-1\): no way/],
  ['no action', { result: {} }, /params|action/],
  [
    'what does not fit the form',
    { result: { action: 'accept', content: { name: '', age: 1.5 } } },
    /name.*age|age.*name/,
  ],
]

for (const [what, outcome, message] of bad) {
  test(`an answer of ${what} rejects in the tool, for the model`, async (t) => {
    const { call, client } = await startAsking(t, (ctx) => ctx.elicit('who', form))
    const stream = await call()
    const { id } = await stream.next()
    await client.post({ jsonrpc: '2.0', id, ...outcome })
    const { result } = await stream.next()
    assert.is(result?.isError, true)
    assert.match(String(result?.content?.[0]?.text), message)
  })
}

test('outside of tools a question without an answer is an error with its code', async (t) => {
  const { client } = await startAsking(t, (ctx) => ctx.roots('q'), { capabilities: {} })
  const { error } = await client.ask('prompts/get', { name: 'ask' })
  assert.equal([error?.code, error?.data], [-32603, { code: 'MISSING_CAPABILITY' }])
})

test('a question has a deadline; then it is cancelled and a late answer dropped', async (t) => {
  const { call, answer, client } = await startAsking(t, (ctx) => ctx.roots('q'), {
    timeouts: { question: 20 },
  })
  const stream = await call()
  const question = await stream.next()
  const { method, params } = await stream.next()
  assert.equal([method, params?.requestId], ['notifications/cancelled', question.id])
  assert.match(String(await textOf(stream)), /roots\/list: no answer of the client within 20 ms/)
  assert.is((await answer(question, { roots: [] })).status, 202)
  assert.equal((await client.ask('ping')).result, {})
})

test('a failed question may be repeated under its key', async (t) => {
  const { call, answer } = await startAsking(t, async (ctx) => {
    await ctx.roots('q', { timeout: 10 }).catch(() => {})
    return ctx.roots('q')
  })
  const stream = await call()
  const first = await stream.next()
  await stream.next()
  const second = await stream.next()
  assert.not.equal(first.id, second.id)
  await answer(second, { roots: [] })
  assert.is(await textOf(stream), '[]')
})

test('a cancelled call cancels its questions', async (t) => {
  const { call, client } = await startAsking(t, (ctx) => ctx.roots('q'))
  const stream = await call()
  const question = await stream.next()
  await client.tell('notifications/cancelled', { requestId: 1 })
  const { method, params } = await stream.next()
  assert.equal([method, params?.requestId], ['notifications/cancelled', question.id])
  await stream.ended
})

test('a dropped stream does not cancel a question', async (t) => {
  let told = (_: unknown): void => {}
  const heard = new Promise((resolve) => {
    told = resolve
  })
  const { call, answer } = await startAsking(t, async (ctx) => told(await ctx.roots('q')))
  const stream = await call()
  const question = await stream.next()
  stream.close()
  await stream.ended
  await answer(question, { roots: [{ uri: 'file:///a' }] })
  assert.equal(await heard, [{ uri: 'file:///a' }])
})

test('the end of a session ends its asking call', async (t) => {
  const { call, client } = await startAsking(t, (ctx) => ctx.roots('q'))
  const stream = await call()
  await stream.next()
  assert.is((await client.send('DELETE', undefined, client.headers())).status, 204)
  assert.is((await stream.next()).error?.code, -32603)
})

test('only ping may be sent before initialized', async (t) => {
  const { client, call } = await startAsking(t, async (ctx) => {
    const code = await ctx.roots('q').catch(({ code }: AskError) => code)
    return [code, await ctx.ping()]
  })
  client.sessionId = undefined
  const opened = await client.post({
    jsonrpc: '2.0',
    id: 0,
    method: 'initialize',
    params: {
      protocolVersion: '2025-11-25',
      capabilities: everything,
      clientInfo: { name: 'x', version: '1' },
    },
  })
  client.sessionId = String(opened.headers['mcp-session-id'])
  const stream = await call()
  const question = await stream.next()
  assert.is(question.method, 'ping')
  await client.post({ jsonrpc: '2.0', id: question.id, result: {} })
  assert.is(await textOf(stream), '["NOT_INITIALIZED",null]')
})

test.run()
