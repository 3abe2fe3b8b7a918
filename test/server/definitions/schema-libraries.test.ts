import { toStandardJsonSchema } from '@valibot/to-json-schema'
import { type } from 'arktype'
import * as assert from 'uvu/assert'
import * as v from 'valibot'
import { z } from 'zod'
import { z as z3 } from 'zod/v3'
import { field } from 'caduceus/protocol'
import { definePrompt, defineTool, type ServerError, type ToolDefinition } from 'caduceus/server'
import { suite } from '../../support/suite.js'
import { startParts } from '../_servers.js'

const test = suite('server/definitions/schema-libraries')

type Shown = { readonly inputSchema: object; readonly outputSchema?: object }

const run = ({ name, age }: { name: string; age?: number | undefined }) => ({ told: `${name} ${age ?? '?'}` })

/** The same tool, described by each library as one schema, and field by field. */
const tools: { readonly [library: string]: readonly [whole: ToolDefinition, byField: ToolDefinition] } = {
  zod: [
    defineTool({
      name: 'whole',
      input: z.object({ name: z.string().min(2), age: z.int().max(150).optional() }),
      output: z.object({ told: z.string() }),
      run,
    }),
    defineTool({
      name: 'by_field',
      input: { name: z.string().min(2), age: z.int().max(150).optional() },
      output: { told: z.string() },
      run,
    }),
  ],
  arktype: [
    defineTool({
      name: 'whole',
      input: type({ name: 'string >= 2', 'age?': 'number.integer <= 150' }),
      output: type({ told: 'string' }),
      run,
    }),
    defineTool({
      name: 'by_field',
      input: { name: type('string >= 2'), age: field.integer({ max: 150 }).optional() },
      output: { told: type('string') },
      run,
    }),
  ],
  valibot: [
    defineTool({
      name: 'whole',
      input: toStandardJsonSchema(
        v.object({
          name: v.pipe(v.string(), v.minLength(2)),
          age: v.optional(v.pipe(v.number(), v.integer(), v.maxValue(150))),
        }),
      ),
      output: toStandardJsonSchema(v.object({ told: v.string() })),
      run,
    }),
    defineTool({
      name: 'by_field',
      input: {
        name: toStandardJsonSchema(v.pipe(v.string(), v.minLength(2))),
        age: toStandardJsonSchema(v.optional(v.pipe(v.number(), v.integer(), v.maxValue(150)))),
      },
      output: { told: toStandardJsonSchema(v.string()) },
      run,
    }),
  ],
  'JSON Schema': [
    defineTool({
      name: 'whole',
      input: {
        type: 'object',
        properties: { name: { type: 'string', minLength: 2 }, age: { type: 'integer', maximum: 150 } },
        required: ['name'],
      },
      output: { type: 'object', properties: { told: { type: 'string' } }, required: ['told'] },
      run,
    }),
    defineTool({
      name: 'by_field',
      input: { name: { type: 'string', minLength: 2 }, age: field.integer({ max: 150 }).optional() },
      output: { told: { type: 'string' }, more: field.any().optional() },
      run,
    }),
  ],
  field: [
    defineTool({
      name: 'whole',
      input: field.group({ name: field.string({ min: 2 }), age: field.integer({ max: 150 }).optional() }),
      output: field.group({ told: field.string() }),
      run,
    }),
    defineTool({
      name: 'by_field',
      input: { name: field.string({ min: 2 }), age: field.integer({ max: 150 }).optional() },
      output: { told: field.string() },
      run,
    }),
  ],
}

for (const [library, both] of Object.entries(tools)) {
  test(`${library} describes a tool, as a whole and field by field`, async (t) => {
    const { client } = await startParts(t, { tools: both })
    const { result: list } = await client.ask('tools/list')
    for (const { inputSchema, outputSchema } of (list?.tools ?? []) as unknown as Shown[]) {
      const { properties, required, type: kind } = inputSchema as Record<string, Record<string, object>>
      assert.equal([kind, required], ['object', ['name']])
      assert.equal(
        [properties?.name, (properties?.age as { maximum?: number } | undefined)?.maximum],
        [{ type: 'string', minLength: 2 }, 150],
      )
      assert.equal((outputSchema as { properties: { told: object } }).properties.told, { type: 'string' })
    }
    for (const { name } of both) {
      const { result } = await client.call(name, { name: 'ada', age: 36 })
      assert.equal(result?.structuredContent, { told: 'ada 36' })
      assert.equal((await client.call(name, { name: 'bob' })).result?.structuredContent, { told: 'bob ?' })
      const bad = await client.call(name, { name: 'x', age: 151 })
      assert.is(bad.result?.isError, true)
      const lines = bad.result?.content?.[0]?.text.split('\n').slice(1) ?? []
      assert.equal(
        lines.map((line) => line.slice(0, line.indexOf(':'))),
        ['- name', '- age'],
        lines.join('\n'),
      )
    }
  })
}

test('every library reads the arguments of a prompt from text', async (t) => {
  const prompt = definePrompt({
    name: 'p',
    arguments: {
      ark: type('number'),
      vali: toStandardJsonSchema(v.pipe(v.string(), v.minLength(2))),
      zod: z.boolean(),
    },
    get: ({ ark, vali, zod }) => JSON.stringify([ark, vali, zod]),
  })
  const { client } = await startParts(t, { prompts: [prompt] })
  const args = { ark: '7', vali: '77', zod: 'true' }
  const { result } = await client.ask('prompts/get', { name: 'p', arguments: args })
  const [message] = (result?.messages ?? []) as { content: { text: string } }[]
  assert.equal(JSON.parse(message?.content.text ?? ''), [7, '77', true])
  const { error } = await client.ask('prompts/get', {
    name: 'p',
    arguments: { ark: 'x', vali: 'y', zod: '1' },
  })
  const issues = (error?.data?.issues ?? []) as { path: string }[]
  assert.equal(
    issues.map(({ path }) => path),
    ['ark', 'vali', 'zod'],
  )
})

test('a schema that has no JSON Schema is refused at definition, and says what to do', () => {
  assert.throws(
    () => defineTool({ name: 'x', input: v.object({ a: v.string() }) as never, run: () => '' }),
    (error: ServerError) =>
      error.code === 'BAD_DEFINITION' &&
      /^tool "x": input: expected ~standard\.jsonSchema.*toStandardJsonSchema\(schema\) of @valibot\/to-json-schema/.test(
        error.message,
      ),
  )
  for (const input of [z3.object({ a: z3.string() }), { a: z3.string() }])
    assert.throws(
      () => defineTool({ name: 'x', input: input as never, run: () => '' }),
      (error: ServerError) =>
        error.code === 'BAD_DEFINITION' &&
        /^tool "x": input(?:\.a)?: expected ~standard\.jsonSchema, got nothing from zod: zod 4\.2 and newer have it/.test(
          error.message,
        ),
    )
  assert.throws(
    () => defineTool({ name: 'x', output: z.object({ at: z.date() }), run: () => ({ at: new Date() }) }),
    (error: ServerError) =>
      error.code === 'BAD_DEFINITION' && /^tool "x": output: zod cannot show this schema/.test(error.message),
  )
})

test.run()
