// second tier: time
// shares a process
import * as assert from 'uvu/assert'
import { fakeClock } from 'caduceus/testing'
import { fromOpenApi, type OpenApiOptions } from 'caduceus/openapi'
import { suite, type TestContext } from '../../support/suite.js'
import { documentOf, serve, startApi, textsOf } from './_api.js'

const test = suite('what a document of OpenAPI costs')
const baseUrl = 'http://127.0.0.1:1'

/** Objects that refer to each other, as those of most APIs do, and two operations for each path. */
function connected(paths: number, schemas: number): object {
  const ref = (at: number) => ({ $ref: `#/components/schemas/T${at % schemas}` })
  const content = (at: number) => ({ content: { 'application/json': { schema: ref(at) } } })
  const responses = (at: number) => ({ 200: { description: 'ok', ...content(at) } })
  const each = <Value>(count: number, of: (at: number) => readonly [string, Value]) =>
    Object.fromEntries(Array.from({ length: count }, (_, at) => of(at)))
  return documentOf(
    each(paths, (at) => [
      `/things${at}/{id}`,
      {
        get: { operationId: `get${at}`, responses: responses(at) },
        put: { operationId: `put${at}`, requestBody: content(at), responses: responses(at) },
      },
    ]),
    {
      components: {
        schemas: each(schemas, (at) => {
          const texts = each(12, (field) => [`f${field}`, { type: 'string', description: `field ${field}` }])
          const others = { other: ref(at * 7 + 1), more: { type: 'array', items: ref(at * 11 + 5) } }
          return [`T${at}`, { type: 'object', properties: { ...texts, ...others } }]
        }),
      },
    },
  )
}

async function made(document: object | string, options: OpenApiOptions = {}) {
  process.once('warning', () => {})
  return fromOpenApi(document, { baseUrl, ...options })
}

function problem(document: string): Promise<string> {
  return made(document).then(
    () => assert.unreachable() as never,
    ({ message }) => message,
  )
}

type Definitions = Readonly<Record<string, object>>

test('a schema is written a few times, however many operations refer to it', async () => {
  const schemas = 100
  const { tools } = await made(connected(200, schemas))
  assert.is(tools.length, 400)
  const [written, used] = [new Set<object>(), { count: 0 }]
  for (const { schema, output } of tools)
    for (const one of [schema.jsonSchema, output?.jsonSchema] as ({ $defs?: Definitions } | undefined)[])
      for (const definition of Object.values(one?.$defs ?? {})) {
        written.add(definition)
        used.count += 1
      }
  assert.ok(used.count > 4_000, `${used.count} definitions`)
  // of each side with long notes, with short ones, and cut in a few sizes
  assert.ok(written.size < schemas * 2 * 5, `${written.size} written`)
})

test('a large document is made in many turns of the event loop', async () => {
  const { clock, turns } = countTurns()
  await made(connected(100, 10), { clock })
  assert.ok(turns.count > 20, `${turns.count} turns`)
})

test('many first calls at once have a turn of the event loop each', async () => {
  const { clock, turns } = countTurns()
  const { tools } = await made(connected(10, 100), { clock })
  const before = turns.count
  await Promise.all(tools.map(({ schema }) => schema.parse({})))
  assert.is(turns.count - before, tools.length)
  await Promise.all(tools.map(({ schema }) => schema.parse({})))
  assert.is(turns.count - before, tools.length)
})

/** Each look at the clock is a millisecond of work. */
function countTurns() {
  const turns = { count: 0 }
  let ms = 0
  const world = {
    ...fakeClock(),
    now: () => ms++,
    setImmediate: (fn: () => void) => {
      turns.count += 1
      return setImmediate(fn)
    },
  }
  return { clock: world as never, turns }
}

test('what a tool says does not depend on the other operations', async () => {
  const document = connected(40, 60)
  const all = await made(document)
  for (const at of [0, 17, 39]) {
    const { tools } = await made(document, { include: [`put${at}`] })
    const other = all.tools.find(({ name }) => name === `put${at}`)
    assert.equal(tools[0]?.schema.jsonSchema, other?.schema.jsonSchema)
    assert.equal(tools[0]?.output?.jsonSchema, other?.output?.jsonSchema)
  }
})

test('operations beyond the bound are left out, which is told first', async () => {
  const paths = Object.fromEntries(
    Array.from({ length: 5_010 }, (_, at) => [`/p${at}`, { get: at === 3 ? 5 : {} }]),
  )
  const { tools, omitted } = await made(documentOf(paths))
  assert.is(tools.length, 4_999)
  assert.is(omitted.length, 2)
  assert.is(omitted[0]?.path, '/p5000')
  assert.match(omitted[0]?.reason ?? '', /left out with all behind it.*5000 operations/)
  const some = await made(documentOf(paths), { include: ['/p500*'] })
  assert.is(some.tools.length, 11)
  assert.equal(some.omitted, [])
})

