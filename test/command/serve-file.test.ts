// second tier: time
import { once } from 'node:events'
import { execFileSync } from 'node:child_process'
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import * as assert from 'uvu/assert'
import type { Client } from 'caduceus/client'
import { until } from 'caduceus/testing'
import { freePort } from '../support/free-port.js'
import { suite } from '../support/suite.js'
import { caduceus, newHome, serverFile } from './_caduceus.js'
import { begin, connectTo, servedAt } from './_serve.js'

const test = suite("caduceus serve, of a host's file", { timeout: 30_000 })

/** What its first server adds up, once that has started. */
async function sumOf(client: Client): Promise<string | undefined> {
  let sum: string | undefined
  await until(
    async () => {
      sum = (await client.callTool('one__add', { a: 1, b: 2 }).catch(() => undefined))?.text
      return sum !== undefined
    },
    { timeout: 20_000 },
  )
  return sum
}

test('servers of a host file are served as one and follow changes of the file', async (t) => {
  const home = newHome(t)
  const file = join(home, 'mcp.json')
  const entry = { command: process.execPath, args: [serverFile, '--stdio'] }
  const write = (servers: object) => writeFileSync(file, JSON.stringify({ mcpServers: servers }))
  write({ one: entry, two: entry })
  const { line, stop } = begin(t, ['serve', 'mcp.json', '--http', '0'], home)
  const [, url = ''] = await line(servedAt)
  const client = connectTo(t, url)
  const names = async () => (await client.listTools()).tools.map(({ name }) => name)
  assert.is(await sumOf(client), '3')
  assert.is((await names()).length, 12)
  let lists = 0
  client.onNotification('notifications/tools/list_changed', () => {
    lists += 1
  })
  write({ one: entry, three: entry })
  await line(/two has gone, three has come/)
  await until(async () => (await names()).includes('three__add') && !(await names()).includes('two__add'), {
    timeout: 10_000,
  })
  assert.ok(lists > 0)
  assert.is((await client.callTool('three__add', { a: 2, b: 2 })).text, '4')
  const { args, ...rest } = entry
  write({ one: { ...rest, args: [...args, '--changed'] }, three: entry })
  await line(/one has changed/)
  await until(
    async () => (await client.callTool('one__add', { a: 4, b: 4 }).catch(() => null))?.text === '8',
    {
      timeout: 10_000,
    },
  )
  writeFileSync(file, '{ broken')
  await line(/is no JSON.*all servers stay as they are/)
  assert.is((await client.callTool('one__add', { a: 1, b: 2 })).text, '3')
  assert.is(client.inspect().counts.sessions, 1)
  await client.close()
  assert.is(await stop(), 0)
  assert.ok(readFileSync(file, 'utf8').startsWith('{ broken'))
})

test('what is told of an entry names its variables, and not their values', async (t) => {
  const home = newHome(t)
  const good = { command: process.execPath, args: [serverFile, '--stdio'] }
  const mcpServers = {
    good,
    address: { url: 'nonsense ${WORD_OF_TEST}' },
    program: { command: '${WORD_OF_TEST}' },
    header: { url: 'http://127.0.0.1:1/mcp', headers: { 'x-key': '${WORD_OF_TEST}\n' } },
  }
  writeFileSync(join(home, 'mcp.json'), JSON.stringify({ mcpServers }))
  const env = { WORD_OF_TEST: 'supersecrettoken' }
  const { line, stop, child } = begin(t, ['serve', 'mcp.json', '--http', '0'], home, env)
  let told = ''
  child.stderr.on('data', (chunk) => {
    told += chunk
  })
  await line(/address: .*\$\{WORD_OF_TEST\}/)
  const url = (await line(servedAt))[1] ?? ''
  await connectTo(t, url).listTools()
  while (!/program: .*\$\{WORD_OF_TEST\}/.test(told)) await once(child.stderr, 'data')
  await stop()
  assert.not.match(told, 'supersecrettoken')
})

test('a change of the file is seen while another one beside it is written on and on', async (t) => {
  const home = newHome(t)
  const file = join(home, 'mcp.json')
  const entry = { command: process.execPath, args: [serverFile, '--stdio'] }
  const write = (servers: object) => writeFileSync(file, JSON.stringify({ mcpServers: servers }))
  write({ one: entry, two: entry })
  const { line, stop } = begin(t, ['serve', 'mcp.json', '--http', '0'], home)
  await line(servedAt)
  const writing = setInterval(() => appendFileSync(join(home, 'server.log'), 'a line\n'), 10)
  t.after(() => clearInterval(writing))
  write({ one: entry })
  await line(/two has gone/)
  // and the file itself, as long as it makes sense
  clearInterval(writing)
  const again = setInterval(() => write({ one: entry, three: entry }), 10)
  t.after(() => clearInterval(again))
  await line(/three has come/)
  clearInterval(again)
  assert.is(await stop(), 0)
})

