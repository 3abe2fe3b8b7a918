import * as assert from 'uvu/assert'
import type { FormField } from 'caduceus/protocol'
import { completeForm } from '../../../client/answers/form-answer.js'
import { suite } from '../../support/suite.js'
import { rejection } from '../_raw.js'

const test = suite('answers to forms')

/** One field of each kind that a form can have, a default that is easily taken for none, and what does not fit. */
const kinds: readonly (readonly [string, FormField, NonNullable<FormField['default']>, unknown])[] = [
  ['text', { type: 'string', default: '' }, '', 7],
  ['email', { type: 'string', format: 'email', default: 'a@example.com' }, 'a@example.com', 7],
  ['number', { type: 'number', minimum: 0, default: 0.5 }, 0.5, -1],
  ['integer', { type: 'integer', default: 0 }, 0, 0.5],
  ['boolean', { type: 'boolean', default: false }, false, 'false'],
  ['choice', { type: 'string', enum: ['a', 'b'], enumNames: ['A', 'B'], default: 'b' }, 'b', 'c'],
  ['titled choice', { type: 'string', oneOf: [{ const: 'a', title: 'A' }], default: 'a' }, 'a', 'A'],
  [
    'choices',
    { type: 'array', items: { type: 'string', enum: ['a', 'b'] }, maxItems: 1, default: [] },
    [],
    ['a', 'b'],
  ],
  [
    'titled choices',
    { type: 'array', items: { anyOf: [{ const: 'a', title: 'A' }] }, default: ['a'] },
    ['a'],
    ['A'],
  ],
]

for (const [kind, field, value, wrong] of kinds) {
  test(`a left out ${kind} field gets its default, and only if it has one`, async () => {
    const params = { message: 'm', requestedSchema: { type: 'object' as const, properties: { field } } }
    const answer = (content?: Record<string, unknown>) =>
      completeForm(params, { action: 'accept', ...(content && { content: content as never }) })
    for (const content of [undefined, {}, { field: undefined }])
      assert.equal(await answer(content), { action: 'accept', content: { field: value } })
    assert.is((await rejection(answer({ field: wrong }))).code, 'BAD_ANSWER')
    assert.is((await rejection(answer({ field: null }))).code, 'BAD_ANSWER')
    for (const action of ['decline', 'cancel'] as const)
      assert.equal(await completeForm(params, { action, content: { field: 'x' } }), { action })
  })
}

test('a required field without a default is not invented; "__proto__" is a plain name', async () => {
  const properties = JSON.parse('{"__proto__":{"type":"string","default":"x"},"toString":{"type":"string"}}')
  const requestedSchema = { type: 'object' as const, properties, required: ['toString'] }
  const accept = { action: 'accept' as const }
  const error = await rejection(completeForm({ message: 'm', requestedSchema }, accept))
  assert.is(error.code, 'BAD_ANSWER')
  const content = { toString: 'y' } as never
  const answer = await completeForm({ message: 'm', requestedSchema }, { ...accept, content })
  assert.is(JSON.stringify(answer.content), '{"__proto__":"x","toString":"y"}')
})

test.run()
