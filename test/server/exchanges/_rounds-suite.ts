import * as assert from 'uvu/assert'
import { type Suite, suite } from '../../support/suite.js'
import { type Answers, able, converse, fill, requestsOf, stateOf, type Way } from './_rounds.js'
import { ask } from './_rounds-definition.js'

const tool = (name: string, args: object = {}) => ({ name, arguments: args })

/** What holds for a call of several rounds, in whatever way its handler is run. */
export function suiteOfRounds(way: Way): Suite {
  const test = suite(`rounds of calls: ${way.name}`, { timeout: 15_000 })
  test('a handler of three rounds completes, with each finished step run once', async (t) => {
    const send = await way.start(t)
    const requests = [
      ['tools/call', tool('three')],
      ['prompts/get', tool('three', { about: 'x' })],
      ['resources/read', { uri: 'note://three' }],
      ['resources/read', { uri: 'note://of/me' }],
    ] as const
    for (const [method, params] of requests) {
      const { text, rounds } = await converse(send, method, params)
      const [contents, isSame, paid, told] = JSON.parse(text)
      assert.equal(contents, [{ name: 'my name' }, { age: 'my age' }, { city: 'my city' }])
      const asked = rounds.map((round) =>
        Object.entries(round).map(([key, { params }]) => [key, params.message]),
      )
      assert.equal(asked, [
        [['name', 'name?']],
        [['age', `age? ${paid}`]],
        [['city', `city? ${paid} ${told}`]],
      ])
      assert.is(isSame, true)
    }
  })

  test('questions of one turn travel together, without envelope fields', async (t) => {
    const send = await way.start(t)
    const { text, rounds } = await converse(send, 'tools/call', tool('together'))
    const thought = { type: 'text', text: 'thought' }
    const who = { action: 'accept', content: { name: 'my name' } }
    assert.equal(JSON.parse(text), [who, thought, [{ uri: 'file:///a' }], 'accept'])
    assert.equal(
      rounds.map((round) => Object.entries(round).map(([key, { method }]) => [key, method])),
      [
        [
          ['who', 'elicitation/create'],
          ['think', 'sampling/createMessage'],
          ['places', 'roots/list'],
          ['later', 'elicitation/create'],
        ],
      ],
    )
    for (const request of Object.values(rounds[0] ?? {})) {
      assert.not.ok('_meta' in request.params)
      assert.equal(Object.keys(request).sort(), ['method', 'params'])
    }
  })

  test('a result that asks names the server and has no cache hints', async (t) => {
    const send = await way.start(t)
    const asked = (await send('resources/read', { uri: 'note://three' }, { clientCapabilities: able })).at(-1)
    const { result = {} } = asked ?? {}
    assert.equal(Object.keys(result).sort(), ['_meta', 'inputRequests', 'requestState', 'resultType'])
    assert.ok((result._meta as object)['io.modelcontextprotocol/serverInfo' as keyof object])
    const { wire } = await converse(send, 'resources/read', { uri: 'note://three' })
    assert.equal(
      [wire.result?.resultType, wire.result?.ttlMs, wire.result?.cacheScope],
      ['complete', 0, 'private'],
    )
  })

  test('missing answers are asked again, unrequested ones are ignored', async (t) => {
    const send = await way.start(t)
    const answers: Answers = (requests, round) => {
      if (round === 1) return { other: { x: 1 }, toString: {} }
      const [key] = Object.keys(requests)
      const { [String(key)]: answer } = fill(requests, round)
      return { [String(key)]: answer, other: { action: 'maybe' } }
    }
    const { text, rounds } = await converse(send, 'tools/call', tool('together'), { answers })
    assert.is(JSON.parse(text)[3], 'accept')
    assert.equal(
      rounds.map((round) => Object.keys(round).sort()),
      [
        ['later', 'places', 'think', 'who'],
        ['later', 'places', 'think', 'who'],
        ['later', 'places', 'think'],
        ['later', 'places'],
        ['later'],
      ],
    )
  })

  test('a handler learns that the user declined', async (t) => {
    const send = await way.start(t)
    const answers = () => ({ who: { action: 'decline' } })
    assert.is((await converse(send, 'tools/call', tool('decline'), { answers })).text, 'decline')
  })

  test('an answer that breaks its form rejects in the handler, which may ask again', async (t) => {
    const send = await way.start(t)
    const answers: Answers = (requests, round) =>
      round < 3 ? { who: { action: 'accept', content: { name: round } } } : fill(requests, round)
    const { text, rounds } = await converse(send, 'tools/call', tool('again'), { answers })
    assert.equal(JSON.parse(text), [{ name: 'my name' }, 'BAD_ANSWER', 'BAD_ANSWER'])
    assert.is(rounds.length, 3)
  })

  test('a malformed answer is refused before anything runs, and can be sent again', async (t) => {
    const send = await way.start(t)
    const asked = (await send('tools/call', tool('decline'), { clientCapabilities: able })).at(-1)
    const requestState = stateOf(asked ?? {})
    const retry = async (inputResponses: object) => {
      const params = { ...tool('decline'), requestState, inputResponses }
      return (await send('tools/call', params, { clientCapabilities: able })).at(-1)
    }
    for (const bad of [{ action: 'maybe' }, {}]) assert.is((await retry({ who: bad }))?.error?.code, -32602)
    assert.is((await retry({ who: 7 }))?.error?.code, -32602)
    assert.is((await retry({ who: { action: 'cancel' } }))?.result?.content?.[0]?.text, 'cancel')
  })

  test('a retry has its own id, progress token, log level and capabilities', async (t) => {
    const send = await way.start(t)
    const first = await send('tools/call', tool('facts'), {
      id: 'first',
      progressToken: 'one',
      clientCapabilities: able,
      clientInfo: { name: 'a', version: '1' },
    })
    assert.equal(
      first.slice(0, -1).map(({ method, params }) => [method, params?.progressToken ?? params?.data]),
      [['notifications/progress', 'one']],
    )
    const again = await send(
      'tools/call',
      {
        ...tool('facts'),
        requestState: stateOf(first.at(-1) ?? {}),
        inputResponses: fill(requestsOf(first.at(-1) ?? {}) ?? {}, 1),
      },
      {
        id: 'second',
        progressToken: 2,
        logLevel: 'info',
        clientCapabilities: { roots: {} },
        clientInfo: { name: 'b', version: '2' },
      },
    )
    const heard = again.slice(0, -1).map(({ params }) => params?.progressToken ?? params?.data)
    // a handler that is run again tells the new client what it tells at its beginning as well
    assert.equal(heard.slice(-2), [2, 'after'])
    const [, requestId, session] = JSON.parse(String(again.at(-1)?.result?.content?.[0]?.text))
    assert.is(requestId, 'second')
    assert.equal(session, {
      client: { name: 'b', version: '2' },
      revision: '2026-07-28',
      capabilities: { roots: {} },
    })
    assert.is(again.at(-1)?.id, 'second')
  })

  test('only capabilities declared by this very request are used', async (t) => {
    const send = await way.start(t)
    const { text } = await converse(send, 'tools/call', tool('capable'), {
      clientCapabilities: { elicitation: {} },
    })
    assert.equal(JSON.parse(text), ['MISSING_CAPABILITY', 'accept'])
    const first = await send('tools/call', tool('together'), { clientCapabilities: able })
    const requestState = stateOf(first.at(-1) ?? {})
    const less = await send(
      'tools/call',
      { ...tool('together'), requestState, inputResponses: {} },
      { clientCapabilities: { elicitation: {}, roots: {} } },
    )
    assert.equal(less.at(-1)?.error?.data, { requiredCapabilities: { sampling: {} } })
  })

  test('a missing capability is named, unless the handler does without', async (t) => {
    const send = await way.start(t)
    const refused = async (clientCapabilities: object) => {
      const { wire } = await converse(send, 'tools/call', tool('needs'), { clientCapabilities })
      assert.is(wire.error?.code, -32021)
      return wire.error?.data?.requiredCapabilities
    }
    assert.equal(await refused({}), { elicitation: {} })
    assert.equal(await refused({ elicitation: {} }), { elicitation: { url: {} } })
    const { wire } = await converse(send, 'prompts/get', tool('three'), { clientCapabilities: {} })
    assert.equal(
      [wire.error?.code, wire.error?.data],
      [-32021, { requiredCapabilities: { elicitation: {} } }],
    )
  })

  test('a URL elicitation has no id of 2025-11-25', async (t) => {
    const send = await way.start(t)
    const answers = () => ({ visit: { action: 'accept' } })
    const { text, rounds } = await converse(send, 'tools/call', tool('needs'), { answers })
    assert.equal(rounds[0]?.visit?.params, { mode: 'url', message: 'Visit', url: 'https://a.example/' })
    assert.equal(JSON.parse(text), { action: 'accept' })
  })

  test('a handler that crashes after an answer is a crash', async (t) => {
    const send = await way.start(t)
    const { wire, text } = await converse(send, 'tools/call', tool('crash'))
    assert.is(wire.result?.isError, true)
    assert.match(text, 'Internal error')
    assert.not.match(JSON.stringify(wire), /secret/)
  })

  test('there are at most 25 rounds', async (t) => {
    const send = await way.start(t)
    const { text, rounds, wire } = await converse(send, 'tools/call', tool('endless'))
    assert.is(rounds.length, 25)
    assert.is(wire.result?.isError, true)
    assert.match(text, /25 rounds/)
  })

  test('a call with too much state crashes and does not ask', async (t) => {
    const send = await way.start(t)
    const { wire, text, rounds } = await converse(send, 'tools/call', tool('large'))
    assert.is(wire.result?.isError, true)
    assert.match(text, 'Internal error')
    assert.is(rounds.length, 0)
  })

  test('a completion cannot ask, and without sessions a tool cannot ping', async (t) => {
    const send = await way.start(t)
    const params = { ref: { type: 'ref/prompt', name: 'three' }, argument: { name: 'about', value: '' } }
    const { wire } = await converse(send, 'completion/complete', params)
    assert.equal([wire.error?.code, wire.error?.data?.code], [-32603, 'MISSING_CAPABILITY'])
    assert.is((await converse(send, 'tools/call', tool('ping'))).text, 'MISSING_CAPABILITY')
  })

  test('a changed state, or one of another request or user, is refused before a run', async (t) => {
    const send = await way.start(t)
    const me = { issuer: 'https://a.example', subject: 'me' }
    const asked =
      (await send('tools/call', tool('three'), { clientCapabilities: able, principal: me })).at(-1) ?? {}
    const requestState = stateOf(asked)
    const inputResponses = fill(requestsOf(asked) ?? {}, 1)
    const retry = async (params: object, principal: object | undefined, state = requestState) => {
      const all = { ...params, requestState: state, inputResponses }
      const how = { clientCapabilities: able, ...(principal && { principal: principal as typeof me }) }
      const method = 'uri' in params ? 'resources/read' : 'tools/call'
      const { error, result } = (await send(method, all, how)).at(-1) ?? {}
      return error?.code ?? result?.resultType
    }
    const other = requestState.startsWith('A', 40) ? 'B' : 'A'
    const changed = `${requestState.slice(0, 40)}${other}${requestState.slice(41)}`
    assert.is(await retry(tool('three'), me, changed), -32602)
    assert.is(await retry(tool('three'), me, 'x'), -32602)
    assert.is(await retry(tool('three', { x: 1 }), me), -32602)
    assert.is(await retry(tool('decline'), me), -32602)
    assert.is(await retry({ uri: 'note://three' }, me), -32602)
    assert.is(await retry(tool('three'), undefined), -32602)
    assert.is(await retry(tool('three'), { ...me, subject: 'you' }), -32602)
    assert.is(await retry(tool('three'), { ...me, issuer: 'https://b.example' }), -32602)
    assert.is(await retry(tool('three'), { ...me, clientId: 'another program' }), 'input_required')
  })

  test('answers without a state count if they were requested and fit', async (t) => {
    const send = await way.start(t)
    const call = async (name: string, inputResponses: object) =>
      (await send('tools/call', { ...tool(name), inputResponses }, { clientCapabilities: able })).at(-1) ?? {}
    const extra = { other: { x: 1 }, toString: {} }
    const { result } = await call('decline', { who: { action: 'decline' }, ...extra })
    assert.is(result?.content?.[0]?.text, 'decline')
    for (const bad of [{}, { action: 'maybe' }, { roots: [] }])
      assert.equal(Object.keys(requestsOf(await call('decline', { who: bad })) ?? {}), ['who'])
    assert.is((await call('decline', { who: 12345 })).error?.code, -32602)
    const [name, age] = [fill({ name: { method: 'elicitation/create', params: ask('name') } }, 1), { x: {} }]
    const asked = await call('three', { ...name, ...age })
    assert.equal(Object.keys(requestsOf(asked) ?? {}), ['age'])
    const rest = await converse(
      (method, params, how) =>
        send(
          method,
          'requestState' in params ? params : { ...params, inputResponses: { ...name, ...age } },
          how,
        ),
      'tools/call',
      tool('three'),
    )
    assert.is(rest.rounds.length, 2)
    assert.equal(JSON.parse(rest.text)[0], [{ name: 'my name' }, { age: 'my age' }, { city: 'my city' }])
  })

  return test
}
