// second tier: time
// time limit: 120 s
import { cpSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import {
  definePrompt,
  defineResource,
  defineServer,
  defineTool,
  serveHttp,
  startServer,
  ToolError,
} from 'caduceus'
import * as assert from 'uvu/assert'
import { makeProject, runNode } from '../support/project.js'
import { inRoot } from '../support/root.js'
import { suite, type TestContext } from '../support/suite.js'

const test = suite('conformance client', { timeout: 60_000 })

const script = inRoot('scripts', 'conformance-client.mjs')

/** A server that notes what it is asked for. */
async function startNoting(t: TestContext) {
  const asked: string[] = []
  const input = {
    type: 'object',
    properties: { by: { type: 'integer' }, unit: { enum: ['metre'] } },
    required: ['by'],
  } as const
  const server = await startServer(
    defineServer({
      name: 'noting',
      version: '1.0.0',
      tools: [
        defineTool({
          name: 'move',
          description: 'Moves by whole units.',
          input,
          run(args) {
            asked.push(`move ${JSON.stringify(args)}`)
            return 'moved'
          },
        }),
      ],
      resources: [
        defineResource({
          uri: 'noting:///a',
          name: 'a',
          read() {
            asked.push('read')
            return 'text'
          },
        }),
      ],
      prompts: [
        definePrompt({
          name: 'hello',
          description: 'Says hello.',
          get() {
            asked.push('prompt')
            return 'hello'
          },
        }),
      ],
    }),
    { transport: serveHttp() },
  )
  t.after(() => server.stop())
  return { url: String(server.url), asked }
}

/** The repository as after a checkout: nothing is transpiled yet. */
function checkOut(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'checkout-'))
  t.after(() => rmSync(folder, { recursive: true, force: true, maxRetries: 3 }))
  const names = ['index.ts', 'testing.ts', 'runtime', 'protocol', 'transports', 'server', 'client', 'scripts']
  for (const name of [...names, join('test', 'conformance')])
    cpSync(inRoot(name), join(folder, name), {
      recursive: true,
      filter: (path) => !path.includes('node_modules', inRoot().length),
    })
  symlinkSync(inRoot('node_modules'), join(folder, 'node_modules'))
  return folder
}

test('without a server address it prints its usage', async (t) => {
  for (const args of [[], ['not an address'], ['http://127.0.0.1:1', 'more']]) {
    const { code, output } = await runNode([script, ...args], inRoot(), t.signal)
    assert.match(output, /^usage: npm run --silent conformance:client -- URL, .*\n$/)
    assert.is(code, 2)
  }
})

test('two suites started at once in a fresh checkout list, read, get and call it all', async (t) => {
  const { url, asked } = await startNoting(t)
  const folder = checkOut(t)
  const one = join(folder, 'scripts', 'conformance-client.mjs')
  const outcomes = await Promise.all([1, 2].map(() => runNode([one, url], folder, t.signal)))
  for (const { code, output } of outcomes) {
    // on a busy machine the server, which is in this process, keeps it waiting
    const told = output.replace(/^.*"type":"waiting".*\n/gm, '')
    assert.equal({ code, told }, { code: 0, told: '' })
  }
  const each = ['read', 'prompt', 'move {"by":5,"unit":"metre"}']
  assert.equal([...asked].sort(), [...each, ...each].sort())
})

test('a tool error is printed, and fails where the suite needs success', async (t) => {
  const server = await startServer(
    defineServer({
      name: 'failing',
      version: '1.0.0',
      tools: [
        defineTool({
          name: 'fail',
          description: 'Fails.',
          run() {
            throw new ToolError('no way')
          },
        }),
      ],
    }),
    { transport: serveHttp() },
  )
  t.after(() => server.stop())
  const url = String(server.url)
  const project = makeProject(t, {
    'in-suite.mjs': `process.env.MCP_CONFORMANCE_SCENARIO = 'tools_call'\nawait import(${JSON.stringify(pathToFileURL(script).href)})\n`,
  })
  const alone = await runNode([script, url], inRoot(), t.signal)
  assert.equal(alone, { code: 0, output: 'fail failed: no way\n' })
  const { code, output } = await runNode([join(project, 'in-suite.mjs'), url], inRoot(), t.signal)
  assert.match(output, /^Error: fail failed\n.*no way/s)
  assert.is(code, 1)
})

test.run()
