import * as assert from 'uvu/assert'
import { heard } from '../../support/heard.js'
import { suite } from '../../support/suite.js'
import { type Answer, documentOf, ok, serve, startApi, textsOf } from './_api.js'

const test = suite('calls of an API')

const pets = documentOf(
  {
    '/pets/{petId}': {
      get: {
        operationId: 'getPet',
        summary: 'One pet',
        parameters: [
          { name: 'petId', in: 'path', required: true, schema: { type: 'string' } },
          { name: 'verbose', in: 'query', schema: { type: 'boolean' } },
        ],
        responses: {
          200: {
            description: 'the pet',
            content: { 'application/json': { schema: { $ref: '#/components/schemas/Pet' } } },
          },
        },
      },
    },
  },
  {
    components: {
      schemas: {
        Pet: {
          type: 'object',
          required: ['id', 'name'],
          properties: {
            id: { type: 'integer' },
            name: { type: 'string' },
            mother: { $ref: '#/components/schemas/Pet' },
          },
        },
      },
    },
  },
)

function json(value: unknown, status = 200): Answer {
  return (_asked, response) => {
    response.writeHead(status, { 'content-type': 'application/json' })
    response.end(JSON.stringify(value))
  }
}

test('an operation is a tool, and its answer structured content', async (t) => {
  const { url, asked } = await startApi(t, json({ id: 1, name: 'Rex' }))
  const { client } = await serve(t, pets, { baseUrl: `${url}/v1` })
  const { structuredContent } = await client.callTool('getPet', { petId: 'a b', verbose: true })
  assert.equal(structuredContent, { id: 1, name: 'Rex' })
  assert.is(asked[0]?.url, '/v1/pets/a%20b?verbose=true')
})

test('what does not fit the output schema is left out, and told', async (t) => {
  const { url } = await startApi(t, json({ id: 'one', name: 'Rex', mother: { id: null, name: 'Ada' } }))
  const { client } = await serve(t, pets, { baseUrl: url })
  const result = await client.callTool('getPet', { petId: '1' })
  assert.equal(result.structuredContent, { name: 'Rex', mother: { name: 'Ada' } })
  assert.match(textsOf(result), '"id":"one"')
  assert.match(textsOf(result), 'does not allow it: id, mother.id')
})

test('no value of a path reaches another path', async (t) => {
  const { url, asked } = await startApi(t)
  const { client } = await serve(t, pets, { baseUrl: url, output: false })
  const refused = ['..', '.', '', '../admin', 'a/../../b', '%2e%2e', '%2e%2e%2fadmin', '%252e%252e%252fx']
  refused.push('%2e%2e%2fadmin%zz', '%25252e%25252e/x', `%${'25'.repeat(9)}2e./x`)
  for (const petId of [...refused, '..\\x', '..;/x', 'a\u0000', 'a\r\nx: y'])
    assert.is((await client.callTool('getPet', { petId })).isError, true, petId)
  assert.is(asked.length, 0)
  for (const petId of ['a/b', '?admin=1', '#x', '%2f', 'é', '...']) await client.callTool('getPet', { petId })
  assert.equal(
    asked.map((one) => one.url),
    ['a%2Fb', '%3Fadmin%3D1', '%23x', '%252f', '%C3%A9', '...'].map((petId) => `/pets/${petId}`),
  )
})

