import { mkdirSync, mkdtempSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Ajv2020 } from 'ajv/dist/2020.js'
import * as assert from 'uvu/assert'
import { fromOpenApi, type OpenApiOptions } from 'caduceus/openapi'
import { suite } from '../../support/suite.js'
import { documentOf, ok, serve, serverOf, startApi, textsOf } from './_api.js'

const test = suite('documents of OpenAPI')
const baseUrl = 'http://127.0.0.1:1'

/** The tools of a document, and what is left out. */
async function made(document: object | string | URL, options: OpenApiOptions = {}) {
  const { tools, omitted } = await fromOpenApi(document, { baseUrl, ...options })
  return { names: tools.map(({ name }) => name), tools, omitted: omitted.map(({ reason }) => reason) }
}

async function problem(
  document: object | string | URL,
  options: OpenApiOptions = { baseUrl },
): Promise<string> {
  return fromOpenApi(document, options).then(
    () => assert.unreachable() as never,
    ({ code, message }) => `${code} ${message}`,
  )
}

function withSchema(schema: unknown, schemas: object = {}, openapi = '3.0.3'): object {
  const content = { 'application/json': { schema } }
  const responses = { 200: { description: 'ok', content } }
  return documentOf(
    { '/x': { post: { operationId: 'op', requestBody: { required: true, content }, responses } } },
    { openapi, components: { schemas } },
  )
}

test('a document is an object, a text of JSON or YAML, a file, or an address', async (t) => {
  const document = documentOf({ '/x': { get: { operationId: 'op', responses: ok } } })
  const text = JSON.stringify(document)
  const yaml =
    'openapi: 3.1.0\ninfo: { title: T, version: "1" }\npaths:\n  /x:\n    get: { operationId: op }\n'
  const folder = mkdtempSync(join(tmpdir(), 'openapi-'))
  writeFileSync(join(folder, 'api.yaml'), yaml)
  const { url } = await startApi(t, (_asked, response) => void response.end(text))
  for (const one of [document, text, yaml, join(folder, 'api.yaml'), new URL(`${url}/api.json`), `${url}/x`])
    assert.equal((await made(one)).names, ['op'])
})

test('what is no document is refused, saying what it is', async () => {
  assert.match(await problem({}), 'BAD_DEFINITION fromOpenApi: expected OpenAPI 2.0, 3.0 or 3.1')
  assert.match(await problem({ openapi: '4.0.0', paths: {} }), 'got version "4.0.0"')
  assert.match(await problem('swagger: "1.2"\n'), 'got version "1.2"')
  assert.match(await problem('a: [\nb'), 'neither JSON nor YAML')
  assert.match(await problem('/no/such/file.yaml'), 'cannot be read')
  assert.match(await problem(`${baseUrl}/api.json`), 'cannot be read')
  assert.match(await problem(5 as never), 'expected an object, a path')
})

test('options that are wrong are refused, and show no credential', async () => {
  const document = documentOf({}, { components: { securitySchemes: { key: { type: 'oauth2' } } } })
  assert.match(await problem(document, { baseUrl: 'ftp://x' }), 'BAD_OPTION fromOpenApi: baseUrl')
  assert.match(await problem(document, { baseUrl, auth: { kez: 's' } }), 'security scheme of the document')
  assert.match(await problem(document, { baseUrl, auth: { key: '' } }), 'auth.key')
  assert.match(await problem(document, { baseUrl, headers: { a: 'b\r\nc: d' } }), 'headers.a')
  assert.match(await problem(document, { baseUrl, includ: [] } as never), 'include')
  assert.match(await problem(document, {}), 'baseUrl: expected the address of the API')
})

test('servers say where the API is, with variables, also from where the document is', async (t) => {
  const paths = { '/x': { get: { operationId: 'op', responses: ok } } }
  const { url, asked } = await startApi(t, ({ url: path }, response) => {
    response.setHeader('content-type', 'application/json')
    response.end(
      path === '/docs/api.json' ? JSON.stringify(documentOf(paths, { servers: [{ url: '../v2/' }] })) : '{}',
    )
  })
  const relative = await serve(t, `${url}/docs/api.json`, {})
  await relative.client.callTool('op')
  assert.is(asked.at(-1)?.url, '/v2/x')
  const variables = { port: { default: new URL(url).port } }
  const server = { url: 'http://127.0.0.1:{port}/v3', variables }
  const filled = await serve(t, documentOf(paths, { servers: [server] }), {})
  await filled.client.callTool('op')
  assert.is(asked.at(-1)?.url, '/v3/x')
  const two = { swagger: '2.0', info: {}, host: new URL(url).host, basePath: '/v1', schemes: ['http'], paths }
  const old = await serve(t, two, {})
  await old.client.callTool('op')
  assert.is(asked.at(-1)?.url, '/v1/x')
})

