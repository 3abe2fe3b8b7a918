// second tier: time
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import * as assert from 'uvu/assert'
import { editFile } from '../../command/commands/edit-file.js'
import { withValue } from '../../command/hosts/edit-jsonc.js'
import { suite, type TestContext } from '../support/suite.js'
import { caduceus, newHome, serverFile } from './_caduceus.js'

// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the form that configurations have
const test = suite('caduceus add, remove and config', { timeout: 60_000 })

/** A home with a file, or none. */
function place(t: TestContext, text?: string) {
  const home = newHome(t)
  const file = join(home, 'mcp.json')
  if (text !== undefined) writeFileSync(file, text)
  const run = (...args: string[]) => caduceus(t, args, { home })
  /** One that goes well. */
  const does = async (...args: string[]): Promise<string> => {
    const { code, out, err } = await run(...args)
    assert.equal([code, err], [0, ''], args.join(' '))
    return out
  }
  /** One that is refused, in one line, and leaves the file alone. */
  const refuses = async (args: readonly string[], told: RegExp): Promise<void> => {
    const before = existsSync(file) ? readFileSync(file, 'utf8') : undefined
    const { code, out, err } = await run(...args)
    assert.equal([code, out, err.trim().split('\n').length], [2, '', 1], `${args.join(' ')}: ${err}`)
    assert.match(err, told)
    assert.is(existsSync(file) ? readFileSync(file, 'utf8') : undefined, before)
  }
  const read = () => readFileSync(file, 'utf8')
  return { home, file, run, does, refuses, read }
}

test('a server that is added has its name, until it is removed', async (t) => {
  const { home, does, refuses, read } = place(t)
  const server = ['--', process.execPath, serverFile, '--stdio']
  assert.is(await does('add', 'sample', '--env', 'A=b=c', ...server), 'sample is added to mcp.json\n')
  assert.equal(JSON.parse(read()), {
    mcpServers: { sample: { command: process.execPath, args: [serverFile, '--stdio'], env: { A: 'b=c' } } },
  })
  assert.is(statSync(join(home, 'mcp.json')).mode & 0o777, 0o600)
  assert.is(await does('call', 'sample', 'add', 'a=1', 'b=2'), '3\n')
  await refuses(
    ['add', 'sample', 'https://x.example/'],
    /has a server sample already: give --force to replace it/,
  )
  const header = ['--header', 'X-Key: ${KEY}']
  await does('add', 'sample', 'https://x.example/mcp', ...header, '--force')
  assert.equal(JSON.parse(read()).mcpServers.sample, {
    ...{ type: 'http', url: 'https://x.example/mcp' },
    headers: { 'X-Key': '${KEY}' },
  })
  await refuses(['remove', 'sampel'], /has no server sampel; known are sample \(did you mean "sample"\?\)/)
  assert.is(await does('remove', 'sample'), 'sample is removed from mcp.json\n')
  assert.is(read(), '{\n  "mcpServers": {}\n}\n')
  assert.equal(
    readdirSync(home).filter((name) => /lock|\.mcp/.test(name)),
    [],
    'nothing is left over',
  )
})

test('comments, order, indentation and mode stay, also through a link', async (t) => {
  const { home, file, does } = place(t)
  const text = `// ours\n{\n\t"x": 1, // one\n\t"servers": {\n\t\t"a": { "command": "a" }, // first\n\t},\n\t"caduceus": { "servers": { "a": { "deny": ["b"] } } }\n}\n`
  mkdirSync(join(home, 'real'))
  writeFileSync(join(home, 'real', 'file.json'), text)
  chmodSync(join(home, 'real', 'file.json'), 0o640)
  symlinkSync(join('real', 'file.json'), file)
  const now = () => readFileSync(join(home, 'real', 'file.json'), 'utf8')
  await does('add', 'b', '--', 'b', '--c', "d 'e'")
  assert.is(
    now(),
    text.replace(
      '// first\n',
      `// first\n\t\t"b": {\n\t\t\t"command": "b",\n\t\t\t"args": [\n\t\t\t\t"--c",\n\t\t\t\t"d 'e'"\n\t\t\t]\n\t\t},\n`,
    ),
  )
  await does('remove', 'b')
  assert.is(now(), text)
  await does('config', 'set', 'caduceus.servers.a.deny', '["c"]')
  assert.is(now(), text.replace('["b"]', '["c"]'))
  // what the section says of it goes along: serve would not take it
  await does('remove', 'a')
  assert.is(
    now(),
    text.replace('"a": { "command": "a" }, // first', '// first').replace('{ "a": { "deny": ["b"] } }', '{}'),
  )
  assert.ok(lstatSync(file).isSymbolicLink())
  assert.is(statSync(file).mode & 0o777, 0o640)
})

