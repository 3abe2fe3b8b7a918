import * as assert from 'uvu/assert'
import { defineServer, defineTool, json, ServerError, startServer, ToolError } from 'caduceus/server'
import { serveHttp } from 'caduceus/transports'
import { suite } from '../../support/suite.js'
import { count, echo, startTestServer } from '../_servers.js'

const test = suite('server definitions')
const run = () => 'done'

const badTools: [object | null, string, RegExp][] = [
  [null, 'options', /^tool: options: expected an object, as in defineTool\(\{ name, run \}\), got null$/],
  [{ name: '', run }, 'name', /^tool: name: expected 1 to 128 letters, digits, _, - and \., got ""$/],
  [{ name: 'a b', run }, 'name', /got "a b"$/],
  [{ name: 'a'.repeat(129), run }, 'name', /^tool: name/],
  [{ name: 'x' }, 'run', /^tool "x": run: expected a function, got undefined$/],
  [{ name: 'x', run, handler: run }, 'handler', /^tool "x": handler: expected a field among name, title/],
  [{ name: 'x', run, description: 1 }, 'description', /^tool "x": description: expected a string, got 1$/],
  [{ name: 'x', run, timeout: 0 }, 'timeout', /^tool "x": timeout: expected milliseconds above 0, got 0$/],
  [
    { name: 'x', run, annotations: { readOnly: true } },
    'annotations.readOnly',
    /expected a hint among title, readOnlyHint/,
  ],
  [
    { name: 'x', run, annotations: { title: 5 } },
    'annotations.title',
    /^tool "x": annotations\.title: expected a string, got 5$/,
  ],
  [
    { name: 'x', run, annotations: { readOnlyHint: 'yes' } },
    'annotations.readOnlyHint',
    /expected true or false, got "yes"$/,
  ],
  [
    { name: 'x', run, input: { type: 'string' } },
    'input',
    /^tool "x": input: expected fields by their names, or a schema of an object/,
  ],
  [
    { name: 'x', run, input: { type: 'object', properties: { a: { $ref: 'https://evil.example/a.json' } } } },
    'input',
    /^tool "x": input: /,
  ],
  [
    { name: 'x', run, input: { '~standard': { version: 1, vendor: 'old', validate: run } } },
    'input',
    /^tool "x": input: expected ~standard.jsonSchema/,
  ],
]

for (const [options, field, message] of badTools) {
  test(`a tool is refused for its ${field}: ${message.source}`, () => {
    assert.throws(
      () => defineTool(options as never),
      (error: ServerError) => isBadDefinition(error, field, message),
    )
  })
}

test('annotations are a title and hints', () => {
  const annotations = { title: 'X', readOnlyHint: true, openWorldHint: false }
  assert.equal(defineTool({ name: 'x', run, annotations }).annotations, annotations)
})

const badServers: [object | null, string, RegExp][] = [
  [null, 'options', /^server: options: expected an object, as in defineServer\(.*\), got null$/],
  [{ version: '1' }, 'name', /^server: name: expected a non-empty string, got undefined$/],
  [{ name: 's' }, 'version', /^server "s": version: expected a non-empty string, got undefined$/],
  [{ name: 's', version: '1', tool: [] }, 'tool', /^server "s": tool: expected a field among name, version/],
  [
    { name: 's', version: '1', instructions: 5 },
    'instructions',
    /^server "s": instructions: expected a string, got 5$/,
  ],
  [{ name: 's', version: '1', tools: 7 }, 'tools', /^server "s": tools: expected an array of tools/],
  [
    { name: 's', version: '1', tools: [count, { name: 'raw', run }] },
    'tools[1]',
    /^server "s": tools\[1\]: expected what defineTool returns/,
  ],
  [
    { name: 's', version: '1', tools: [count, count] },
    'tools[1]',
    /^server "s": tools\[1\]: expected a name that no other tool has, got "count"$/,
  ],
]

for (const [options, field, message] of badServers) {
  test(`a server is refused for its ${field}: ${message.source}`, () => {
    assert.throws(
      () => defineServer(options as never),
      (error: ServerError) => isBadDefinition(error, field, message),
    )
  })
}

