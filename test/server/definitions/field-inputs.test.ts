import * as assert from 'uvu/assert'
import { z } from 'zod'
import { field } from 'caduceus/protocol'
import { defineTool, type ServerError } from 'caduceus/server'
import { suite } from '../../support/suite.js'
import { startParts } from '../_servers.js'

const test = suite('server/definitions/field-inputs')

const createUser = defineTool({
  name: 'create_user',
  description: 'Manage user data',
  input: {
    email: field.string({ format: 'email', description: "User's email address" }),
    age: field.integer({ range: [0, 150], description: 'Age in years' }).optional(),
    website: field.string({ format: 'uri' }).optional(),
    address: field
      .group(
        {
          street: field.string(),
          city: field.string(),
          postal_code: field.string({ format: 'postal-code' }).optional(),
          country: field.string({ description: 'ISO 3166-1 alpha-2 code' }).optional(),
        },
        { description: 'Mailing address' },
      )
      .optional(),
  },
  run: ({ email, age = 'unknown' }) => `${email} is ${age}`,
})

test('fields by their names are shown as the components guide has them', async (t) => {
  const { client } = await startParts(t, { tools: [createUser] })
  const { result } = await client.ask('tools/list')
  assert.equal(result?.tools, [
    {
      name: 'create_user',
      description: 'Manage user data',
      inputSchema: {
        type: 'object',
        properties: {
          email: { type: 'string', format: 'email', description: "User's email address" },
          age: { type: 'integer', minimum: 0, maximum: 150, description: 'Age in years' },
          website: { type: 'string', format: 'uri' },
          address: {
            type: 'object',
            description: 'Mailing address',
            properties: {
              street: { type: 'string' },
              city: { type: 'string' },
              postal_code: { type: 'string', format: 'postal-code' },
              country: { type: 'string', description: 'ISO 3166-1 alpha-2 code' },
            },
            required: ['street', 'city'],
          },
        },
        required: ['email'],
      },
    },
  ])
})

test('all wrong fields are reported to the model at once, with paths', async (t) => {
  const { client } = await startParts(t, { tools: [createUser] })
  assert.is(await client.text('create_user', { email: 'a@b.c', age: 7 }), 'a@b.c is 7')
  const { result } = await client.call('create_user', { age: 151, address: { city: 7 } })
  assert.is(result?.isError, true)
  assert.equal(result?.content?.[0]?.text.split('\n').slice(1), [
    '- email: is required',
    '- age: expected a number <= 150, got 151',
    '- address.street: is required',
    '- address.city: expected a string, got an integer',
  ])
})

test('fields, schemas of libraries and JSON Schema stand beside each other', async (t) => {
  const mixed = defineTool({
    name: 'mixed',
    input: {
      own: field.date(),
      theirs: z.array(z.number()).min(1),
      open: z.string().default('x'),
      plain: { type: 'object', properties: { deep: { type: 'boolean' } }, required: ['deep'] },
    },
    run: ({ own, theirs, open, plain }) => `${own.year} ${theirs.length} ${open} ${plain.deep}`,
  })
  const { client } = await startParts(t, { tools: [mixed] })
  const { result } = await client.ask('tools/list')
  const [tool] = (result?.tools ?? []) as unknown as { inputSchema: { required: string[] } }[]
  assert.equal(tool?.inputSchema.required, ['own', 'theirs', 'plain'])
  const args = { own: '2024-01-15', theirs: [1, 2], plain: { deep: true } }
  assert.is(await client.text('mixed', args), '2024 2 x true')
  const bad = await client.text('mixed', { own: '2024-02-30', theirs: ['1'], plain: { deep: 1 } })
  assert.ok(
    ['own: ', 'theirs[0]: ', 'plain.deep: '].every((path) => bad.includes(`\n- ${path}`)),
    bad,
  )
})

test('the header named by a field is mirrored by 2026-07-28 clients', () => {
  const tool = defineTool({
    name: 'x',
    input: { region: field.string({ header: 'Region' }) },
    run: ({ region }) => region,
  })
  assert.is(tool.headers.length, 1)
})

const bad: [object, string, RegExp][] = [
  [{ a: field.string(), b: 7 }, 'input.b', /^tool "x": input\.b: /],
  [{ a: field.string({ min: 3, max: 1 }) }, 'input.a', /^tool "x": input\.a: max: expected no less than min/],
  [
    { a: field.string(), b: { $ref: 'https://evil.example/' } },
    'input.b',
    /^tool "x": input\.b: JSON Schema/,
  ],
  [{ a: field.list(field.integer({ range: [2, 1] })) }, 'input.a', /^tool "x": input\.a: /],
  [
    { a: { type: 'string' }, b: 7 },
    'input.b',
    /^tool "x": input\.b: expected a field, a schema of a library, or a JSON/,
  ],
]

for (const [input, name, message] of bad) {
  test(`a wrong field is refused: ${message.source}`, () => {
    assert.throws(
      () => defineTool({ name: 'x', input: input as never, run: () => '' }),
      ({ code, data, message: text }: ServerError) =>
        code === 'BAD_DEFINITION' && (data as { field: string }).field === name && message.test(text),
    )
  })
}

test.run()
