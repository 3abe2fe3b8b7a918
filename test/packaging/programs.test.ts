// second tier: package
// time limit: 120 s
import { spawn } from 'node:child_process'
import { mkdirSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { transformSync } from 'esbuild'
import * as assert from 'uvu/assert'
import {
  linkDevelopmentPackage,
  packOnce,
  runAndListPackages,
  writeConsumerFile,
  writeProgram,
} from '../support/packed.js'
import { runNode } from '../support/project.js'
import { suite } from '../support/suite.js'

const test = suite('programs of a consumer', { timeout: 60_000 })

test('the server and the one-off client of the README run from the installed package', async (t) => {
  const packed = await packOnce(t.signal)
  const server = writeProgram(packed, 'test/examples/server.ts')
  const child = spawn(process.execPath, [server], {
    env: { ...process.env, PORT: '0' },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  t.after(() => child.kill('SIGKILL'))
  const url = await new Promise<string>((resolve) =>
    child.stdout.once('data', (line) => resolve(String(line).trim())),
  )
  const client = writeProgram(packed, 'test/examples/one-off.ts')
  assert.equal(await runNode([client, url], packed.folder, t.signal), { code: 0, output: '1\n' })
})

test('the long-running client of the README runs from the installed package', async (t) => {
  const packed = await packOnce(t.signal)
  linkDevelopmentPackage(packed, '@modelcontextprotocol/server-filesystem')
  const bin = join(packed.folder, 'node_modules', '.bin')
  mkdirSync(bin, { recursive: true })
  const program = '../@modelcontextprotocol/server-filesystem/dist/index.js'
  symlinkSync(program, join(bin, 'mcp-server-filesystem'))
  const client = writeProgram(packed, 'test/examples/long-running.ts')
  const { code, output } = await runNode([client], packed.folder, t.signal)
  assert.is(code, 0, output)
  assert.match(output, '[FILE] package.json')
})

test('consumer tests that use caduceus/testing pass with the installed package', async (t) => {
  const packed = await packOnce(t.signal)
  const program = writeProgram(packed, 'test/examples/testing.ts')
  const { code, output } = await runNode(['--test-reporter=tap', program], packed.folder, t.signal)
  assert.is(code, 0, output)
  assert.match(output, /^# pass 3$/m)
})

test('isolated handlers run from the installed package, and throw its errors', async (t) => {
  const packed = await packOnce(t.signal)
  writeProgram(packed, 'test/examples/definitions/matches.ts')
  const text = `
    import { defineServer, defineTool, field } from 'caduceus'
    import { connect } from 'caduceus/testing'

    const input = { pattern: field.string(), text: field.string() }
    const output = field.boolean()
    const module = new URL('./matches.mjs', import.meta.url)
    const tools = ['thread', 'process'].map((isolate) => defineTool({ name: isolate, input, output, isolate, module }))
    await using pair = await connect(defineServer({ name: 'texts', version: '1', tools }))
    for (const { name } of tools)
      for (const pattern of ['^a', '('])
        console.log((await pair.client.callTool(name, { pattern, text: 'a' })).text)
  `
  const program = writeConsumerFile(packed, 'isolated.mjs', transformSync(text, { target: 'node20' }).code)
  assert.equal(await runNode([program], packed.folder, t.signal), {
    code: 0,
    output: 'true\nThis is no regular expression.\n'.repeat(2),
  })
})

const messages = [
  {
    id: 1,
    method: 'initialize',
    params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'pipe', version: '1' } },
  },
  { method: 'notifications/initialized' },
  { id: 2, method: 'tools/list' },
  { id: 3, method: 'tools/call', params: { name: 'hello' } },
]

test('a stdio server loads no undici, ws, ajv, jose or pino to list and call a tool', async (t) => {
  const packed = await packOnce(t.signal)
  const program = writeConsumerFile(
    packed,
    'stdio-server.mjs',
    `import { defineServer, defineTool, serveStdio, startServer } from 'caduceus'
const hello = defineTool({ name: 'hello', run: () => 'hello' })
await startServer(defineServer({ name: 'hello', version: '1.0.0', tools: [hello] }), { transport: serveStdio() })
`,
  )
  const input = messages.map((message) => `${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`).join('')
  const { code, output, packages } = await runAndListPackages(packed, [program], t.signal, input)
  assert.is(code, 0, output)
  assert.match(output, '"content":[{"type":"text","text":"hello"}]')
  for (const name of ['undici', 'ws', 'ajv', 'jose', 'pino'])
    assert.not(packages.includes(name), `${name} is loaded`)
})

test.run()