test('names are those of the operations, within 64 characters, each once', async () => {
  const operation = (operationId?: string) => ({ get: { operationId, responses: ok } })
  const { names } = await made(
    documentOf({
      '/a': operation('repos/get'),
      '/b': operation('repos/get'),
      '/c/{id}/d.e': operation(),
      '/d': operation('x'.repeat(100)),
      '/e': operation('ünï'),
      '/f': operation(' '),
    }),
  )
  assert.equal(names.slice(0, 1), ['repos_get'])
  assert.match(names[1] ?? '', /^repos_get_[\da-f]{8}$/)
  assert.is(names[2], 'get_c_by_id_d_e')
  for (const name of names) assert.match(name, /^[\w-]{1,64}$/)
  assert.is(new Set(names).size, 6)
})

test('names stay when operations are added behind them', async () => {
  const paths = { '/a': { get: { operationId: 'one' } }, '/b': { get: {} } }
  const before = await made(documentOf(paths))
  const after = await made(documentOf({ ...paths, '/c': { get: { operationId: 'one' } }, '/d': { get: {} } }))
  assert.equal(after.names.slice(0, 2), before.names)
})

test('tags, operation ids, paths and methods say what is served', async () => {
  const paths = {
    '/pets': {
      get: { operationId: 'listPets', tags: ['pets'] },
      post: { operationId: 'addPet', tags: ['pets'] },
    },
    '/pets/{id}': { get: { operationId: 'getPet' } },
    '/users': { get: { operationId: 'listUsers', tags: ['users'] } },
  }
  const served = async (options: OpenApiOptions) => (await made(documentOf(paths), options)).names
  assert.equal(await served({ include: ['pets'] }), ['listPets', 'addPet'])
  assert.equal(await served({ include: ['/pets*'] }), ['listPets', 'addPet', 'getPet'])
  assert.equal(await served({ include: ['GET /*'], exclude: ['users'] }), ['listPets', 'getPet'])
  assert.equal(await served({ include: ['list*'] }), ['listPets', 'listUsers'])
  assert.equal(await served({ map: ({ tags }) => (tags.includes('pets') ? 'tool' : 'nothing') }), [
    'listPets',
    'addPet',
  ])
})

test('more than forty tools are warned of, with what to do', async () => {
  const paths = Object.fromEntries([...Array(41).keys()].map((at) => [`/p${at}`, { get: {} }]))
  const warned = new Promise<Error>((resolve) => process.once('warning', resolve))
  await made(documentOf(paths))
  const { message } = await warned
  assert.match(message, '41 tools')
  assert.match(message, 'include')
  assert.match(message, 'toolSearch')
})

test('annotations follow the methods', async () => {
  const methods = ['get', 'put', 'post', 'delete']
  const { tools } = await made(
    documentOf({ '/x': Object.fromEntries(methods.map((method) => [method, {}])) }),
  )
  const hints = Object.fromEntries(tools.map(({ name, annotations }) => [name, annotations]))
  assert.is(hints.get_x?.readOnlyHint, true)
  assert.is(hints.put_x?.idempotentHint, true)
  assert.is(hints.post_x?.destructiveHint, undefined)
  assert.is(hints.delete_x?.destructiveHint, true)
})