test('definitions are frozen data, and what they were made from may change', () => {
  const input = { type: 'object', properties: { a: { type: 'string' } } }
  const tools = [defineTool({ name: 'x', input, run })]
  const server = defineServer({ name: 's', version: '1', tools })
  input.properties.a.type = 'number'
  tools.pop()
  assert.ok(
    [server, server.info, server.tools, server.tools[0], server.tools[0]?.schema.jsonSchema].every(
      Object.isFrozen,
    ),
  )
  assert.equal(server.tools[0]?.schema.jsonSchema, { type: 'object', properties: { a: { type: 'string' } } })
})

const badOptions: [object, string, RegExp][] = [
  [{}, 'transport', /^transport: expected what serveHttp\(\) or serveStdio\(\) returns, got undefined$/],
  [
    { transport: serveHttp(), limits: { sesions: 1 } },
    'limits.sesions',
    /^limits\.sesions: expected an option among sessions, .* \(did you mean "limits\.sessions"\?\), got "sesions"$/,
  ],
  [{ transport: serveHttp(), timeouts: 5 }, 'timeouts', /^timeouts: expected an object, got 5$/],
  [{ transport: serveHttp(), port: 3000 }, 'port', /^port: expected an option among transport, name/],
  [
    { transport: serveHttp(), limits: { sessions: 0 } },
    'limits.sessions',
    /^limits\.sessions: expected a whole number above 0, or Infinity, got 0$/,
  ],
  [
    { transport: serveHttp(), timeouts: { drain: -1 } },
    'timeouts.drain',
    /^timeouts\.drain: expected milliseconds of 0 or more, got -1$/,
  ],
  [
    { transport: serveHttp(), timeouts: { idle: Number.NaN } },
    'timeouts.idle',
    /^timeouts\.idle: expected milliseconds above 0, got NaN$/,
  ],
  [
    { transport: serveHttp(), engine: {} },
    'engine',
    /^engine: expected what inMemory\(\), files\(\), redis\(\)/,
  ],
  [
    { transport: serveHttp(), exposeErrors: 'yes' },
    'exposeErrors',
    /^exposeErrors: expected true or false, got "yes"$/,
  ],
  [{ transport: serveHttp(), name: '' }, 'name', /^name: expected a non-empty string, got ""$/],
]

for (const [options, field, message] of badOptions) {
  test(`no start with a bad ${field}: ${message.source}`, async () => {
    const definition = defineServer({ name: 's', version: '1' })
    const error = await startServer(definition, options as never).catch((reason) => reason)
    assert.instance(error, ServerError)
    assert.is(error.code, 'BAD_OPTION')
    assert.match(error.message, message)
    assert.is(error.data.field, field)
  })
}

test('only what defineServer returns can be started', async () => {
  const error = await startServer({ name: 's' } as never, { transport: serveHttp() }).catch(
    (reason) => reason,
  )
  assert.equal([error.code, error.data.field], ['BAD_DEFINITION', 'definition'])
})

test('a running server takes tools only, under names that are free', async (t) => {
  const server = await startTestServer(t, [count])
  for (const bad of [count, { name: 'raw' }]) {
    const error = await server.addTool(bad as never).catch((reason) => reason)
    assert.is(error.code, 'BAD_DEFINITION')
  }
  await server.addTool(echo)
  assert.is(await server.removeTool('echo'), true)
  assert.is(await server.removeTool('echo'), false)
})

test('json() serializes a value, or says that it cannot', () => {
  assert.equal(json({ a: [1] }), { type: 'text', text: '{"a":[1]}' })
  for (const bad of [undefined, 1n, () => 1])
    assert.throws(
      () => json(bad),
      (error: ServerError) => error.code === 'BAD_RESULT',
    )
})

test('a ToolError is of the family', () => {
  const cause = new Error('ENOENT')
  const error = new ToolError('No such file', { cause })
  assert.instance(error, ServerError)
  assert.equal(
    [error.name, error.code, error.message, error.cause],
    ['ToolError', 'TOOL_FAILED', 'No such file', cause],
  )
  const told = new ToolError(cause)
  assert.equal([told.message, told.cause], ['ENOENT', cause])
})

function isBadDefinition(error: ServerError, field: string, message: RegExp): boolean {
  const { code, data } = error
  return (
    error instanceof ServerError &&
    code === 'BAD_DEFINITION' &&
    (data as { field: string }).field === field &&
    message.test(error.message)
  )
}

test.run()