const styles: readonly [string, string, object, unknown, string][] = [
  ['path', 'simple', {}, ['a', 'b'], '/x/a,b'],
  ['path', 'simple', { explode: true }, { a: 1, b: 2 }, '/x/a=1,b=2'],
  ['path', 'label', {}, ['a', 'b'], '/x/.a,b'],
  ['path', 'label', { explode: true }, ['a', 'b'], '/x/.a.b'],
  ['path', 'matrix', {}, ['a', 'b'], '/x/;p=a,b'],
  ['path', 'matrix', { explode: true }, ['a', 'b'], '/x/;p=a;p=b'],
  ['path', 'matrix', { explode: true }, { a: 1, b: 2 }, '/x/;a=1;b=2'],
  ['query', 'form', {}, ['a', 'b&c'], '/x?p=a&p=b%26c'],
  ['query', 'form', { explode: false }, ['a', 'b'], '/x?p=a,b'],
  ['query', 'form', {}, { a: 1, b: 'x y' }, '/x?a=1&b=x%20y'],
  ['query', 'form', { explode: false }, { a: 1, b: 2 }, '/x?p=a,1,b,2'],
  ['query', 'form', {}, [], '/x'],
  ['query', 'spaceDelimited', { explode: false }, ['a', 'b'], '/x?p=a%20b'],
  ['query', 'pipeDelimited', { explode: false }, ['a', 'b'], '/x?p=a%7Cb'],
  ['query', 'deepObject', {}, { a: 1, b: { c: 'd' } }, '/x?p%5Ba%5D=1&p%5Bb%5D%5Bc%5D=d'],
  ['query', 'form', { allowReserved: true }, 'a/b?c&d#e', '/x?p=a/b?c%26d%23e'],
]

for (const [place, style, how, value, url] of styles) {
  test(`${place} in ${style} ${JSON.stringify(how)} of ${JSON.stringify(value)}`, async (t) => {
    const api = await startApi(t)
    const path = place === 'path' ? '/x/{p}' : '/x'
    const parameter = { name: 'p', in: place, required: place === 'path', style, schema: {}, ...how }
    const document = documentOf({
      [path]: { get: { operationId: 'op', parameters: [parameter], responses: ok } },
    })
    const { client } = await serve(t, document, { baseUrl: api.url, output: false })
    await client.callTool('op', { p: value })
    assert.is(api.asked[0]?.url, url)
  })
}

test('headers and cookies are sent, and nothing is injected into them', async (t) => {
  const { url, asked } = await startApi(t)
  const parameters = [
    { name: 'X-Ids', in: 'header', schema: { type: 'array', items: {} } },
    { name: 'Host', in: 'header', schema: { type: 'string' } },
    { name: 'theme', in: 'cookie', schema: { type: 'string' } },
  ]
  const document = documentOf({ '/x': { get: { operationId: 'op', parameters, responses: ok } } })
  const { client, api } = await serve(t, document, { baseUrl: url, output: false })
  assert.equal(Object.keys(api.tools[0]?.schema.jsonSchema.properties as object), ['X-Ids', 'theme'])
  await client.callTool('op', { 'X-Ids': ['1', '2'], theme: 'a; admin=1' })
  assert.is(asked[0]?.headers['x-ids'], '1,2')
  assert.is(asked[0]?.headers.cookie, 'theme=a%3B%20admin%3D1')
  const { isError } = await client.callTool('op', { 'X-Ids': ['a\r\nx-admin: 1'] })
  assert.is(isError, true)
  assert.is(asked.length, 1)
})

function posting(content: object, required = true): object {
  return documentOf({
    '/x/{id}': {
      post: {
        operationId: 'op',
        parameters: [{ name: 'id', in: 'path', required: true, schema: { type: 'string' } }],
        requestBody: { required, content },
        responses: ok,
      },
    },
  })
}

test('fields of a JSON body are arguments; one that clashes has its place before it', async (t) => {
  const { url, asked } = await startApi(t)
  const schema = {
    type: 'object',
    required: ['id', 'made'],
    properties: {
      id: { type: 'integer' },
      made: { type: 'string', readOnly: true },
      'a.b': { type: 'string' },
    },
  }
  const document = posting({ 'application/vnd.x+json': { schema } })
  const { client, api } = await serve(t, document, { baseUrl: url, output: false })
  const { properties, required } = (api.tools[0] ?? (assert.unreachable() as never)).schema
    .jsonSchema as Record<string, object>
  assert.equal(Object.keys(properties ?? {}), ['id', 'body_id', 'a_b'])
  assert.equal(required, ['id', 'body_id'])
  await client.callTool('op', { id: 'one', body_id: 2, a_b: 'x' })
  assert.is(asked[0]?.url, '/x/one')
  assert.is(asked[0]?.headers['content-type'], 'application/vnd.x+json')
  assert.equal(JSON.parse(String(asked[0]?.body)), { id: 2, 'a.b': 'x' })
})