test('changes behind links are followed, of a file and of a folder as a whole', async (t) => {
  const home = newHome(t)
  const entry = { command: process.execPath, args: [serverFile, '--stdio'] }
  const write = (path: string, servers: object) =>
    writeFileSync(join(home, path), JSON.stringify({ mcpServers: servers }))
  for (const folder of ['first', 'second', 'elsewhere']) mkdirSync(join(home, folder))
  write('first/mcp.json', { one: entry })
  write('second/mcp.json', { one: entry, two: entry })
  write('elsewhere/mcp.json', { three: entry })
  symlinkSync('first', join(home, '..data'))
  symlinkSync('..data/mcp.json', join(home, 'mcp.json'))
  const { line, stop } = begin(t, ['serve', 'mcp.json', '--lazy', '--http', '0'], home)
  await line(servedAt)
  symlinkSync('second', join(home, 'next'))
  renameSync(join(home, 'next'), join(home, '..data'))
  await line(/two has come/)
  write('second/mcp.json', { two: entry })
  await line(/one has gone/)
  symlinkSync(join(home, 'elsewhere', 'mcp.json'), join(home, 'next'))
  renameSync(join(home, 'next'), join(home, 'mcp.json'))
  await line(/two has gone, three has come/)
  write('elsewhere/new.json', { four: entry })
  renameSync(join(home, 'elsewhere', 'new.json'), join(home, 'elsewhere', 'mcp.json'))
  await line(/three has gone, four has come/)
  assert.is(await stop(), 0)
})

test('a wrong entry is reported and left out until the file is mended', async (t) => {
  const home = newHome(t)
  const file = join(home, 'mcp.json')
  const entry = { command: process.execPath, args: [serverFile, '--stdio'] }
  const write = (servers: object) => writeFileSync(file, JSON.stringify({ mcpServers: servers }))
  const wrong = {
    noway: { args: ['x'] },
    nokey: { url: 'https://mcp.example.com/mcp', headers: { authorization: '${NO_SUCH_KEY}' } },
    nourl: { url: 'no address' },
    '': entry,
  }
  write({ ...wrong, one: entry })
  const { line, stop } = begin(t, ['serve', 'mcp.json', '--http', '0'], home)
  await line(/a server has an empty name: it is left out$/m)
  await line(/^noway: expected a command or a url; it is left out$/m)
  await line(/needs the variable NO_SUCH_KEY: set it in the environment; it is left out$/m)
  await line(/^nourl: .*; it is left out$/m)
  const [, url = ''] = await line(servedAt)
  const client = connectTo(t, url)
  assert.is(await sumOf(client), '3')
  write({ ...wrong, noway: entry, one: {} })
  await line(/^one: expected a command or a url; it stays as it was$/m)
  await line(/noway has come/)
  await until(
    async () => (await client.callTool('noway__add', { a: 4, b: 4 }).catch(() => null))?.text === '8',
    { timeout: 10_000 },
  )
  assert.is((await client.callTool('one__add', { a: 1, b: 2 })).text, '3')
  await client.close()
  assert.is(await stop(), 0)
})

test('a broken file changes nothing and fails no call; an empty list ends the servers', async (t) => {
  const home = newHome(t)
  const file = join(home, 'mcp.json')
  const entry = { command: process.execPath, args: [serverFile, '--stdio'] }
  writeFileSync(file, JSON.stringify({ mcpServers: { one: entry } }))
  const { line, stop } = begin(t, ['serve', 'mcp.json', '--http', '0'], home)
  const [, url = ''] = await line(servedAt)
  const client = connectTo(t, url)
  const ends: string[] = []
  let ended: Promise<unknown> = Promise.resolve()
  await new Promise<void>((resolve) => {
    ended = client.callTool('one__wait', {}, { onProgress: () => resolve() }).then(
      () => ends.push('answered'),
      (error: Error) => ends.push(error.message),
    )
  })
  for (const [text, told] of [
    ['', /is empty.*all servers stay as they are/],
    ['{"mcpServer": {}}', /neither mcpServers nor servers \(did you mean "mcpServers"\?\).*stay as they are/],
    ['{"mcpServers": null}', /expected mcpServers to be an object.*got null.*stay as they are/],
    ['{"mcpServers": []}', /expected mcpServers to be an object.*stay as they are/],
    ['[]', /expected an object with mcpServers.*stay as they are/],
    ['{"mcpServers": {"one": null}}', /one: expected a command or a url; it stays as it was/],
    [
      '{\n  "mcpServers": {\n    "one" 1\n  }\n}',
      /is no JSON \(line 3, column 11: expected :, got "1"\).*stay as they are/,
    ],
  ] as const) {
    writeFileSync(file, text)
    await line(told)
  }
  assert.equal(ends, [])
  assert.is(await sumOf(client), '3')
  const twice = JSON.stringify(entry)
  writeFileSync(file, `{"mcpServers": {\n"two": ${twice},\n"two": ${twice}, "one": ${twice}}}`)
  await line(/line 3: "two" is there twice: the last one counts/)
  await line(/two has come/)
  assert.equal(ends, [])
  writeFileSync(file, '{"mcpServers": {}}')
  await line(/two has gone, one has gone/)
  await ended
  assert.match(String(ends), /one: .*not there any more|lost/)
  await client.close()
  assert.is(await stop(), 0)
})

