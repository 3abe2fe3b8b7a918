import * as fc from 'fast-check'
import * as assert from 'uvu/assert'
import { z } from 'zod'
import { z as zod3 } from 'zod/v3'
import { field, toSchema } from 'caduceus/protocol'
import { defineMethod, definePrompt, defineTool, type ServerError } from 'caduceus/server'
import { checkKeywords } from '../../../protocol/schema/defined.js'
import { suite } from '../../support/suite.js'
import { startParts } from '../_servers.js'

const test = suite('server/definitions/schema-maps')
const run = () => ''

test('plain JSON Schemas describe and check arguments, results, params and prompts', async (t) => {
  const tool = defineTool({
    name: 'person',
    input: { id: { type: 'string' }, kind: { enum: ['a', 'b'] }, type: { type: 'integer', default: 3 } },
    output: { id: { type: 'string' }, n: { type: 'integer' } },
    run: ({ id, kind, type }) => ({ id: kind === 'b' ? (5 as never) : id, n: type }),
  })
  const method = defineMethod({ params: { a: { type: 'string' } }, run: (params) => ({ got: params.a }) })
  const prompt = definePrompt({
    name: 'talk',
    arguments: { language: { type: 'string', enum: ['en', 'de'] } },
    get: ({ language }) => language,
  })
  const { client } = await startParts(
    t,
    { tools: [tool], prompts: [prompt], methods: { 'x/y': method } },
    { exposeErrors: true },
  )
  const { result: list } = await client.ask('tools/list')
  const [shown] = (list?.tools ?? []) as unknown as {
    inputSchema: object
    outputSchema: { required?: string[] }
  }[]
  assert.equal(shown?.inputSchema, {
    type: 'object',
    properties: {
      id: { type: 'string' },
      kind: { enum: ['a', 'b'] },
      type: { type: 'integer', default: 3 },
    },
    required: ['id', 'kind'],
  })
  assert.equal(shown?.outputSchema.required, ['id', 'n'])
  const good = await client.call('person', { id: 'x', kind: 'a' })
  assert.equal(good.result?.structuredContent, { id: 'x', n: 3 })
  const bad = await client.call('person', { id: 5, kind: 'c' })
  assert.is(bad.result?.isError, true)
  assert.match(JSON.stringify(bad.result), /id: expected a string, got an integer.*kind: expected one of/)
  const wrong = await client.text('person', { id: 'x', kind: 'b' })
  assert.match(wrong, /returned what its output does not allow: id: expected a string/)
  assert.equal((await client.ask('x/y', { a: 'x' })).result, { got: 'x' })
  assert.is((await client.ask('x/y', { a: 5 })).error?.code, -32602)
  const unknown = await client.ask('prompts/get', { name: 'talk', arguments: { language: 'xx' } })
  assert.is(unknown.error?.code, -32602)
})

test('fields named like keywords are fields when no keyword has such a value', () => {
  const input = {
    title: { type: 'string' },
    items: { type: 'array' },
    properties: { type: 'object' },
    required: { type: 'boolean' },
  } as const
  const { schema } = defineTool({ name: 'x', input, run })
  assert.equal(schema.jsonSchema.required, ['title', 'items', 'properties', 'required'])
})

test('an input without fields takes no arguments', async (t) => {
  const { client } = await startParts(t, { tools: [defineTool({ name: 'x', input: {}, run: () => 'done' })] })
  assert.is((await client.call('x', {})).error, undefined)
})

test('a complete JSON Schema stays as it is', () => {
  const output = { anyOf: [{ type: 'string' }, { type: 'null' }] } as const
  assert.equal(defineTool({ name: 'x', output, run }).output?.jsonSchema, output)
  assert.equal(defineTool({ name: 'x', output: {}, run }).output?.jsonSchema, {})
  const params = { required: ['a'], properties: { a: { type: 'string' } } } as const
  assert.equal(defineMethod({ params, run: () => ({}) }).params?.jsonSchema, params)
})