test('a body that is no plain object is one argument', async (t) => {
  const { url, asked } = await startApi(t)
  const schema = { oneOf: [{ type: 'array', items: { type: 'integer' } }, { type: 'object' }] }
  const { client } = await serve(t, posting({ 'application/json': { schema } }), {
    baseUrl: url,
    output: false,
  })
  await client.callTool('op', { id: '1', body: [1, 2] })
  assert.is(String(asked[0]?.body), '[1,2]')
})

test('forms are encoded as HTML does', async (t) => {
  const { url, asked } = await startApi(t)
  const schema = {
    type: 'object',
    properties: { name: { type: 'string' }, tags: { type: 'array', items: {} }, meta: { type: 'object' } },
  }
  const document = posting({ 'application/x-www-form-urlencoded': { schema } })
  const { client } = await serve(t, document, { baseUrl: url, output: false })
  await client.callTool('op', { id: '1', name: 'a b&c', tags: [1, 2], meta: { k: 'v' } })
  const form = new URLSearchParams(String(asked[0]?.body))
  assert.equal(
    [...form],
    [
      ['name', 'a b&c'],
      ['tags', '1'],
      ['tags', '2'],
      ['meta[k]', 'v'],
    ],
  )
})

test('files of a multipart form are base64 in the arguments, and bytes on the wire', async (t) => {
  const { url, asked } = await startApi(t)
  const schema = {
    type: 'object',
    properties: {
      file: { type: 'string', format: 'binary' },
      note: { type: 'string' },
      more: { type: 'object' },
    },
  }
  const document = posting({ 'multipart/form-data': { schema } })
  const { client } = await serve(t, document, { baseUrl: url, output: false })
  const bytes = Buffer.from([0, 255, 13, 10])
  await client.callTool('op', { id: '1', file: bytes.toString('base64'), note: 'a\r\n--x', more: { a: 1 } })
  const { headers, body } = asked[0] ?? (assert.unreachable() as never)
  const form = await new Response(new Uint8Array(body), {
    headers: { 'content-type': String(headers['content-type']) },
  }).formData()
  assert.equal(Buffer.from(await (form.get('file') as File).arrayBuffer()), bytes)
  assert.is(form.get('note'), 'a\r\n--x')
  assert.is(form.get('more'), '{"a":1}')
  assert.is((await client.callTool('op', { id: '1', file: 'no base64!' })).isError, true)
})

test('other bodies are bytes, in base64, or text', async (t) => {
  const { url, asked } = await startApi(t)
  const binary = await serve(t, posting({ 'application/octet-stream': {} }), { baseUrl: url, output: false })
  await binary.client.callTool('op', { id: '1', body: 'AP8=' })
  const text = await serve(t, posting({ 'text/csv': {} }), { baseUrl: url, output: false })
  await text.client.callTool('op', { id: '1', body: 'a,b' })
  assert.equal(asked[0]?.body, Buffer.from([0, 255]))
  assert.is(String(asked[1]?.body), 'a,b')
})