test('arguments of all operations are bounded as well', async () => {
  const properties = Object.fromEntries(Array.from({ length: 900 }, (_, at) => [`f${at}`, {}]))
  const requestBody = { content: { 'application/json': { schema: { $ref: '#/components/schemas/A' } } } }
  const paths = Object.fromEntries(
    Array.from({ length: 200 }, (_, at) => [`/p${at}`, { put: { requestBody } }]),
  )
  const { tools, omitted } = await made(
    documentOf(paths, { components: { schemas: { A: { type: 'object', properties } } } }),
  )
  assert.is(tools.length, 112)
  assert.match(omitted[0]?.reason ?? '', '100000 arguments')
})

test('an object whose fields have no room takes others', async () => {
  const fields = Object.fromEntries(
    Array.from({ length: 900 }, (_, at) => [`field_${at}`, { minLength: at }]),
  )
  const schema = {
    type: 'array',
    items: { type: 'object', properties: fields, additionalProperties: { type: 'integer' } },
  }
  const responses = { 200: { description: 'ok', content: { 'application/json': { schema } } } }
  const { tools } = await made(documentOf({ '/x': { get: { responses } } }))
  const output = tools[0]?.output?.jsonSchema as never as {
    properties: { result: { items: { properties: object; additionalProperties?: unknown } } }
  }
  const { items } = output.properties.result
  const { length } = Object.keys(items.properties)
  assert.ok(length > 50 && length < 900, `${length} fields`)
  assert.is(items.additionalProperties, undefined)
})

test('a first call generates no code for a large schema, and finds the same', async (t) => {
  const { url } = await startApi(t, (_asked, response) => {
    response.setHeader('content-type', 'application/json')
    response.end('{"f0":"x","f1":5,"other":{"f2":"y","more":[{"f3":7}]}}')
  })
  const { client, api } = await serve(t, connected(1, 100), { baseUrl: url })
  const schemas = api.tools.flatMap(({ schema, output }) => [schema.jsonSchema, output?.jsonSchema])
  assert.ok(schemas.some((schema) => JSON.stringify(schema).length > 20_000))
  const generated = countGenerated(t)
  const refused = await client.callTool('put0', { id: 'a', f0: 5, unknown: 1, other: { more: [{ f1: 6 }] } })
  assert.is(refused.isError, true)
  for (const issue of [
    'f0: expected a string, got an integer',
    'unknown: is not a known field',
    'other.more[0].f1: expected a string, got an integer',
  ])
    assert.match(textsOf(refused), issue)
  const { structuredContent, content } = await client.callTool('put0', { id: 'a', f0: 'x' })
  assert.equal(structuredContent, { f0: 'x', other: { f2: 'y', more: [{}] } })
  assert.match(textsOf({ content }), 'does not allow it: f1, other.more[0].f3.')
  assert.is(generated.count, 0)
  // a small one is compiled
  await client.callTool('get0', { id: 'a' })
  assert.ok(generated.count > 0)
})

test('patterns of names in a large schema take any value', async (t) => {
  const { url, asked } = await startApi(t)
  const fields = Object.fromEntries(Array.from({ length: 80 }, (_, at) => [`f${at}`, { type: 'string' }]))
  const schema = {
    type: 'object',
    properties: {
      inner: {
        type: 'object',
        properties: fields,
        patternProperties: { '^x-': { type: 'integer' } },
        additionalProperties: false,
      },
    },
  }
  const put = { operationId: 'op', requestBody: { content: { 'application/json': { schema } } } }
  const { client } = await serve(t, documentOf({ '/x': { put } }, { openapi: '3.1.0' }), { baseUrl: url })
  assert.is.not((await client.callTool('op', { inner: { f1: 'a', 'x-a': 5, other: 1 } })).isError, true)
  assert.is((await client.callTool('op', { inner: { f1: 5 } })).isError, true)
  assert.is(asked.length, 1)
})

test('long YAML is parsed in a thread of its own, short YAML is not', async (t) => {
  const threads = { count: 0 }
  const seen = () => {
    threads.count += 1
  }
  process.on('worker', seen)
  t.after(() => void process.off('worker', seen))
  const head =
    'openapi: 3.1.0\ninfo: { title: T, version: "1" }\npaths:\n  /x: { get: { operationId: op } }\n'
  const list = (items: number) => `${head}x-list:\n${'  - one\n'.repeat(items)}`
  assert.is((await made(list(10))).tools.length, 1)
  assert.is(threads.count, 0)
  assert.is((await made(list(10_000))).tools.length, 1)
  assert.is(threads.count, 1)
  assert.match(await problem(`${list(10_000)}x: [\ny`), 'neither JSON nor YAML')
})

test('YAML has a smaller bound than JSON, and says what to do', async () => {
  const text = `openapi: 3.1.0\n#${' '.repeat(9_000_000)}\npaths: {}\n`
  assert.match(await problem(text), 'write it as JSON')
  assert.is((await made(`{"openapi":"3.1.0",${' '.repeat(9_000_000)}"paths":{}}`)).tools.length, 0)
})

/** Counts what is compiled from texts. */
function countGenerated(t: TestContext): { count: number } {
  const generated = { count: 0 }
  const usual = globalThis.Function
  const counting = new Proxy(usual, {
    construct(target, texts) {
      generated.count += 1
      return Reflect.construct(target, texts)
    },
  })
  globalThis.Function = counting
  t.after(() => {
    globalThis.Function = usual
  })
  return generated
}

test.run()
