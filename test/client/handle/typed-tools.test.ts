import * as assert from 'uvu/assert'
import { field } from 'caduceus/protocol'
import { defineServer, defineTool, nameFrom } from 'caduceus/server'
import { connect } from 'caduceus/testing'
import type { SnakeCase } from '../../../server/definitions/tool-types.js'
import { suite } from '../../support/suite.js'

const test = suite('tools as functions')
const divide = defineTool({
  input: { a: field.number(), b: field.number({ default: 2 }) },
  output: { quotient: field.number() },
  run: ({ a, b }) => ({ quotient: a / b }),
})
const definition = defineServer({
  name: 's',
  version: '1',
  tools: {
    divide,
    sayHello: defineTool({ run: () => 'hello' }),
    // names that functions have of their own
    call: defineTool({ run: () => 'called' }),
    name: defineTool({ run: () => 'named' }),
    next: defineTool({ name: 'then', run: () => 'next' }),
  },
})

for (const era of ['handshake', 'modern'] as const)
  test(`${era}: a tool is a function with typed arguments, options and result`, async (t) => {
    const { client, close } = await connect(definition, { client: { era } })
    t.after(() => close())
    const { structuredContent, text } = await client.tools.divide({ a: 6 })
    assert.equal([structuredContent, text], [{ quotient: 3 }, '{"quotient":3}'])
    const { tools } = client
    assert.is((await tools.say_hello()).text, 'hello')
    assert.is((await tools.call()).text, 'called')
    assert.is((await tools.name()).text, 'named')
    const gone = new AbortController()
    gone.abort()
    const error = await tools.divide({ a: 1 }, { signal: gone.signal }).catch((reason) => reason)
    assert.is(error.code, 'CANCELLED')
    const wrong = await tools.divide({ a: 'x' } as never)
    assert.is(wrong.isError, true)
  })

test('the typed tools are an iterable, no thenable, and allow any name', async (t) => {
  const { client, close } = await connect(definition)
  t.after(() => close())
  assert.is(await Promise.resolve(client.tools).then((tools) => tools === client.tools), true)
  assert.is((await client.callTool('then')).text, 'next')
  const names: string[] = []
  for await (const { name } of client.tools()) names.push(name)
  assert.equal(names, ['divide', 'say_hello', 'call', 'name', 'then'])
  const untyped = client.tools as unknown as Record<string, () => Promise<unknown>>
  const error = await untyped.nope?.().catch((reason) => reason)
  assert.match(String((error as Error).message), /nope/)
})

test('typed tools keep the names of the server', () => {
  const names: readonly (readonly [string, string])[] = [
    ['addNumbers', 'add_numbers' satisfies SnakeCase<'addNumbers'>],
    ['AddNumbers', 'add_numbers' satisfies SnakeCase<'AddNumbers'>],
    ['readURL', 'read_url' satisfies SnakeCase<'readURL'>],
    ['URLOf', 'url_of' satisfies SnakeCase<'URLOf'>],
    ['get2Items', 'get2_items' satisfies SnakeCase<'get2Items'>],
    ['a1B', 'a1_b' satisfies SnakeCase<'a1B'>],
    ['already_snake', 'already_snake' satisfies SnakeCase<'already_snake'>],
    ['With-Dash', 'with-dash' satisfies SnakeCase<'With-Dash'>],
    ['A', 'a' satisfies SnakeCase<'A'>],
    ['ABC', 'abc' satisfies SnakeCase<'ABC'>],
    ['aBC', 'a_bc' satisfies SnakeCase<'aBC'>],
    ['XMLHttpRequest', 'xml_http_request' satisfies SnakeCase<'XMLHttpRequest'>],
  ]
  for (const [key, name] of names) assert.is(nameFrom(key), name)
})

test.run()