const wrong: readonly (readonly [input: object, field: string, message: RegExp])[] = [
  [
    { type: 'object', properties: { a: { type: 'strin' } } },
    'input',
    /^tool "x": input: JSON Schema at \/properties\/a\/type: expected one of .*integer.*, got "strin"$/,
  ],
  [{ a: { type: 'strin' } }, 'input.a', /^tool "x": input\.a: JSON Schema at \/type: expected one of/],
  [
    {
      type: 'object',
      $defs: { word: { type: 'string' } },
      properties: { a: { $id: 'a', properties: { b: { $ref: '#/$defs/word' } } } },
    },
    'input',
    /^tool "x": input: JSON Schema at \/properties\/a\/properties\/b\/\$ref: there is no "#\/\$defs\/word" within the \$id "a"$/,
  ],
  [
    { a: 'string' },
    'input.a',
    /^tool "x": input\.a: expected a field.*, got "string": write field\.string\(\)$/,
  ],
  [{ a: 'int' }, 'input.a', /write field\.integer\(\)$/],
  [{ a: String }, 'input.a', /got a function: write field\.string\(\)$/],
  [{ a: field.string }, 'input.a', /got a function/],
  [{ a: ['x', 'y'] }, 'input.a', /got an array: write field\.enum/],
  [{ a: null }, 'input.a', /got null$/],
  [
    { type: 'object', properties: { a: 'string' } },
    'input',
    /at \/properties: expected schemas by their names/,
  ],
  [
    { type: 'object', properties: { a: z.string() } },
    'input',
    /at \/properties\/a: a schema of zod has no place in a JSON Schema: give fields by their names/,
  ],
  [
    { type: 'object', properties: { a: { type: 'string', required: true } } },
    'input',
    /at \/properties\/a\/required: expected an array of different names, got a boolean: names of properties stand beside them/,
  ],
  [{ type: 'object', properties: { a: { b: { type: 'string' } } } }, 'input', /they belong in properties/],
  [{ home: { street: { type: 'string' } } }, 'input.home', /an object within is field\.group/],
  [
    { type: 'string' },
    'input',
    /or a schema of an object \(type: 'object'\), got a schema of type "string"$/,
  ],
  [{ properties: { a: { type: 'string' } } }, 'input', /got a schema without type: 'object'$/],
  [{ a: { type: 'array', items: [{ type: 'string' }] } }, 'input.a', /called prefixItems since 2020-12/],
  [
    { a: { type: 'string', minLength: '1' } },
    'input.a',
    /at \/minLength: expected a whole number of 0 or more, got "1"/,
  ],
  [{ a: { enum: [] } }, 'input.a', /at \/enum: expected an array with a value or more/],
  [zod3.object({ a: zod3.string() }), 'input', /zod 4\.2 and newer have it \(zod 3 has not\)$/],
  [{ a: zod3.string() }, 'input.a', /zod 4\.2 and newer have it \(zod 3 has not\)$/],
  [{ a: { _def: {}, safeParse: run } }, 'input.a', /zod 3 has not/],
  [{ kind: 'schema', type: 'object', _run: run }, 'input', /toStandardJsonSchema\(schema\) of @valibot/],
  [
    new (class Joi {
      validate = run
    })(),
    'input',
    /its library has to follow Standard Schema/,
  ],
]

for (const [input, name, message] of wrong) {
  test(`a wrong schema fails where it is made: ${message.source}`, () => {
    assert.throws(
      () => defineTool({ name: 'x', input: input as never, run }),
      ({ code, data, message: text }: ServerError) => {
        assert.match(text, message)
        return code === 'BAD_DEFINITION' && (data as { field: string }).field === name
      },
    )
  })
}

test('an ambiguous input is refused with the remedy', () => {
  for (const output of [{ items: { type: 'string' } }, { not: { type: 'null' } }])
    assert.throws(
      () => defineTool({ name: 'x', output: output as never, run }),
      /^tool "x": output: expected .* could be both: write field\.group\(\{ \.\.\. \}\), or a type beside/,
    )
  const typed = { type: ['string', 'number'], not: { const: 1 } } as const
  assert.ok(defineTool({ name: 'x', output: typed, run }).output)
})

test('params of a method are refused like the input of a tool', () => {
  assert.throws(
    () => defineMethod({ params: { a: { type: 'strin' } }, run: () => ({}) }),
    /^method: params\.a: JSON Schema at \/type/,
  )
  assert.throws(
    () => defineMethod({ params: { type: 'string' }, run: () => ({}) }),
    /a schema of type "string"/,
  )
})

const keywords = (
  '$anchor title pattern format deprecated uniqueItems nullable minimum multipleOf minLength maxItems minContains type enum ' +
  'required const dependentRequired additionalItems additionalProperties contains else if not then unevaluatedItems ' +
  'items allOf oneOf prefixItems $defs dependentSchemas patternProperties properties dependencies'
).split(' ')
const leaf = fc.oneof(
  fc.constantFrom<unknown>('string', 'strin', 'object', '', null, true, 0, -1, 1.5, 'a', '^a'),
  fc.array(fc.constantFrom<unknown>('string', 'a', 'b', 1, null, {}), { maxLength: 3 }),
)
const { schema: anySchema } = fc.letrec((tie) => ({
  schema: fc.dictionary(
    fc.constantFrom(...keywords),
    fc.oneof(
      { weight: 2, arbitrary: leaf },
      { weight: 2, arbitrary: tie('schema') },
      { weight: 1, arbitrary: fc.array(tie('schema'), { maxLength: 2 }) },
      {
        weight: 1,
        arbitrary: fc.dictionary(fc.constantFrom('a', 'b'), fc.oneof(tie('schema'), leaf), { maxKeys: 2 }),
      },
    ),
    { maxKeys: 3 },
  ),
}))

test('a JSON Schema whose keywords are right compiles', async () => {
  const isRight = (schema: object) => {
    try {
      checkKeywords(toSchema({ ...schema }).jsonSchema)
      return true
    } catch {
      return false
    }
  }
  const right = anySchema.filter((schema) => isRight(schema as object))
  await fc.assert(
    fc.asyncProperty(right, async (schema) => {
      await toSchema(schema as Record<string, unknown>).parse({})
    }),
    { numRuns: 300 },
  )
})

test.run()
