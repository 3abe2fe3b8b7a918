import * as assert from 'uvu/assert'
import {
  dialect20251125,
  dialect20260728,
  embedQuestion,
  fitParams,
  type JsonObject,
  type Method,
  missingClientCapabilities,
  missingForQuestion,
  ProtocolError,
  readOutcome,
  readParams,
  retryParams,
} from 'caduceus/protocol'
import { suite } from '../../support/suite.js'
import { elicitForm, elicitUrl, samples } from '../_samples.js'
import { refusalOf } from '../_modern.js'

const test = suite('protocol/stateless/input-required')
const form = { message: 'm', requestedSchema: { type: 'object' as const, properties: {} } }
const text = { role: 'user' as const, content: { type: 'text' as const, text: 'a' } }
const sampling = { messages: [text], maxTokens: 1 }

test('a question inside a result has no id, no envelope, no task and no elicitationId', () => {
  const { _meta, task, ...bareForm } = elicitForm
  assert.equal(embedQuestion(dialect20260728, 'elicitation/create', elicitForm), {
    method: 'elicitation/create',
    params: bareForm,
  })
  assert.equal(embedQuestion(dialect20260728, 'elicitation/create', elicitUrl), {
    method: 'elicitation/create',
    params: { mode: 'url', message: 'please sign in', url: 'https://example.com/sign-in' },
  })
  const { _meta: _, task: __, ...bare } = samples.params['sampling/createMessage']
  assert.equal(
    embedQuestion(dialect20260728, 'sampling/createMessage', samples.params['sampling/createMessage']),
    {
      method: 'sampling/createMessage',
      params: bare,
    },
  )
})

test('a roots question needs no params and keeps given ones', () => {
  assert.equal(embedQuestion(dialect20260728, 'roots/list', {}), { method: 'roots/list' })
  const free = { _meta: { 'example.com/a': 1 } }
  assert.equal(embedQuestion(dialect20260728, 'roots/list', free), { method: 'roots/list', params: free })
})

test('in a session the same question keeps all its fields', () => {
  assert.is(fitParams(dialect20251125, 'elicitation/create', elicitUrl), elicitUrl)
})

test('empty elicitation means forms only, in both newest revisions (trap 85)', () => {
  for (const dialect of [dialect20251125, dialect20260728]) {
    const missing = (params: typeof form | typeof elicitUrl, elicitation: object) =>
      missingForQuestion(dialect, 'elicitation/create', params, { elicitation })
    assert.is(missing(form, {}), undefined)
    assert.is(missing(elicitUrl, {}), 'elicitation.url')
    assert.is(missing(form, { url: {} }), 'elicitation.form')
    assert.is(missing(elicitUrl, { url: {} }), undefined)
  }
})

test('a request is not asked what it did not declare (trap 10)', () => {
  const ask = (capabilities: object) =>
    missingForQuestion(dialect20260728, 'elicitation/create', form, capabilities)
  assert.is(ask({ elicitation: { form: {} } }), undefined)
  assert.is(ask({}), 'elicitation')
  const tools = { ...sampling, tools: [] }
  assert.is(
    missingForQuestion(dialect20260728, 'sampling/createMessage', tools, { sampling: {} }),
    'sampling.tools',
  )
  assert.is(missingForQuestion(dialect20260728, 'roots/list', {}, {}), 'roots')
})

const required: readonly [readonly string[], object][] = [
  [['elicitation'], { elicitation: {} }],
  [['elicitation.url'], { elicitation: { url: {} } }],
  [['elicitation.url', 'elicitation.form', 'roots'], { elicitation: { url: {}, form: {} }, roots: {} }],
  [['sampling', 'sampling.tools', 'sampling'], { sampling: { tools: {} } }],
]

for (const [missing, requiredCapabilities] of required) {
  test(`a client without ${missing} gets -32021 (trap 72)`, () => {
    const error = missingClientCapabilities(missing)
    assert.is(error.code, -32021)
    assert.equal(error.data, { requiredCapabilities })
  })
}

test('a result without resultType is complete (trap 19)', () => {
  assert.equal(readOutcome('tools/list', { tools: [] }), { type: 'complete', result: { tools: [] } })
  const typed = { tools: [], resultType: 'complete' }
  assert.equal(readOutcome('tools/list', typed), { type: 'complete', result: typed })
})

const asks: readonly JsonObject[] = [
  { inputRequests: { a: { method: 'elicitation/create', params: form } } },
  {
    inputRequests: {
      a: { method: 'elicitation/create', params: { mode: 'url', message: 'm', url: 'https://a' } },
    },
  },
  {
    inputRequests: { a: { method: 'sampling/createMessage', params: sampling }, b: { method: 'roots/list' } },
  },
  { inputRequests: {}, requestState: '' },
  { requestState: 'opaque' },
]

