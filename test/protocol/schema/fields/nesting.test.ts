import * as assert from 'uvu/assert'
import { z } from 'zod'
import { field, type JsonObject, toSchema } from 'caduceus/protocol'
import { isObject } from '../../../support/is-object.js'
import { nested, pointerTo } from '../../../../protocol/schema/fields/groups.js'
import { suite } from '../../../support/suite.js'

const test = suite('protocol/schema/fields/nesting')

interface Tree {
  readonly name: string
  readonly children: readonly Tree[]
}
const tree: z.ZodType<Tree> = z.object({
  name: z.string(),
  get children() {
    return z.array(tree)
  },
})
const list = { $defs: { word: { type: 'string' } }, type: 'array', items: { $ref: '#/$defs/word' } }

test('references resolve wherever the schema is embedded', async () => {
  const group = field.group({
    'a/b ~': tree,
    deep: field.list(field.map(field.group({ words: list }))),
  })
  const { jsonSchema } = toSchema(group)
  const value = {
    'a/b ~': { name: 'x', children: [{ name: 'y', children: [] }] },
    deep: [{ k: { words: ['w'] } }],
  }
  const checked = toSchema(jsonSchema)
  assert.ok('value' in (await checked.parse(value)))
  const wrong = {
    'a/b ~': { name: 'x', children: [{ name: 7, children: [] }] },
    deep: [{ k: { words: [1] } }],
  }
  const parsed = await checked.parse(wrong)
  assert.equal('issues' in parsed ? parsed.issues.map(({ path }) => path) : [], [
    '["a/b ~"].children[0].name',
    'deep[0].k.words[0]',
  ])
})

test('the default $schema is left out, any other is kept', () => {
  const usual = nested({ $schema: 'https://json-schema.org/draft/2020-12/schema', type: 'string' }, '/items')
  assert.equal(usual, { type: 'string' })
  const other: JsonObject = { $schema: 'http://json-schema.org/draft-07/schema#', type: 'string' }
  assert.is(nested(other, '/items'), other)
})

test('a property named $ref stays, and the given schema is not changed', () => {
  const schema = {
    properties: { $ref: { const: '#/a' }, next: { $ref: '#' }, named: { $ref: '#word' } },
    default: { $ref: '#' },
  }
  const copy = structuredClone(schema)
  const { properties, default: usual } = nested(schema, pointerTo('a b'))
  assert.equal(properties, {
    $ref: { const: '#/a' },
    next: { $ref: '#/properties/a%20b' },
    named: { $ref: '#word' },
  })
  assert.equal([usual, schema], [{ $ref: '#' }, copy])
  assert.ok(isObject(properties))
})

test('references relative to an $id still resolve', () => {
  const whole = { $id: 'item', $defs: { a: {} }, $ref: '#/$defs/a' }
  assert.is(nested(whole, '/items'), whole)
  const around = { $ref: '#/$defs/b', $defs: { b: whole } }
  assert.equal(nested(around, '/items'), {
    $ref: '#/items/$defs/b',
    $defs: { b: whole },
  })
})

test.run()
