// second tier: time
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import * as assert from 'uvu/assert'
import { serveHttp, startServer } from 'caduceus'
import { inRoot } from '../support/root.js'
import { suite, type TestContext } from '../support/suite.js'
import { caduceus, newHome, overStdio, serverFile } from './_caduceus.js'
import { definition } from './_server.js'

const test = suite('caduceus', { timeout: 20_000 })

async function address(t: TestContext): Promise<string> {
  const server = await startServer(definition, { transport: serveHttp(), logger: false, signals: false })
  t.after(() => server.stop())
  return server.url ?? ''
}

test('list shows what a server has, over standard input and over HTTP', async (t) => {
  for (const target of [overStdio, [await address(t)]]) {
    const { code, out, err } = await caduceus(t, ['list', ...target])
    assert.equal([code, err], [0, ''])
    assert.match(out, /^sample 1\.0\.0 \(\d{4}-\d\d-\d\d\)/)
    for (const part of ['add(a, b)', 'echo(message)', 'note://first', 'review(language)'])
      assert.ok(out.includes(part), `${part} in ${out}`)
  }
})

test('call reads name=value by the input schema, or one JSON object', async (t) => {
  const url = await address(t)
  const typed = await caduceus(t, ['call', url, 'add', 'a=1', 'b=-2.5'])
  assert.equal(typed, { code: 0, out: '-1.5\n', err: '' })
  const given = await caduceus(t, ['call', 'add', '{"a":1,"b":2}', ...overStdio])
  assert.equal(given, { code: 0, out: '3\n', err: '' })
  const text = await caduceus(t, ['call', url, 'echo', 'message=12'])
  assert.equal(text.out, '12\n')
})

test('call --json prints the result for programs', async (t) => {
  const { out } = await caduceus(t, ['call', '--json', 'echo', 'message=hi', ...overStdio])
  assert.equal(JSON.parse(out).content, [{ type: 'text', text: 'hi' }])
})

test('read, prompt, complete and check print their results', async (t) => {
  const url = await address(t)
  assert.equal((await caduceus(t, ['read', url, 'note://first'])).out, 'a note\n')
  assert.equal(
    (await caduceus(t, ['prompt', url, 'review', 'language=en'])).out,
    'user: Review this in en.\n',
  )
  assert.equal((await caduceus(t, ['complete', url, 'review', 'language=e'])).out, 'en\n')
  const checked = await caduceus(t, ['check', url, '--json'])
  const { counts, findings } = JSON.parse(checked.out)
  assert.equal([checked.code, counts.tools], [0, 6])
  assert.equal(findings, [
    { level: 'note', text: 'tool fail has no description: models have to guess what it does' },
  ])
})

/** A server that lists a tool with schemas that are none, and has no prompts though it says so. */
const careless = `
const tool = (name, inputSchema) => ({ name, description: name, inputSchema: { type: 'object', ...inputSchema } })
const tools = [tool('nope', { properties: { x: { type: 'nope' } } }), tool('zz', { required: ['zz'] })]
require('node:readline').createInterface(process.stdin).on('line', (line) => {
  const { id, method, params } = JSON.parse(line)
  const results = {
    initialize: { protocolVersion: params?.protocolVersion, capabilities: { tools: {}, prompts: {} }, serverInfo: { name: 'careless', version: '1' } },
    'tools/list': { tools },
    ping: {},
  }
  if (id === undefined) return
  const answer = Object.hasOwn(results, method) ? { result: results[method] } : { error: { code: -32601, message: 'Method not found' } }
  console.log(JSON.stringify({ jsonrpc: '2.0', id, ...answer }))
})`

test('list and check name a list that is not there, and check a wrong schema', async (t) => {
  const target = ['--', process.execPath, '-e', careless]
  const { code, out, err } = await caduceus(t, ['list', ...target])
  assert.equal([code, err], [1, 'caduceus: prompts/list: Method not found\n'])
  assert.match(out, 'nope(x?)')
  const checked = await caduceus(t, ['check', '--json', ...target])
  assert.is(checked.code, 1)
  const { findings } = JSON.parse(checked.out)
  assert.equal(
    findings.map(({ level, text }: Record<string, string>) => `${level} ${text?.slice(0, 60)}`),
    [
      'problem prompts/list: Method not found, though the server says that ',
      'problem tool nope: inputSchema: JSON Schema: type must be JSONType o',
      'note tool zz: inputSchema requires zz, and does not say what it i',
    ],
  )
})

