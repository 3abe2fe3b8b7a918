// second tier: time
// shares a process
import * as assert from 'uvu/assert'
import type { StartClientOptions } from 'caduceus/client'
import { McpError } from 'caduceus/protocol'
import { createFakeClock } from 'caduceus/runtime'
import { http } from 'caduceus/transports'
import { heard } from '../../support/heard.js'
import { suite, type TestContext } from '../../support/suite.js'
import { end, json, listen, result, type Seen } from '../../transports/_http.js'
import { complete, stateless, tool } from '../_modern.js'
import { rejection, watch } from '../_raw.js'

const test = suite('calls that are answered with questions')

const form = {
  method: 'elicitation/create',
  params: {
    message: 'Sure?',
    requestedSchema: { type: 'object', properties: { sure: { type: 'boolean', default: true } } },
  },
}
const page = {
  method: 'elicitation/create',
  params: { mode: 'url', message: 'go', url: 'https://example.com/' },
}
const model = {
  method: 'sampling/createMessage',
  params: { messages: [{ role: 'user', content: { type: 'text', text: 'hi' } }], maxTokens: 5 },
}
const said = { role: 'assistant', content: { type: 'text', text: 'hello' }, model: 'm' } as const

/** A server that answers calls with these rounds, one after the other, and then with a result. */
async function asking(t: TestContext, rounds: readonly object[], options: Partial<StartClientOptions> = {}) {
  let round = 0
  const { url, seen } = await listen(
    t,
    stateless((one: Seen) => {
      const asked = rounds[Math.min(round, rounds.length)]
      round += 1
      if (asked === undefined) tool(one, 'done')
      else json(one, result(one, { resultType: 'input_required', ...asked }))
    }),
  )
  const { client } = watch(t, { transport: http(url), era: 'modern', ...options })
  const calls = (): Seen[] => seen.all.filter(({ message }) => message.method !== 'server/discover')
  return { client, calls, seen }
}

const everything: Partial<StartClientOptions> = {
  onElicit: { form: () => ({ action: 'accept' }), url: () => ({ action: 'decline' }) },
  onSample: () => said,
  roots: [{ uri: 'file:///r' }],
}

test('the handlers answer all questions of a round; the retry has a new request id', async (t) => {
  const inputRequests = { a: form, b: page, c: model, d: { method: 'roots/list' } }
  const { client, calls } = await asking(t, [{ inputRequests, requestState: 'sealed ✓' }], everything)
  assert.is((await client.callTool('any', { x: 1 })).text, 'done')
  const [first, second] = calls()
  assert.equal(second?.message.params?.inputResponses, {
    a: { action: 'accept', content: { sure: true } },
    b: { action: 'decline' },
    c: said,
    d: { roots: [{ uri: 'file:///r' }] },
  })
  assert.is(second?.message.params?.requestState, 'sealed ✓')
  assert.equal(second?.message.params?.arguments, { x: 1 })
  assert.is.not(first?.message.id, second?.message.id)
})

test('each round answers the latest questions only, and brings the latest state only', async (t) => {
  const { client, calls } = await asking(
    t,
    [{ inputRequests: { a: form }, requestState: 'one' }, { inputRequests: { b: page } }],
    everything,
  )
  await client.callTool('any')
  const last = calls()[2]?.message.params
  assert.equal(last?.inputResponses, { b: { action: 'decline' } })
  assert.not.ok(last !== undefined && 'requestState' in last)
})

test('a server that asks only for its state gets it without a question', async (t) => {
  const { client, calls } = await asking(t, [{ requestState: 'again' }])
  assert.is((await client.callTool('any')).text, 'done')
  const params = calls()[1]?.message.params
  assert.is(params?.requestState, 'again')
  assert.not.ok(params !== undefined && 'inputResponses' in params)
})

test('answers are sent at once; a bare requestState is sent back after a pause', async (t) => {
  const clock = createFakeClock()
  const rounds = [{ inputRequests: { a: form } }, { requestState: 'again' }]
  const { client, calls } = await asking(t, rounds, { ...everything, clock })
  const call = client.callTool('any')
  // the clock stands still
  while (calls().length < 2) await new Promise(setImmediate)
  while (calls().length < 3) await clock.advance(10)
  assert.ok(clock.now() >= 250)
  assert.is((await call).text, 'done')
})

