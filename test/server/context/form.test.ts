import * as assert from 'uvu/assert'
import { z } from 'zod'
import { field } from 'caduceus/protocol'
import { defineServer, defineTool, type ToolContext } from 'caduceus/server'
import { connect } from 'caduceus/testing'
import { suite, type TestContext } from '../../support/suite.js'

const test = suite('forms with types')
const eras = ['handshake', 'modern'] as const

/** A tool that asks, and a client whose user fills in `content`; what it was shown is kept. */
async function asking(
  t: TestContext,
  era: (typeof eras)[number],
  { ask, content }: { ask: (ctx: ToolContext) => Promise<unknown>; content: Record<string, unknown> },
) {
  const shown: unknown[] = []
  const tools = {
    ask: defineTool({
      run: (_args, ctx) =>
        ask(ctx).then(
          (answer) => JSON.stringify(answer) ?? 'nothing',
          ({ message }: Error) => message,
        ),
    }),
  }
  const pair = await connect(defineServer({ name: 's', version: '1', tools }), {
    client: {
      era,
      onElicit(question) {
        shown.push('requestedSchema' in question ? question.requestedSchema : question)
        return { action: 'accept', content: content as never }
      },
    },
  })
  t.after(() => pair.close())
  return { text: (await pair.client.tools.ask()).text, shown }
}

for (const era of eras) {
  test(`${era}: a form of fields is a standard elicitation with typed answers`, async (t) => {
    const form = {
      name: field.string({ min: 2, max: 40, pattern: '^[A-Z]', title: 'Name', header: 'Name' }),
      born: field.date(),
      at: field.time().optional(),
      size: field.enum(['s', 'm']),
      some: field.list(field.enum(['a', 'b']), { max: 2 }),
      count: field.integer({ min: 0, default: 3 }),
      sure: field.boolean(),
    }
    const content = { name: 'Ada', born: '1815-12-10', size: 's', some: ['a'], sure: true }
    const { text, shown } = await asking(t, era, {
      content,
      async ask(ctx) {
        const answer = await ctx.elicit('who', { message: 'Who?', form })
        if (answer.action !== 'accept') return answer.action
        const { born, count, sure, at } = answer.content
        const year: number = born.year
        const yes: boolean = sure
        return [year, count, yes, at === undefined]
      },
    })
    assert.is(text, '[1815,3,true,true]')
    assert.equal(shown, [
      {
        type: 'object',
        properties: {
          name: { type: 'string', title: 'Name', minLength: 2, maxLength: 40 },
          born: { type: 'string', format: 'date' },
          at: { type: 'string' },
          size: { type: 'string', enum: ['s', 'm'] },
          some: { type: 'array', items: { type: 'string', enum: ['a', 'b'] }, maxItems: 2 },
          count: { type: 'integer', minimum: 0, default: 3 },
          sure: { type: 'boolean' },
        },
        required: ['name', 'born', 'size', 'some', 'sure'],
      },
    ])
  })
}

test('a library schema is a form, too, and an answer that does not fit is refused', async (t) => {
  const form = z.object({ mail: z.email(), age: z.number().refine((age) => age >= 18, 'too young') })
  const ask = async (ctx: ToolContext) => {
    const answer = await ctx.elicit('who', { message: 'Who?', form })
    return answer.action === 'accept' ? answer.content.age + 1 : 0
  }
  const good = await asking(t, 'handshake', { ask, content: { mail: 'a@b.example', age: 20 } })
  assert.is(good.text, '21')
  const [shown] = good.shown as { properties: Record<string, object> }[]
  assert.equal(Object.keys(shown?.properties.mail ?? {}).sort(), ['format', 'type'])
  const bad = await asking(t, 'handshake', { ask, content: { mail: 'a@b.example', age: 7 } })
  assert.match(bad.text, /does not fit the form: age: too young/)
})

test('a declined form has no values', async (t) => {
  const run = async (_args: unknown, ctx: ToolContext) => {
    const { action, content } = await ctx.elicit('sure', {
      message: 'Sure?',
      form: { sure: field.boolean() },
    })
    return `${action} ${content}`
  }
  const tools = { ask: defineTool({ run }) }
  const pair = await connect(defineServer({ name: 's', version: '1', tools }), {
    client: { onElicit: () => ({ action: 'decline' }) },
  })
  t.after(() => pair.close())
  assert.is((await pair.client.tools.ask()).text, 'decline undefined')
})

test('a repeated question keeps its answer, a changed one is refused', async (t) => {
  const form = { name: field.string() }
  const { text, shown } = await asking(t, 'handshake', {
    content: { name: 'Ada' },
    async ask(ctx) {
      const first = await ctx.elicit('who', { message: 'Who?', form })
      const again = await ctx.elicit('who', { message: 'Who?', form })
      const other = await ctx
        .elicit('who', { message: 'Who?', form: { age: field.integer() } })
        .catch(({ message }: Error) => message)
      return [first.content, again.content, other]
    },
  })
  assert.is(shown.length, 1)
  const [first, again, other] = JSON.parse(text)
  assert.equal([first, again], [{ name: 'Ada' }, { name: 'Ada' }])
  assert.match(other, /belongs to another question/)
})

test('an impossible form is refused before it is sent', async (t) => {
  const wrong: readonly [unknown, RegExp][] = [
    [{ home: field.group({ street: field.string() }) }, /elicit: form\.home: expected a text, a number/],
    [{ all: field.list(field.string()) }, /form\.all: expected .* or a list of such/],
    [{ any: field.any() }, /form\.any: expected/],
    [{ size: field.enum([1, 2]) }, /form\.size: expected/],
    [z.string(), /form: expected fields by their names, or a schema of an object/],
    [{ a: 'string' }, /form: expected .*field\.string\(\)/],
    [5, /form: expected fields by their names, got 5/],
  ]
  for (const [form, message] of wrong) {
    const ask = (ctx: ToolContext) => ctx.elicit('k', { message: 'a', form } as never)
    const { text, shown } = await asking(t, 'handshake', { ask, content: {} })
    assert.match(text, message)
    assert.equal(shown, [])
  }
  const ask = (ctx: ToolContext) =>
    ctx.elicit('k', { message: 'a', form: {}, requestedSchema: { type: 'object', properties: {} } } as never)
  assert.match((await asking(t, 'handshake', { ask, content: {} })).text, /form: expected nothing beside/)
})

test.run()