test('what serve would not take is told with its place, and not written', async (t) => {
  const { refuses, does, run } = place(
    t,
    '{\n  "mcpServers": { "one": { "command": "one" } },\n  "caduceus": {}\n}\n',
  )
  for (const [args, told] of [
    [
      ['config', 'set', 'caduceus.listen.port', 'x'],
      /mcp\.json:5:\d+: caduceus\.listen\.port: expected a port.*nothing is written/,
    ],
    [['config', 'set', 'caduceus.tokenz', '{}'], /mcp\.json:4:5: caduceus\.tokenz: expected an option among/],
    [['config', 'set', 'caduceus', '[]'], /caduceus: expected an object/],
    [['config', 'set', 'caduceus.servers.two', '{}'], /expected an option among one/],
    [
      ['config', 'set', 'caduceus.servers.one', '{"auth":"oauth","per":"principal"}'],
      /servers\.one\.auth: expected a server with a url/,
    ],
    [['config', 'set', 'caduceus.engine.redis', 'nourl'], /redis.*nourl.*nothing is written/],
    [
      ['config', 'set', 'caduceus.listen.tls', '{"cert":"none","key":"none"}'],
      /none cannot be read \(ENOENT\)/,
    ],
    [['config', 'set', 'caduceus.listen.allowedOrigins', '["?"]'], /allowedOrigins.*nothing is written/],
    [
      ['config', 'set', 'mcpServers.one.url', 'https://x.example'],
      /mcp\.json:2:19: mcpServers\.one: expected a command or a url, not both/,
    ],
    [['config', 'set', 'mcpServers', '7'], /expected mcpServers to be an object/],
    [['config', 'unset', 'mcpServers'], /has neither mcpServers nor servers/],
    [['config', 'unset', 'caduceus.listen'], /has no caduceus\.listen/],
    [['config', 'get', 'constructor'], /has no constructor/],
    [['config', 'set', 'a..b', '1'], /a name of the path is empty/],
    [['config', 'st', 'a', '1'], /expected get, set or unset, got st \(did you mean "set"\?\)/],
    [['add', 'two', 'http://'], /mcpServers\.two: .*nothing is written/],
    [['add', 'two', 'npx'], /npx is no URL: write -- before a command/],
    [['add', 'two', 'https://x.example', '--env', 'A=1'], /--env is for a server that is started/],
    [['add', 'two', '--header', 'A: 1', '--', 'x'], /--header is for a server with a URL/],
    [
      ['add', 'two', 'https://x.example', '--header', 'very-secret'],
      /expected 'NAME: VALUE', got a text without a colon/,
    ],
    [['add', 'two', '--'], /nothing behind --/],
    [['add', '', 'https://x.example'], /expected a name/],
    [['add', 'a\u001b[31mb', 'https://x.example'], /has no codes|no codes and no ends/],
    [['remove', '__proto__'], /has no server __proto__/],
  ] as const)
    await refuses(args, told)
  // a variable has its value where the file is used
  await does('config', 'set', 'caduceus.tokens.ada', '${ADA_TOKEN}')
  await does('config', 'set', 'mcpServers.one.env.KEY', '${file:/run/secrets/none}')
  const { code, err } = await run('config', 'set', 'caduceus.listen.port', '${PORT}')
  assert.is(code, 0)
  assert.match(err, /not all is checked, since a variable stands there.*listen\.port/)
})

test('what an edit leaves alone is not looked for here, and what it breaks is told', async (t) => {
  const listen = '"listen": { "tls": { "cert": "of-another-machine.pem", "key": "k.pem" } }'
  const login = '"servers": { "one": { "auth": "oauth", "per": "principal" } }'
  const { does, refuses } = place(
    t,
    `{ "mcpServers": { "one": { "url": "https://x.example" } }, "caduceus": { ${listen}, ${login} } }`,
  )
  await does('config', 'set', 'caduceus.rate', '{"calls":1,"per":"minute"}')
  const started = ['config', 'set', 'mcpServers.one', '{"command":"one"}']
  await refuses(started, /servers\.one\.auth: expected a server with a url/)
  const elsewhere = ['config', 'set', 'caduceus.listen.tls.cert', 'none.pem']
  await refuses(elsewhere, /none\.pem cannot be read \(ENOENT\)/)
})