test('reading a resource and getting a prompt may ask questions, too', async (t) => {
  let asked = 0
  const { url } = await listen(
    t,
    stateless((one) => {
      asked += 1
      const { method, params } = one.message
      if (params?.inputResponses === undefined)
        json(one, result(one, { resultType: 'input_required', inputRequests: { a: form } }))
      else if (method === 'resources/read')
        json(one, result(one, { ...complete, ttlMs: 60_000, contents: [{ uri: 'a:1', text: 'content' }] }))
      else
        json(
          one,
          result(one, {
            resultType: 'complete',
            messages: [{ role: 'user', content: { type: 'text', text: 'p' } }],
          }),
        )
    }),
  )
  const { client } = watch(t, { transport: http(url), era: 'modern', ...everything })
  assert.is((await client.readResource('a:1')).text, 'content')
  assert.is((await client.readResource('a:1')).text, 'content')
  assert.is(asked, 4, 'what was answered after questions is not kept')
  assert.is((await client.getPrompt('p')).text, 'p')
})

test('a server that keeps asking fails the call after ten rounds', async (t) => {
  const { client, calls } = await asking(
    t,
    Array.from({ length: 20 }, () => ({ inputRequests: { a: form } })),
    everything,
  )
  const error = await rejection(client.callTool('any'))
  assert.is(error.code, 'TOO_MANY_ROUNDS')
  assert.is(calls().length, 11)
})

test('a round of more than 100 questions is INVALID_RESPONSE and reaches no handler', async (t) => {
  let heard = 0
  const ask = (count: number) =>
    Object.fromEntries(Array.from({ length: count }, (_, at) => [`q${at}`, { method: 'roots/list' }]))
  const roots = () => {
    heard += 1
    return []
  }
  const { client, calls } = await asking(t, [{ inputRequests: ask(101) }, { inputRequests: ask(100) }], {
    roots,
  })
  assert.is((await rejection(client.callTool('any'))).code, 'INVALID_RESPONSE')
  assert.equal([heard, calls().length], [0, 1])
  assert.is((await client.callTool('any')).text, 'done')
  assert.is(heard, 100)
})

test('an undeclared question fails the call as INVALID_RESPONSE, without a retry', async (t) => {
  const { client, calls } = await asking(t, [{ inputRequests: { a: form, b: page } }], {
    onElicit: () => ({ action: 'accept' }),
  })
  const error = await rejection(client.callTool('any'))
  assert.is(error.code, 'INVALID_RESPONSE')
  assert.is(calls().length, 1)
})

test('a refusing handler fails the call and aborts the other questions', async (t) => {
  const aborted = heard<unknown>()
  const { client, calls } = await asking(t, [{ inputRequests: { a: form, b: model } }], {
    onElicit: (_, { signal }) =>
      new Promise((_resolve, reject) =>
        signal.addEventListener('abort', () => {
          aborted.add(signal.reason)
          reject(signal.reason)
        }),
      ),
    onSample: () => {
      throw new McpError(-1, 'User rejected sampling request')
    },
  })
  const error = await rejection(client.callTool('any'))
  assert.is(error.code, 'UNANSWERED')
  assert.match(error.message, 'User rejected')
  await aborted.next()
  assert.is(calls().length, 1)
})

test('aborting a call while the user is asked aborts the question', async (t) => {
  const [shown, aborted] = [heard<void>(), heard<unknown>()]
  const { client } = await asking(t, [{ inputRequests: { a: form } }], {
    onElicit: (_, { signal }) => {
      shown.add()
      return new Promise(() => signal.addEventListener('abort', () => aborted.add(signal.reason)))
    },
  })
  const controller = new AbortController()
  const call = rejection(client.callTool('any', {}, { signal: controller.signal }))
  await shown.next()
  controller.abort()
  assert.is((await call).code, 'CANCELLED')
  await aborted.next()
})

test('the timeout of a call covers all its rounds and handlers', async (t) => {
  const { client } = await asking(t, [{ inputRequests: { a: form } }], {
    onElicit: () => new Promise(() => {}),
  })
  const error = await rejection(client.callTool('any', {}, { timeout: 100 }))
  assert.is(error.code, 'TIMEOUT')
})

test('a call that the server has answered with questions counts as sent', async (t) => {
  const { server, url } = await listen(
    t,
    stateless((one) => json(one, result(one, { resultType: 'input_required', inputRequests: { a: form } }))),
  )
  const { client } = watch(t, {
    transport: http(url),
    era: 'modern',
    async onElicit() {
      await end(server)
      // By the second one the client knows that there is no connection any more.
      for (const _ of [1, 2]) await client.ping({ timeout: 300 }).catch(() => {})
      return { action: 'accept' }
    },
  })
  const error = await rejection(client.callTool('any', {}, { timeout: 2_000 }))
  assert.equal([error.code, (error.data as { sent: boolean }).sent], ['TIMEOUT', true])
})

test.run()
