import * as assert from 'uvu/assert'
import {
  type ClientCapabilities,
  type CreateMessageParams,
  type Dialect,
  dialect20241105,
  dialect20250326,
  dialect20250618,
  dialect20251125,
  elicitationModes,
  limitCompletion,
  missingCapability,
  missingForQuestion,
} from 'caduceus/protocol'
import { suite } from '../../support/suite.js'
import { elicitForm, elicitUrl } from '../_samples.js'

const test = suite('protocol/messages/questions')

const modes: readonly [Dialect, ClientCapabilities, readonly string[]][] = [
  [dialect20251125, {}, []],
  [dialect20251125, { elicitation: {} }, ['form']],
  [dialect20251125, { elicitation: { form: {} } }, ['form']],
  [dialect20251125, { elicitation: { url: {} } }, ['url']],
  [dialect20251125, { elicitation: { form: {}, url: {} } }, ['form', 'url']],
  [dialect20250618, { elicitation: {} }, ['form']],
  [dialect20250618, { elicitation: { url: {} } }, ['form']],
  [dialect20250326, { elicitation: {} }, []],
  [dialect20241105, { elicitation: { url: {} } }, []],
]

for (const [dialect, capabilities, expected] of modes) {
  test(`${JSON.stringify(capabilities)} in ${dialect.revision} asks by ${expected.join(', ') || 'nothing'} (trap 85)`, () => {
    assert.equal(elicitationModes(dialect, capabilities), expected)
    const missing = (params: typeof elicitForm | typeof elicitUrl) =>
      missingForQuestion(dialect, 'elicitation/create', params, capabilities)
    const none = capabilities.elicitation === undefined
    assert.is(
      missing(elicitForm),
      expected.includes('form') ? undefined : none ? 'elicitation' : 'elicitation.form',
    )
    assert.is(
      missing(elicitUrl),
      expected.includes('url') ? undefined : none ? 'elicitation' : 'elicitation.url',
    )
  })
}

const plain: CreateMessageParams = { messages: [], maxTokens: 1 }
const withTools: CreateMessageParams = { ...plain, tools: [] }
const withChoice: CreateMessageParams = { ...plain, toolChoice: { mode: 'auto' } }
const withContext: CreateMessageParams = { ...plain, includeContext: 'thisServer' }
const withoutContext: CreateMessageParams = { ...plain, includeContext: 'none' }

const samplings: readonly [Dialect, CreateMessageParams, ClientCapabilities, string | undefined][] = [
  [dialect20251125, plain, {}, 'sampling'],
  [dialect20251125, plain, { sampling: {} }, undefined],
  [dialect20251125, withTools, { sampling: {} }, 'sampling.tools'],
  [dialect20251125, withChoice, { sampling: {} }, 'sampling.tools'],
  [dialect20251125, withTools, { sampling: { tools: {} } }, undefined],
  [dialect20250618, withTools, { sampling: { tools: {} } }, 'sampling.tools'],
  [dialect20251125, withContext, { sampling: {} }, 'sampling.context'],
  [dialect20251125, withoutContext, { sampling: {} }, undefined],
  [dialect20251125, withContext, { sampling: { context: {} } }, undefined],
  [dialect20250618, withContext, { sampling: {} }, undefined],
  [dialect20241105, withContext, { sampling: {} }, undefined],
]

for (const [dialect, params, capabilities, expected] of samplings) {
  const asked = JSON.stringify({ ...params, messages: undefined, maxTokens: undefined })
  test(`sampling ${asked} with ${JSON.stringify(capabilities)} in ${dialect.revision} lacks ${expected ?? 'nothing'}`, () => {
    assert.is(missingForQuestion(dialect, 'sampling/createMessage', params, capabilities), expected)
  })
}

test('a roots question needs the roots capability only', () => {
  assert.is(missingForQuestion(dialect20241105, 'roots/list', {}, {}), 'roots')
  assert.is(missingForQuestion(dialect20241105, 'roots/list', {}, { roots: {} }), undefined)
})

test('2024-11-05 has completions without a capability, later revisions only with it', () => {
  assert.is(missingCapability('completion/complete', {}, dialect20241105), undefined)
  for (const dialect of [dialect20250326, dialect20250618, dialect20251125, undefined]) {
    assert.is(missingCapability('completion/complete', {}, dialect), 'completions')
    assert.is(missingCapability('completion/complete', { completions: {} }, dialect), undefined)
  }
  assert.is(missingCapability('tools/list', {}, dialect20241105), 'tools')
})

test('150 suggestions become the first 100 with a total (trap 92)', () => {
  const values = Array.from({ length: 150 }, (_, index) => `v${index}`)
  assert.equal(limitCompletion({ values }), { values: values.slice(0, 100), total: 150, hasMore: true })
  assert.is(limitCompletion({ values, total: 1000, hasMore: false }).total, 1000)
  assert.is(limitCompletion({ values, total: 1000, hasMore: false }).hasMore, true)
  const hundred = { values: values.slice(0, 100), hasMore: false }
  assert.is(limitCompletion(hundred), hundred)
})

test.run()