test('schemas of 3.0 become JSON Schema 2020-12', async () => {
  const { tools } = await made(
    withSchema(
      {
        type: 'object',
        properties: {
          above: { type: 'integer', minimum: 1, exclusiveMinimum: true, example: 3 },
          maybe: { type: 'string', nullable: true, enum: ['a'] },
          example: { type: 'string' },
          nullable: { nullable: true, allOf: [{ $ref: '#/components/schemas/S' }] },
          either: { oneOf: [{ type: 'string' }, { type: 'integer' }], discriminator: { propertyName: 'x' } },
          bytes: { type: 'string', format: 'binary' },
          again: { type: 'string', pattern: '(a)\\1' },
          needless: { type: 'string', pattern: '^[\\w\\:\\-]+\\/$' },
          wrong: { type: 'string', pattern: '[\\_]' },
        },
      },
      { S: { type: 'string' } },
    ),
  )
  const { properties, $defs } = (tools[0] ?? (assert.unreachable() as never)).schema.jsonSchema as Record<
    string,
    object
  >
  assert.equal(properties, {
    above: { type: 'integer', exclusiveMinimum: 1, examples: [3] },
    maybe: { type: ['string', 'null'], enum: ['a', null] },
    example: { type: 'string' },
    nullable: { anyOf: [{ allOf: [{ $ref: '#/$defs/S' }] }, { type: 'null' }] },
    either: { anyOf: [{ type: 'string' }, { type: 'integer' }] },
    bytes: { type: 'string', contentEncoding: 'base64' },
    again: { type: 'string' },
    needless: { type: 'string', pattern: '^[\\w:\\-]+\\/$' },
    wrong: { type: 'string' },
  })
  assert.equal($defs, { S: { type: 'string' } })
})

test('what the API sets is no argument, and what it hides no result', async () => {
  const properties = {
    id: { type: 'string', readOnly: true },
    secret: { type: 'string', writeOnly: true },
    n: {},
  }
  const { tools } = await made(withSchema({ type: 'object', required: ['id', 'n'], properties }))
  const [tool] = tools
  assert.equal(Object.keys(tool?.schema.jsonSchema.properties as object), ['secret', 'n'])
  assert.equal(tool?.schema.jsonSchema.required, ['n'])
  assert.equal(Object.keys(tool?.output?.jsonSchema.properties as object), ['id', 'n'])
  assert.is(tool?.output?.jsonSchema.required, undefined)
})

test('a result that is no object stands in result', async (t) => {
  const { url } = await startApi(t, (_asked, response) => {
    response.setHeader('content-type', 'application/json')
    response.end('[1,"two",3]')
  })
  const { client } = await serve(t, withSchema({ type: 'array', items: { type: 'integer' } }), {
    baseUrl: url,
  })
  const { structuredContent, content } = await client.callTool('op', { body: [] })
  assert.equal(structuredContent, {})
  assert.match(textsOf({ content }), '[1,"two",3]')
})

test('schemas that go on for ever are cut, and compile', async () => {
  const schemas = Object.fromEntries(
    [...Array(500).keys()].map((at) => [
      `S${at}`,
      {
        type: 'object',
        description: 'x'.repeat(500),
        properties: {
          self: { $ref: `#/components/schemas/S${at}` },
          next: { $ref: `#/components/schemas/S${at + 1}` },
        },
      },
    ]),
  )
  const document = withSchema({ $ref: '#/components/schemas/S0' }, { ...schemas, S500: {} })
  const { tools } = await made(document)
  const { schema, output } = tools[0] ?? (assert.unreachable() as never)
  assert.ok(JSON.stringify(schema.jsonSchema).length < 80_000)
  assert.ok(JSON.stringify(output?.jsonSchema).length < 40_000)
  for (const one of [schema, output]) new Ajv2020({ strict: false }).compile(one?.jsonSchema ?? {})
})

const folderOf = (): string => {
  const folder = mkdtempSync(join(tmpdir(), 'openapi-'))
  mkdirSync(join(folder, 'api', 'parts'), { recursive: true })
  writeFileSync(join(folder, 'secret.json'), '{"get":{"operationId":"secret"}}')
  writeFileSync(join(folder, 'api', 'parts', 'x.yaml'), 'get: { operationId: op }\n')
  symlinkSync(join(folder, 'secret.json'), join(folder, 'api', 'link.json'))
  return join(folder, 'api')
}

test('references lead nowhere unless they may, and then only beside the document', async () => {
  const folder = folderOf()
  const file = (name: string, $ref: string): string => {
    writeFileSync(join(folder, name), JSON.stringify(documentOf({ '/x': { $ref }, '/y': { get: {} } })))
    return join(folder, name)
  }
  const inside = file('inside.json', './parts/x.yaml')
  const { omitted, names } = await made(inside)
  assert.equal(names, ['get_y'])
  assert.match(omitted[0] ?? '', 'leads out of the document')
  assert.equal((await made(inside, { references: ['files'] })).names, ['op', 'get_y'])
  for (const way of ['../secret.json', './link.json', '/etc/passwd', `file://${folder}/../secret.json`])
    assert.match(await problem(file('out.json', way), { baseUrl, references: ['files'] }), 'BAD_DEFINITION')
})