test('what Swagger 2.0 says is sent as it says', async (t) => {
  const { url, asked } = await startApi(t)
  const list = { type: 'array', items: { type: 'string' } }
  const document = {
    swagger: '2.0',
    info: { title: 'Old', version: '1' },
    paths: {
      '/x': {
        get: {
          operationId: 'get',
          parameters: [
            { name: 'csv', in: 'query', ...list },
            { name: 'pipes', in: 'query', ...list, collectionFormat: 'pipes' },
            { name: 'tsv', in: 'query', ...list, collectionFormat: 'tsv' },
            { name: 'multi', in: 'query', ...list, collectionFormat: 'multi' },
            { name: 'above', in: 'query', type: 'integer', minimum: 1, exclusiveMinimum: true },
          ],
          responses: {},
        },
        post: {
          operationId: 'post',
          consumes: ['multipart/form-data'],
          parameters: [
            { name: 'f', in: 'formData', type: 'file', required: true },
            { $ref: '#/parameters/n' },
          ],
          responses: {},
        },
      },
    },
    parameters: { n: { name: 'n', in: 'formData', type: 'string' } },
  }
  const { client } = await serve(t, document, { baseUrl: url })
  const ab = ['a', 'b']
  await client.callTool('get', { csv: ab, pipes: ab, tsv: ab, multi: ab, above: 2 })
  assert.is(asked[0]?.url, '/x?csv=a,b&pipes=a%7Cb&tsv=a%09b&multi=a&multi=b&above=2')
  assert.is((await client.callTool('get', { above: 1 })).isError, true)
  await client.callTool('post', { f: 'AA==', n: 'x' })
  assert.match(String(asked[1]?.body), 'filename="f"')
})

test('an error of the API is told with status and body, cut at a limit', async (t) => {
  const { url } = await startApi(t, json({ message: `no such pet\u001b[2J${'!'.repeat(10_000)}` }, 404))
  const { client } = await serve(t, pets, { baseUrl: url })
  const result = await client.callTool('getPet', { petId: '1' })
  assert.is(result.isError, true)
  assert.match(textsOf(result), 'answered 404')
  assert.match(textsOf(result), 'no such pet')
  assert.ok(textsOf(result).length < 5_000)
})

test('big results are cut while they are read, and say so', async (t) => {
  let written = 0
  const { url } = await startApi(t, (_asked, response) => {
    response.setHeader('content-type', 'text/plain')
    const more = (): void => {
      while (!response.destroyed && response.write('x'.repeat(65_536))) written += 65_536
    }
    response.on('drain', more)
    more()
  })
  const { client } = await serve(t, pets, { baseUrl: url, output: false, maxBytes: 1_000 })
  const { content } = await client.callTool('getPet', { petId: '1' })
  assert.is((content[0] as { text: string }).text.length, 1_000)
  assert.match(textsOf({ content }), 'Only the first 1000 bytes')
  assert.ok(written < 20_000_000)
})

test('pictures, sound and other bytes are content of their kind', async (t) => {
  const bytes = Buffer.from([1, 2, 3])
  const kinds = ['image/png', 'audio/wav', 'application/pdf', 'image/svg+xml; x=\u00e9']
  const { url } = await startApi(t, (_asked, response, count) => {
    response.setHeader('content-type', kinds[count - 1] ?? '')
    response.end(bytes)
  })
  const { client } = await serve(t, pets, { baseUrl: url, output: false })
  const found = []
  for (const _ of kinds) found.push(...(await client.callTool('getPet', { petId: '1' })).content)
  assert.equal(
    found.map(({ type }) => type),
    ['image', 'audio', 'resource', 'image'],
  )
})

test('429 is repeated after the time that it asks for, also of a POST', async (t) => {
  const { url, asked } = await startApi(t, (_asked, response, count) => {
    if (count === 1) response.writeHead(429, { 'retry-after': '0' }).end()
    else response.writeHead(200, { 'content-type': 'application/json' }).end('{}')
  })
  const { client } = await serve(t, posting({}), { baseUrl: url, output: false })
  assert.not.ok((await client.callTool('op', { id: '1' })).isError)
  assert.is(asked.length, 2)
})