test('names such as __proto__, and those with dots, are plain names', async (t) => {
  const { does, read } = place(t, '{"mcpServers":{}}')
  await does('add', '__proto__', '--', 'one')
  await does('add', 'a.b', '--', 'two')
  await does('config', 'set', 'mcpServers.a.b.cwd', '/srv')
  await does('config', 'set', '["mcpServers","c.d"]', '{"command":"three"}')
  const text =
    '{"mcpServers":{"__proto__":{"command":"one","args":[]},"a.b":{"command":"two","args":[],"cwd":"/srv"},"c.d":{"command":"three"}}}'
  assert.is(read(), text)
  assert.is(await does('config', 'get', 'mcpServers.__proto__.command'), 'one\n')
  await does('remove', '__proto__')
  assert.is(read(), text.replace('"__proto__":{"command":"one","args":[]},', ''))
})

test('no secret is shown, and variables are', async (t) => {
  const secrets = [
    's3cret-of-env',
    's3cret-of-header',
    's3cret-in-query',
    's3cret-option',
    's3cret-token-0123',
    's3cret-password',
    's3cret-client',
  ]
  const [env, header, query, option, token, password, client] = secrets
  const { does, run, file } = place(t)
  writeFileSync(
    file,
    JSON.stringify({
      mcpServers: {
        a: {
          command: 'a',
          args: ['--api-key', option, `--token=${option}`, `postgres://u:${password}@h/d`, '-y'],
          env: { A: env, B: '${B}' },
        },
        b: {
          url: `https://b.example/mcp?key=${query}`,
          headers: { Authorization: `Bearer ${header}`, C: 'Bearer ${C}' },
          oauth: { clientSecret: client },
        },
        c: {
          command: 'c',
          args: [
            '--header',
            'X-Key: s3cret',
            '-e',
            'PGPASS=s3cret',
            '--auth',
            's3cret',
            'pg://s3cret@h',
            '-v',
          ],
        },
        d: { openapi: 'pets.yaml', auth: { bearer: 's3cret', basic: 's3cret:s3cret', apiKey: 's3cret' } },
        e: { url: 'wss://e.example/x?s3cret#access_token=s3cret' },
      },
      caduceus: {
        tokens: { ada: token, bob: { token, scopes: ['mail'] } },
      },
    }),
  )
  for (const args of [
    [],
    ['get'],
    ['get', 'mcpServers.a.env.A'],
    ['get', 'caduceus.tokens.ada'],
    ['get', 'mcpServers.b.url'],
    ['get', 'mcpServers.c.args'],
    ['get', 'mcpServers.d.auth'],
    ['get', 'mcpServers.d.auth.bearer'],
    ['get', 'mcpServers.e.url'],
  ])
    for (const json of [[], ['--json']]) {
      const { out, err, code } = await run('config', ...args, ...json)
      assert.is(code, 0, err)
      assert.match(out, /\*\*\*/)
      assert.not.match(out + err, /s3cret/)
    }
  assert.is(await does('config', 'get', 'mcpServers.a.env.B'), '${B}\n')
  assert.is(await does('config', 'get', 'mcpServers.b.headers.C'), 'Bearer ${C}\n')
  assert.match(await does('config', 'get', 'caduceus.tokens.bob'), /"mail"/)
  assert.match(await does('config', 'get', 'mcpServers.a.args'), /postgres:\/\/u:\*\*\*@h\/d/)
  for (const args of [
    ['set', 'caduceus.tokens', 's3cret-too'],
    ['set', 'caduceus.tokens.ada', 's3cret'],
    ['set', 'mcpServers.a.env', 's3cret-text'],
    ['set', 'mcpServers.b.headers', `s3cret-${'x'.repeat(80)}s3cret`],
  ]) {
    const { code, out, err } = await run('config', ...args)
    assert.is(code, 2, err)
    assert.not.match(out + err, /s3cret/)
  }
  const typed = await caduceus(t, ['config', 'set', 'caduceus.tokens.ada', '-'], {
    home: join(file, '..'),
    input: 's3cret-by-standard-input\n',
  })
  assert.equal([typed.code, typed.out, typed.err], [0, 'caduceus.tokens.ada is set in mcp.json\n', ''])
  assert.is(JSON.parse(readFileSync(file, 'utf8')).caduceus.tokens.ada, 's3cret-by-standard-input')
})