test('references lead to the network only where they may', async (t) => {
  const { url, asked } = await startApi(
    t,
    (_asked, response) => void response.end('{"get":{"operationId":"op"}}'),
  )
  const document = documentOf({ '/x': { $ref: `${url}/x.json` } })
  await made(document)
  await problem(document, { baseUrl, references: ['files'] })
  // of nobody knows where: into our own network it leads not
  await problem(document, { baseUrl, references: ['network'] })
  assert.is(asked.length, 0)
})

const cyclic: { self?: object; openapi: string } = { openapi: '3.0.0' }
cyclic.self = cyclic
const deep = (levels: number): object => (levels === 0 ? {} : { properties: { a: deep(levels - 1) } })
const hostile: readonly [string, object | string, RegExp | readonly string[]][] = [
  ['an object that holds itself', cyclic, /holds itself/],
  ['paths that are a list', documentOf([1, 2] as never), []],
  ['no paths', { openapi: '3.1.0', info: {} }, []],
  ['paths that are null', documentOf(null as never), []],
  [
    'a path item in a circle',
    documentOf({ '/a': { $ref: '#/paths/~1b' }, '/b': { $ref: '#/paths/~1a' } }),
    [],
  ],
  [
    'a parameter in a circle',
    documentOf(
      { '/a': { get: { parameters: [{ $ref: '#/components/parameters/A' }] } }, '/b': { get: {} } },
      { components: { parameters: { A: { $ref: '#/components/parameters/A' } } } },
    ),
    ['get_b'],
  ],
  [
    'a schema in a circle of allOf',
    withSchema({ $ref: '#/components/schemas/A' }, { A: { allOf: [{ $ref: '#/components/schemas/A' }] } }),
    [],
  ],
  [
    'a schema in many circles of allOf',
    withSchema(
      { $ref: '#/components/schemas/A' },
      { A: { allOf: Array.from({ length: 20 }, () => ({ $ref: '#/components/schemas/A' })) } },
    ),
    [],
  ],
  [
    'an argument of many fields',
    withSchema({
      type: 'object',
      properties: Object.fromEntries(Array.from({ length: 1_500 }, (_, at) => [`f${at}`, {}])),
    }),
    [],
  ],
  ['TRACE, which returns what was sent', documentOf({ '/a': { trace: {}, get: {} } }), ['get_a']],
  [
    'names that clash with those made for others',
    documentOf({
      '/a': { get: { operationId: 'a_088b3148' }, put: { operationId: 'a' } },
      '/b': { get: { operationId: 'a' }, put: { operationId: 'a' } },
    }),
    ['a_088b3148', 'a', 'a_db789e7b', 'a_843e62b5'],
  ],
  [
    'aliases of one list, many times',
    `openapi: 3.0.0\nl: &l\n${'  - {}\n'.repeat(900)}all:\n${'  - *l\n'.repeat(3_000)}`,
    /alias/,
  ],
  ['a reference to nothing', withSchema({ $ref: '#/components/schemas/B' }), []],
  [
    'names of prototypes',
    JSON.parse(
      '{"openapi":"3.0.0","info":{},"paths":{"/a":{"post":{"operationId":"__proto__","requestBody":{"content":{"application/json":{"schema":{"type":"object","properties":{"__proto__":{"type":"object"},"constructor":{"$ref":"#/components/schemas/__proto__"}}}}}}}}},"components":{"schemas":{"__proto__":{"type":"string"}}}}',
    ),
    ['__proto__'],
  ],
  [
    'a description of 10 MB',
    documentOf({ '/a': { get: { description: 'x'.repeat(10_000_000), summary: 'y'.repeat(10_000_000) } } }),
    ['get_a'],
  ],
  ['a path without its parameter', documentOf({ '/a/{id}': { get: {} } }), ['get_a_by_id']],
  ['a path with a parameter without a name', documentOf({ '/a/{}': { get: {} } }), []],
  ['an empty path', documentOf({ '': { get: {} }, '/x': { get: {} } }), ['get_x']],
  [
    'a path that is an address',
    documentOf({ 'http://x/y': { get: {} }, '//evil/x': { get: {} } }),
    ['get_evil_x'],
  ],
  ['operations that are none', documentOf({ '/a': { get: 5, put: null, post: [], patch: {} } }), ['patch_a']],
  [
    'parameters that are none',
    documentOf({ '/a': { get: { parameters: [null, 5, {}, { name: 1 }, { name: 'x', in: 'nowhere' }] } } }),
    ['get_a'],
  ],
  [
    'a schema that is none',
    withSchema({ type: 'strange', required: true, properties: [], enum: 'a', items: 7, minimum: 'a' }),
    ['op'],
  ],
  ['a schema of a thousand levels', withSchema(deep(1_000)), /more than 200 levels/],
  ['a schema of 60 levels', withSchema(deep(60)), ['op']],
  ['a pattern that takes for ever', withSchema({ type: 'string', pattern: '(a+)+$' }), ['op']],
  [
    'aliases of aliases',
    `openapi: 3.0.0\na: &a [1,1,1,1,1,1,1,1,1]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]\nd: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c]\ne: [*d,*d,*d,*d,*d,*d,*d,*d,*d]\n`,
    /alias/,
  ],
  [
    'servers that are none',
    documentOf({ '/a': { get: { servers: [{ url: 5 }, null] } } }, { servers: 'x' }),
    ['get_a'],
  ],
  [
    'a server of the same host elsewhere, or of another one without a scheme',
    documentOf(
      {
        '/a': { get: { servers: [{ url: 'https://pets.example/v2' }] } },
        '/b': { get: { servers: [{ url: '/v2' }] } },
        '/c': { get: { servers: [{ url: '//evil.example/v1' }] } },
        '/d': { get: { servers: [{ url: '/v1/' }] } },
        '/e': { servers: [{ url: 'https://other.example' }, { url: 'https://pets.example/v1' }], get: {} },
      },
      { servers: [{ url: 'https://pets.example/v1' }] },
    ),
    ['get_d', 'get_e'],
  ],
  ['a server elsewhere', documentOf({ '/a': { get: { servers: [{ url: 'https://evil.example' }] } } }), []],
  [
    'a media type with a line end',
    documentOf({ '/a': { post: { requestBody: { content: { 'a/b\r\nx: y': {} } } } } }),
    [],
  ],
  [
    'security that is none',
    documentOf(
      { '/a': { get: { security: [null, 5, { a: 'b' }] } } },
      { components: { securitySchemes: { a: 5 } } },
    ),
    ['get_a'],
  ],
]

