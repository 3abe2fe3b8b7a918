// second tier: package
// time limit: 120 s
import * as assert from 'uvu/assert'
import { packOnce, writeConsumerFile } from '../support/packed.js'
import { runNode } from '../support/project.js'
import { suite } from '../support/suite.js'

const test = suite('a server that only fetch reaches', { timeout: 60_000 })

/** What a platform for fetch alone may lack. */
const lacking = ['http', 'https', 'http2', 'net', 'tls', 'child_process', 'worker_threads', 'cluster']
const packages = ['ws', 'undici', 'undici/index.js']

/** A platform without them, whoever asks: `import`, `require` or `process.getBuiltinModule`. */
const platform = `
import Module, { register } from 'node:module'

const lacking = new Set(${JSON.stringify([...lacking.flatMap((name) => [name, `node:${name}`]), ...packages])})
const refuse = (name) => { if (lacking.has(name)) throw new Error(name + ' is not there') }
const hooks = 'const lacking = new Set(' + JSON.stringify([...lacking]) + ');' +
  'const refuse = ' + refuse + ';' +
  'export const resolve = (name, context, next) => { refuse(name); return next(name, context) }'
register('data:text/javascript,' + encodeURIComponent(hooks))

const { _load } = Module
Module._load = (name, ...rest) => { refuse(name); return _load(name, ...rest) }
const { getBuiltinModule } = process
process.getBuiltinModule = (name) => (lacking.has(name) ? undefined : getBuiltinModule(name))
`

const server = (door: string): string => `
import { defineServer, defineTool, field, mount, startServer } from ${JSON.stringify(door)}

const greet = defineTool({
  name: 'greet',
  input: { whom: field.string() },
  output: { greeting: field.string() },
  async run({ whom }, ctx) {
    await ctx.progress(1, 2)
    return { greeting: 'hello ' + whom }
  },
})
const mcp = mount()
const server = await startServer(defineServer({ name: 'greeter', version: '1.0.0', tools: [greet] }), { transport: mcp })

async function post(message, headers = {}) {
  const response = await mcp.fetch(new Request('http://127.0.0.1/mcp', {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream', ...headers },
    body: JSON.stringify({ jsonrpc: '2.0', ...message }),
  }))
  return { response, body: await response.text() }
}

const clientInfo = { name: 'fetch', version: '1' }
const opened = await post({
  id: 1, method: 'initialize', params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo },
})
const session = {
  'mcp-session-id': opened.response.headers.get('mcp-session-id'), 'mcp-protocol-version': '2025-11-25',
}
console.log(opened.response.status, opened.body.includes('"name":"greeter"'))
console.log((await post({ method: 'notifications/initialized' }, session)).response.status)
const call = { id: 2, method: 'tools/call', params: { name: 'greet', arguments: { whom: 'you' } } }
console.log((await post(call, session)).body.includes('hello you'))
const wrong = { ...call, id: 3, params: { name: 'greet', arguments: {} } }
console.log((await post(wrong, session)).body.includes('whom: is required'))

const _meta = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientInfo': clientInfo,
  'io.modelcontextprotocol/clientCapabilities': {},
  progressToken: 'steps',
}
const modern = { ...call, id: 4, params: { ...call.params, _meta } }
const headers = { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/call', 'mcp-name': 'greet' }
const { body } = await post(modern, headers)
console.log(body.includes('notifications/progress'), body.includes('hello you'))

const leaving = new AbortController()
const stream = await mcp.fetch(new Request('http://127.0.0.1/mcp', {
  headers: { accept: 'text/event-stream', ...session }, signal: leaving.signal,
}))
console.log(stream.status, stream.headers.get('content-type'))
leaving.abort()
await mcp.fetch(new Request('http://127.0.0.1/mcp', { method: 'DELETE', headers: session }))
await server.stop()
console.log('stopped')
`

const said = '200 true\n202\ntrue\ntrue\ntrue true\n200 text/event-stream\nstopped\n'

for (const door of ['caduceus', 'caduceus/server and caduceus/transports'])
  test(`it runs by ${door} with fetch only`, async (t) => {
    const packed = await packOnce(t.signal)
    writeConsumerFile(packed, 'platform.mjs', platform)
    writeConsumerFile(
      packed,
      'doors.mjs',
      "export * from 'caduceus/server'\nexport { mount } from 'caduceus/transports'\n",
    )
    const program = writeConsumerFile(
      packed,
      'fetch-only.mjs',
      server(door === 'caduceus' ? door : './doors.mjs'),
    )
    const { code, output } = await runNode(['--import', './platform.mjs', program], packed.folder, t.signal)
    assert.equal([code, output], [0, said])
  })

for (const name of [...lacking.map((builtin) => `node:${builtin}`), ...packages])
  test(`a program cannot import ${name} on that platform`, async (t) => {
    const packed = await packOnce(t.signal)
    writeConsumerFile(packed, 'platform.mjs', platform)
    const program = writeConsumerFile(packed, 'lacking.mjs', `await import(${JSON.stringify(name)})`)
    const { code, output } = await runNode(['--import', './platform.mjs', program], packed.folder, t.signal)
    assert.is(code, 1)
    assert.match(output, `${name} is not there`)
  })

test.run()