test('503 is repeated for what only reads, and no wait is longer than the call', async (t) => {
  const { url, asked } = await startApi(t, (_asked, response, count) => {
    response.writeHead(503, { 'retry-after': count === 1 ? '0' : '60' }).end()
  })
  const read = await serve(t, pets, { baseUrl: url })
  const result = await read.client.callTool('getPet', { petId: '1' })
  assert.match(textsOf(result), 'answered 503. It may be asked again in 60 s.')
  assert.is(asked.length, 2)
  const post = await serve(t, posting({}), { baseUrl: url })
  assert.is((await post.client.callTool('op', { id: '1' })).isError, true)
  assert.is(asked.length, 3)
})

test('a call that is over its time ends the request', async (t) => {
  const closed = heard<void>()
  const { url, asked } = await startApi(
    t,
    (_asked, response) => void response.on('close', () => closed.add()),
  )
  const { client } = await serve(t, pets, { baseUrl: url, timeout: 50, breaker: false })
  do {
    const result = await client.callTool('getPet', { petId: '1' })
    assert.match(textsOf(result), 'did not answer within 50 ms')
    // where a machine stands still, the time may be over before the API has heard of it
  } while (asked.length === 0)
  await closed.next()
})

test('a call that is cancelled ends the request', async (t) => {
  const controller = new AbortController()
  let ended: (() => void) | undefined
  const closed = new Promise<void>((resolve) => {
    ended = resolve
  })
  const { url } = await startApi(t, (_asked, response) => {
    response.on('close', () => ended?.())
    controller.abort()
  })
  const { client } = await serve(t, pets, { baseUrl: url })
  const call = client.callTool('getPet', { petId: '1' }, { signal: controller.signal })
  await call.then(
    () => assert.unreachable(),
    () => {},
  )
  await closed
})

test('an API that fails again and again is left alone for a while', async (t) => {
  const { url, asked } = await startApi(t, (_asked, response) => void response.writeHead(500).end())
  const { client } = await serve(t, pets, { baseUrl: url, breaker: { failures: 2 } })
  for (let call = 0; call < 2; call++) await client.callTool('getPet', { petId: '1' })
  await client.callTool('getPet', { petId: '1' }).then(
    () => assert.unreachable(),
    (error: Error) => {
      assert.match(error.message, 'has failed 2 times in a row, and rests')
    },
  )
  assert.is(asked.length, 2)
})

test('an API that drops connections is left alone for a while, too', async (t) => {
  const { url } = await startApi(t, (_asked, response) => void response.destroy())
  const { client } = await serve(t, pets, { baseUrl: url, breaker: { failures: 2 } })
  for (let call = 0; call < 2; call++)
    assert.match((await client.callTool('getPet', { petId: '1' })).text, /cannot be reached/)
  const problem = await client.callTool('getPet', { petId: '1' }).catch(String)
  assert.match(String(problem), 'has failed 2 times in a row, and rests')
})

const secured = (scheme: object, security: object = [{ s: [] }]): object =>
  documentOf(
    { '/x': { get: { operationId: 'op', responses: ok } } },
    { components: { securitySchemes: { s: scheme } }, security },
  )

const schemes: readonly [object, string, (asked: { url: string; headers: object }) => unknown, string][] = [
  [
    { type: 'apiKey', in: 'header', name: 'X-Key' },
    'secret-1',
    ({ headers }) => Reflect.get(headers, 'x-key'),
    'secret-1',
  ],
  [{ type: 'apiKey', in: 'query', name: 'key' }, 'secret&1', ({ url }) => url, '/x?key=secret%261'],
  [
    { type: 'apiKey', in: 'cookie', name: 'sid' },
    'secret-1',
    ({ headers }) => Reflect.get(headers, 'cookie'),
    'sid=secret-1',
  ],
  [
    { type: 'http', scheme: 'Basic' },
    'ada:secret',
    ({ headers }) => Reflect.get(headers, 'authorization'),
    `Basic ${btoa('ada:secret')}`,
  ],
  [
    { type: 'http', scheme: 'bearer' },
    'secret-1',
    ({ headers }) => Reflect.get(headers, 'authorization'),
    'Bearer secret-1',
  ],
  [
    { type: 'oauth2', flows: {} },
    'secret-1',
    ({ headers }) => Reflect.get(headers, 'authorization'),
    'Bearer secret-1',
  ],
]