test('files that are empty, broken, no files or links to nowhere', async (t) => {
  const { home, file, does, refuses, read } = place(t, '')
  await refuses(['config', 'set', 'a', '1'], /expected a value, got its end/)
  await refuses(['remove', 'a'], /expected a value/)
  await does('add', 'one', '--', 'one')
  assert.is(
    read(),
    '{\n  "mcpServers": {\n    "one": {\n      "command": "one",\n      "args": []\n    }\n  }\n}\n',
  )
  writeFileSync(file, '{\n  "mcpServers": {\n    "a" {}\n')
  await refuses(['add', 'two', '--', 'two'], /is no JSON \(line 3, column 9: expected :/)
  writeFileSync(file, Buffer.from([0x7b, 0xff, 0x7d]))
  const { code, err } = await caduceus(t, ['add', 'two', '--', 'two'], { home })
  assert.is(code, 2)
  assert.match(err, /is no text in UTF-8/)
  assert.equal([...readFileSync(file)], [0x7b, 0xff, 0x7d])
  unlinkSync(file)
  await refuses(['remove', 'a'], /mcp\.json is not there/)
  await refuses(['config'], /mcp\.json is not there/)
  await refuses(['config', 'set', 'a', '1'], /mcp\.json is not there: caduceus add makes it/)
  symlinkSync('nowhere.json', file)
  await refuses(['add', 'a', '--', 'a'], /is a link that leads nowhere/)
  await refuses(
    ['add', 'a', '--file', 'no/where.json', '--', 'a'],
    /no\/where\.json cannot be written \(there is no folder .*no\)/,
  )
  await refuses(['add', 'a', '--file', '.', '--', 'a'], /is no file/)
  unlinkSync(file)
  writeFileSync(file, '{"mcpServers":{}}')
  chmodSync(file, 0o444)
  // root may write to all files
  if (process.geteuid?.() !== 0) await refuses(['add', 'a', '--', 'a'], /cannot be written \(EACCES\)/)
})

test('the file of each host gets the fields that it knows', async (t) => {
  const { home, does } = place(t)
  const cases = [
    ['.vscode/mcp.json', { servers: { a: { type: 'http', url: 'https://a.example/' } } }],
    ['.gemini/settings.json', { mcpServers: { a: { httpUrl: 'https://a.example/' } } }],
    ['.codeium/windsurf/mcp_config.json', { mcpServers: { a: { serverUrl: 'https://a.example/' } } }],
    ['.cursor/mcp.json', { mcpServers: { a: { type: 'http', url: 'https://a.example/' } } }],
  ] as const
  for (const [path, expected] of cases) {
    mkdirSync(join(home, path, '..'), { recursive: true })
    await does('add', 'a', 'https://a.example/', '--file', path)
    assert.equal(JSON.parse(readFileSync(join(home, path), 'utf8')), expected)
  }
})

test('several programs that change a file at once lose nothing', async (t) => {
  const { does, read } = place(t, '{"mcpServers":{}}')
  const names = ['a', 'b', 'c', 'd']
  await Promise.all(names.map((name) => does('add', name, '--', name)))
  assert.equal(Object.keys(JSON.parse(read()).mcpServers).sort(), names)
})

test('a file that another program changes meanwhile is not overwritten', async (t) => {
  const { home, file, read } = place(t, '{"mcpServers":{}}')
  const theirs = '{"mcpServers":{"c":{"command":"c"}}}'
  const invocation = { word: 'add', positionals: [], values: { file }, started: undefined }
  const edited = editFile(invocation, (text = '') => {
    writeFileSync(file, theirs)
    return withValue(text, file, ['mcpServers', 'b'], { command: 'b' })
  })
  const error: unknown = await edited.catch((problem: unknown) => problem)
  assert.match(String(error), /was changed by another program meanwhile: nothing is written; try again/)
  assert.is(read(), theirs)
  assert.equal(readdirSync(home), ['mcp.json'])
})

test.run()