for (const [what, document, expected] of hostile) {
  test(
    `a nasty document is refused, or served: ${what}`,
    async (t) => {
      if (expected instanceof RegExp) return void assert.match(await problem(document), expected)
      const { names, tools, omitted } = await made(document)
      assert.equal(names, expected)
      for (const reason of omitted) assert.ok(reason.length > 5 && reason.length < 500)
      for (const { schema } of tools)
        new Ajv2020({ strict: false, validateFormats: false }).compile(schema.jsonSchema)
      const api = await startApi(t)
      const { client } = await serve(t, document, { baseUrl: api.url })
      const listed = []
      for await (const { name } of client.tools()) listed.push(name)
      assert.equal(listed, expected)
      for (const name of listed) {
        const { required = [] } = (tools.find((one) => one.name === name)?.schema.jsonSchema ?? {}) as never
        await client.callTool(name, Object.fromEntries((required as string[]).map((key) => [key, 'x'])))
      }
      assert.is(({} as { polluted?: unknown }).polluted, undefined)
    },
    { timeout: 10_000 },
  )
}

test('a server of a thousand operations compiles the schemas of those that are called', async (t) => {
  const { url } = await startApi(t)
  const parameters = [{ name: 'q', in: 'query', schema: { type: 'integer' } }]
  const paths = Object.fromEntries([...Array(1_000).keys()].map((at) => [`/p${at}`, { get: { parameters } }]))
  process.once('warning', () => {})
  const { api, client } = await serve(t, documentOf(paths), { baseUrl: url })
  assert.is(serverOf(api).tools.length, 1_000)
  assert.is((await client.callTool('get_p7', { q: 'x' })).isError, true)
})

test.run()