test('read --output writes the content to a file', async (t) => {
  const home = newHome(t)
  await caduceus(t, ['read', 'note://first', '--output', 'copy.txt', ...overStdio], { home })
  assert.equal(readFileSync(join(home, 'copy.txt'), 'utf8'), 'a note')
})

test(
  'a usage error is one line of advice and exit code 2',
  async (t) => {
    const url = await address(t)
    const mistakes: readonly (readonly [readonly string[], string])[] = [
      [['lst'], 'lst is no command (did you mean "list"?)'],
      [['help', 'lst'], 'lst is no command (did you mean "list"?)'],
      [['list', url, '--jsn'], '--jsn is no option of caduceus list (did you mean "--json"?)'],
      [['serve', 'x.js', '--port', '1'], '--port is no option of caduceus serve (did you mean "--http"?)'],
      [['call', url, 'ad'], 'ad is no tool'],
      [['call', url, 'ad'], '(did you mean "add"?)'],
      [['call', url, 'add', 'a=1'], 'add needs b=VALUE'],
      [['call', url, 'add', 'a=1', 'b=x'], 'b: expected number, got x'],
      [['call', url, 'echo', 'mesage=1'], 'echo has no argument mesage (did you mean "message"?)'],
      [['call', url, 'add', '{"a":1'], 'the arguments: no JSON'],
      [['run', 'x.js'], 'run is no command (did you mean "serve"?)'],
      [['install'], 'install is no command (did you mean "add"?)'],
      [['inspect'], 'inspect is no command (did you mean "list"?)'],
      [
        ['call', serverFile, 'add', 'a=1'],
        `_server.js is a file, and no server: write caduceus call add a=1 -- npx caduceus serve ${serverFile} --stdio`,
      ],
      [['list', 'files'], 'files is no server; no file of a host has a server'],
      [['list', '--', 'no-such-program-here'], 'no-such-program-here'],
      [['list', url, '--era', 'new'], '--era: expected auto, modern or handshake, got new'],
      [['list', '--config', 'missing.json', 'x'], 'missing.json cannot be read (ENOENT)'],
    ]
    for (const [args, text] of mistakes) {
      const { code, out, err } = await caduceus(t, args)
      assert.equal([code, out], [args.includes('no-such-program-here') ? 3 : 2, ''], `${args}: ${err}`)
      assert.ok(err.includes(text), `${text} in ${err}`)
      assert.is(err.trim().split('\n').length, 1, err)
    }
  },
  { timeout: 40_000 },
)

test('a usage error has a code and facts for programs', async (t) => {
  const { code, out } = await caduceus(t, ['lst', '--json'])
  const { error } = JSON.parse(out)
  assert.equal([code, error.code, error.retryable], [2, 'BAD_OPTION', false])
})

test('a tool that fails is exit code 1, and so is an error of the server', async (t) => {
  const url = await address(t)
  const failed = await caduceus(t, ['call', url, 'fail'])
  assert.equal(failed, { code: 1, out: '', err: 'caduceus: fail failed: it broke\n' })
  assert.is((await caduceus(t, ['read', url, 'note://second'])).code, 1)
  const told = await caduceus(t, ['read', '--json', url, 'note://second'])
  assert.is(JSON.parse(told.out).error.code, -32602)
})

test('the version is that of the package', async (t) => {
  const { version } = JSON.parse(readFileSync(inRoot('package.json'), 'utf8'))
  assert.is((await caduceus(t, ['--version'])).out, `${version}\n`)
  const { code, out, err } = await caduceus(t, ['--version', '--foo'])
  assert.equal([code, out], [2, ''])
  assert.match(err, /^caduceus: --version: .*--foo\n$/)
})

test.run()