for (const [scheme, value, sentAs, expected] of schemes) {
  test(`credentials are sent, and never shown: ${JSON.stringify(scheme)}`, async (t) => {
    const { url, asked } = await startApi(t, ({ url: path, headers }, response) => {
      response.writeHead(asked.length === 1 ? 200 : 400, { 'content-type': 'text/plain' })
      response.end(`${path} ${JSON.stringify(headers)}`)
    })
    const { client } = await serve(t, secured(scheme), { baseUrl: url, output: false, auth: { s: value } })
    for (let call = 0; call < 2; call++) {
      const text = textsOf(await client.callTool('op'))
      assert.not.ok(text.includes(value), text)
      assert.not.ok(text.includes(expected.replace(/^\w+ /, '')), text)
    }
    assert.is(sentAs(asked[0] ?? (assert.unreachable() as never)), expected)
  })
}

test('an answer that was cut, or is written as PHP does, shows no part of a secret', async (t) => {
  const secret = 'abcd/efgh/secret-1'
  const bodies = [
    JSON.stringify({ said: secret, more: 'x'.repeat(20_000) }).replaceAll('/', '\\/'),
    `${'x'.repeat(30_000 - 10)}${secret}`,
  ]
  const { url, asked } = await startApi(t, (_asked, response) => {
    response.writeHead(200, { 'content-type': asked.length === 1 ? 'application/json' : 'text/plain' })
    response.end(bodies[asked.length - 1])
  })
  const scheme = { type: 'http', scheme: 'bearer' }
  const options = { baseUrl: url, output: false as const, auth: { s: secret }, maxBytes: 30_000 }
  const { client } = await serve(t, secured(scheme), options)
  for (const _ of bodies) {
    const result = await client.callTool('op')
    assert.not.match(JSON.stringify(result), /abcd/)
  }
})