for (const ask of asks) {
  test(`${JSON.stringify(ask)} asks for input`, () => {
    const result = { resultType: 'input_required', ...ask }
    for (const method of ['tools/call', 'prompts/get', 'resources/read'] as const) {
      const outcome = readOutcome(method, result)
      assert.is(outcome.type, 'input_required')
      assert.is(outcome.result, result)
    }
  })
}

const invalid: readonly [string, Method, JsonObject][] = [
  ['an unknown type (trap 19)', 'tools/call', { resultType: 'weird', content: [] }],
  ['a task that nobody asked for (trap 20)', 'tools/call', { resultType: 'task', taskId: 't' }],
  ['a type that is no text', 'tools/call', { resultType: null, content: [] }],
  [
    'questions where none are allowed (trap 68)',
    'tools/list',
    { resultType: 'input_required', requestState: 's' },
  ],
  ['neither questions nor state (trap 69)', 'tools/call', { resultType: 'input_required' }],
  ['a state that is no text', 'tools/call', { resultType: 'input_required', requestState: 1 }],
  [
    'a question that nobody may ask',
    'tools/call',
    { resultType: 'input_required', inputRequests: { a: { method: 'ping' } } },
  ],
  [
    'a question without params',
    'tools/call',
    { resultType: 'input_required', inputRequests: { a: { method: 'elicitation/create' } } },
  ],
  [
    'a question that is none',
    'tools/call',
    { resultType: 'input_required', inputRequests: { a: 'elicitation/create' } },
  ],
  ['a list of questions', 'tools/call', { resultType: 'input_required', inputRequests: [] }],
]

for (const [what, method, result] of invalid) {
  test(`${what} is a bad result`, () => {
    assert.throws(
      () => readOutcome(method, result),
      (error: unknown) =>
        error instanceof ProtocolError && error.code === 'BAD_RESULT' && error.message.includes('expected'),
    )
  })
}

test('a retry carries answers and state of the last round only', () => {
  const first = { name: 't', arguments: { a: 1 } }
  const second = retryParams(first, { a: { action: 'accept' } }, 's1')
  assert.equal(second, { ...first, inputResponses: { a: { action: 'accept' } }, requestState: 's1' })
  assert.equal(retryParams(second, { b: { roots: [] } }, undefined), {
    ...first,
    inputResponses: { b: { roots: [] } },
  })
  assert.equal(retryParams(second, undefined, 's2'), { ...first, requestState: 's2' })
})

const retried = [
  ['tools/call', { name: 't' }],
  ['prompts/get', { name: 'p' }],
  ['resources/read', { uri: 'a:b' }],
] as const
const answer = { action: 'accept', content: { a: 1 } }
const badRetries: readonly [JsonObject, string][] = [
  [{ inputResponses: [] }, '.inputResponses: expected an object, got an array'],
  [{ inputResponses: null }, '.inputResponses: expected an object, got null'],
  [{ inputResponses: { a: 'yes' } }, '.inputResponses["a"]: expected an object, got a string'],
  [{ inputResponses: { a: answer, b: [answer] } }, '.inputResponses["b"]: expected an object, got an array'],
  [{ requestState: 5 }, '.requestState: expected a string, got an integer'],
  [{ requestState: null }, '.requestState: expected a string, got null'],
  [{ requestState: 'x'.repeat(262_145) }, '.requestState: expected at most 262144 characters, got 262145'],
  [
    { inputResponses: Object.fromEntries(Array.from({ length: 1_001 }, (_, index) => [`k${index}`, {}])) },
    '.inputResponses: expected at most 1000 answers, got 1001',
  ],
]

for (const [method, params] of retried) {
  test(`${method} accepts any answers and state, asked for or not`, () => {
    const whole = { ...params, inputResponses: { a: answer, unknown: {} }, requestState: '' }
    assert.is(readParams(method, whole), whole)
  })

  test(`${method} refuses a malformed retry with -32602`, () => {
    for (const [retry, problem] of badRetries) {
      const error = refusalOf(() => readParams(method, { ...params, ...retry }))
      assert.is(error.code, -32602)
      assert.is(error.message, `${method}: params${problem}`)
    }
  })
}

test('other methods ignore retry fields as unknown ones (trap 35)', () => {
  const params = { uri: 'a:b', inputResponses: 5, requestState: 5 }
  assert.is(readParams('resources/subscribe', params), params)
})

test.run()