test('a pipe in the place of the file is told, and holds no program', async (t) => {
  if (process.platform === 'win32') return
  const home = newHome(t)
  const file = join(home, 'mcp.json')
  const entry = { command: process.execPath, args: [serverFile, '--stdio'] }
  writeFileSync(file, JSON.stringify({ mcpServers: { 'o\nne': entry } }))
  const { line, stop } = begin(t, ['serve', 'mcp.json', '--http', '0'], home)
  // a name stays in its line
  await line(/^caduceus: 1 servers of .*: o ne$|^1 servers of .*: o ne$/m)
  await line(servedAt)
  execFileSync('mkfifo', [join(home, 'pipe')])
  renameSync(join(home, 'pipe'), file)
  await line(/is no file; all servers stay as they are/)
  assert.is(await stop(), 0)
})

test('a server of the file that is the program itself is left out', async (t) => {
  const home = newHome(t)
  const port = await freePort()
  const entry = { command: process.execPath, args: [serverFile, '--stdio'] }
  const itself = { type: 'http', url: `http://localhost:${port}/mcp` }
  writeFileSync(join(home, 'mcp.json'), JSON.stringify({ mcpServers: { one: entry, itself } }))
  const { line, stop } = begin(t, ['serve', 'mcp.json', '--http', String(port)], home)
  await line(/itself: this is the address of this program, .*; it is left out/)
  await line(/1 servers of .*: one$/m)
  const [, url = ''] = await line(servedAt)
  const client = connectTo(t, url)
  assert.is(await sumOf(client), '3')
  const { tools } = await client.listTools()
  assert.ok(
    tools.every(({ name }) => name.startsWith('one__')),
    tools.map(({ name }) => name).join(),
  )
  await client.close()
  assert.is(await stop(), 0)
})

test('SIGHUP reads the file again and ends nothing', async (t) => {
  const home = newHome(t)
  const file = join(home, 'mcp.json')
  const entry = { command: process.execPath, args: [serverFile, '--stdio'] }
  writeFileSync(file, JSON.stringify({ mcpServers: { one: entry } }))
  const { line, stop, child } = begin(t, ['serve', 'mcp.json', '--http', '0'], home)
  const [, url = ''] = await line(servedAt)
  const client = connectTo(t, url)
  assert.is(await sumOf(client), '3')
  let told = ''
  child.stderr.on('data', (chunk: Buffer) => {
    told += chunk
  })
  child.kill('SIGHUP')
  await line(/nothing has changed/)
  assert.is((await client.callTool('one__add', { a: 1, b: 2 })).text, '3')
  assert.is(client.inspect().counts.sessions, 1)
  await client.close()
  assert.is(await stop(), 0)
  assert.not.match(told, 'nothing is reloaded')
})

test('serve with no usable server says why and does not start', async (t) => {
  const home = newHome(t)
  const file = join(home, 'mcp.json')
  // biome-ignore lint/suspicious/noTemplateCurlyInString: the form that configurations have
  const nokey = { command: process.execPath, env: { KEY: '${NO_SUCH_KEY}' } }
  for (const [text, told] of [
    [JSON.stringify({ mcpServers: { nokey } }), 'nokey needs the variable NO_SUCH_KEY'],
    ['{"mcpServers": {}}', 'no server'],
    ['', 'is empty'],
    ['{}', 'neither mcpServers nor servers'],
  ] as const) {
    writeFileSync(file, text)
    const { code, err } = await caduceus(t, ['serve', 'mcp.json', '--http', '0'], { home })
    assert.is(code, 2, err)
    assert.ok(err.includes(told), err)
    assert.match(err, /^caduceus: .*mcp\.json/m)
  }
})

test('with --lazy the servers of a file are started by their first use', async (t) => {
  const home = newHome(t)
  const started = join(home, 'started')
  const script = `require('fs').appendFileSync(${JSON.stringify(started)}, 'x'); import(${JSON.stringify(pathToFileURL(serverFile).href)})`
  const entry = { command: process.execPath, args: ['-e', script, '--', '--stdio'] }
  writeFileSync(join(home, 'mcp.json'), JSON.stringify({ mcpServers: { one: entry } }))
  const { line, stop } = begin(t, ['serve', 'mcp.json', '--http', '0', '--lazy'], home)
  const [, url = ''] = await line(servedAt)
  const client = connectTo(t, url)
  await client.ping()
  assert.not.ok(existsSync(started))
  assert.is((await client.listTools()).tools.length, 6)
  assert.is(await sumOf(client), '3')
  assert.is(readFileSync(started, 'utf8'), 'x')
  await client.close()
  assert.is(await stop(), 0)
})

test.run()