test('a long result shows no credential either', async (t) => {
  const { url } = await startApi(t, ({ headers }, response) => {
    const sent = String(headers.authorization).slice('Bearer '.length)
    const told = [sent, encodeURIComponent(sent), btoa(sent)]
    response.setHeader('content-type', 'application/json').end(JSON.stringify([...told, 'x'.repeat(20_000)]))
  })
  const auth = { s: 'se"cret/1' }
  const { client } = await serve(t, secured({ type: 'http', scheme: 'bearer' }), {
    baseUrl: url,
    output: false,
    auth,
  })
  assert.match(textsOf(await client.callTool('op')), /^\["\.\.\.","\.\.\.","\.\.\.","x/)
})

test('a credential may be a function of the caller, and none may be needed', async (t) => {
  const { url, asked } = await startApi(t)
  const document = secured({ type: 'oauth2', flows: {} }, [{ s: ['read', 'write'] }, {}])
  const wanted: unknown[] = []
  const auth = {
    s: (ctx: { principal: { subject: string } | undefined }, { scopes }: { scopes: readonly string[] }) => {
      wanted.push(scopes)
      return ctx.principal?.subject
    },
  }
  const { client } = await serve(t, document, { baseUrl: url, output: false, auth: auth as never })
  await client.callTool('op')
  assert.equal(wanted, [['read', 'write']])
  assert.is(asked[0]?.headers.authorization, undefined)
})

test('no argument stands for a credential, or before one', async (t) => {
  const { url, asked } = await startApi(t)
  const document = documentOf(
    {
      '/x': {
        get: {
          operationId: 'op',
          responses: ok,
          parameters: [
            { in: 'query', name: 'f', schema: {} },
            { in: 'query', name: 'key', schema: { type: 'string' } },
            { in: 'cookie', name: 'lang', schema: { type: 'string' } },
            { in: 'header', name: 'Cookie', schema: { type: 'string' } },
          ],
        },
      },
    },
    {
      components: { securitySchemes: { s: { type: 'apiKey', in: 'query', name: 'key' } } },
      security: [{ s: [] }],
    },
  )
  const headers = { cookie: 'gateway=own' }
  const { client } = await serve(t, document, { baseUrl: url, output: false, auth: { s: 'real' }, headers })
  await client.callTool('op', { f: { key: 'mine', admin: '1' }, key: 'mine', lang: 'en' } as never)
  const [one] = asked
  assert.is(one?.url, '/x?admin=1&key=real')
  assert.is(one?.headers.cookie, 'gateway=own; lang=en')
})

test('a key in the query goes nowhere else by a redirect', async (t) => {
  const other = await startApi(t)
  const { url } = await startApi(t, ({ url: path }, response) => {
    response.writeHead(302, { location: `${other.url}${path}` }).end()
  })
  const scheme = { type: 'apiKey', in: 'query', name: 'key' }
  const { client } = await serve(t, secured(scheme), { baseUrl: url, output: false, auth: { s: 'secret-1' } })
  assert.not.match(textsOf(await client.callTool('op')), /secret-1/)
  assert.is(other.asked.length, 0)
})

test('a redirect to another origin gets no credentials, and a POST none at all', async (t) => {
  const other = await startApi(t)
  const { url } = await startApi(t, (_asked, response) => {
    response.writeHead(307, { location: `${other.url}/there` }).end()
  })
  const options = { baseUrl: url, output: false, auth: { bearer: 'secret-1' }, headers: { 'x-other': 'v' } }
  const read = await serve(t, pets, options)
  assert.not.ok((await read.client.callTool('getPet', { petId: '1' })).isError)
  assert.is(other.asked[0]?.headers.authorization, undefined)
  assert.is(other.asked[0]?.headers['x-other'], undefined)
  const post = await serve(t, posting({}), options)
  const result = await post.client.callTool('op', { id: '1' })
  assert.match(textsOf(result), `redirects (307) to ${other.url}/there, which is not followed`)
  assert.is(other.asked.length, 1)
})

test('operations are resources and templates where map says so', async (t) => {
  const { url, asked } = await startApi(t, json({ name: 'Rex' }))
  const list = { get: { operationId: 'listPets', responses: ok } }
  const document = { ...pets, paths: { ...(pets as { paths: object }).paths, '/pets': list } }
  const map = ({ path }: { path: string }) => (path.includes('{') ? 'resourceTemplate' : 'resource')
  const { client, api } = await serve(t, document, { baseUrl: url, map: map as never })
  const { host } = new URL(url)
  assert.is(api.resources[0]?.uri, `api://${host}/pets`)
  assert.is(api.resourceTemplates[0]?.uriTemplate, `api://${host}/pets/{petId}{?verbose}`)
  const { contents } = await client.readResource(`api://${host}/pets/1?verbose=true`)
  assert.is((contents[0] as { text: string }).text, '{"name":"Rex"}')
  assert.is(asked[0]?.url, '/pets/1?verbose=true')
})

test('uriScheme keeps the uris of two apis of one host apart', async (t) => {
  const { url } = await startApi(t, json({ name: 'Rex' }))
  const map = () => 'resourceTemplate' as const
  const { client, api } = await serve(t, pets, { baseUrl: url, map, uriScheme: 'pets' })
  const { host } = new URL(url)
  assert.is(api.resourceTemplates[0]?.uriTemplate, `pets://${host}/pets/{petId}{?verbose}`)
  const { contents } = await client.readResource(`pets://${host}/pets/1`)
  assert.is((contents[0] as { text: string }).text, '{"name":"Rex"}')
})

test.run()
