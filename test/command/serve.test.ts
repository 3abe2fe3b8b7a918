// second tier: time
import { once } from 'node:events'
import { mkdirSync, writeFileSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { join } from 'node:path'
import * as assert from 'uvu/assert'
import { startClient, stdio } from 'caduceus'
import { until } from 'caduceus/testing'
import { suite } from '../support/suite.js'
import { caduceus, newHome, program, serverFile } from './_caduceus.js'
import { begin, connectTo, moduleText, servedAt } from './_serve.js'

const test = suite('caduceus serve', { timeout: 30_000 })

test('a module is served over standard input', async (t) => {
  const home = newHome(t)
  writeFileSync(join(home, 'server.mjs'), moduleText('hello'))
  const args = [program, 'serve', join(home, 'server.mjs'), '--stdio']
  const client = startClient({ transport: stdio({ command: process.execPath, args }), logger: false })
  t.after(() => client.close())
  assert.is((await client.callTool('say')).text, 'hello')
})

test('what a module prints while it loads is no message of the protocol', async (t) => {
  const home = newHome(t)
  const own = `import { serveStdio } from ${JSON.stringify(import.meta.resolve('caduceus'))}
    export const options = { transport: serveStdio() }\n`
  for (const [more, ...args] of [['', '--stdio'], [own]] as const) {
    writeFileSync(join(home, 'server.mjs'), `console.log('it loads')\n${moduleText('hello')}${more}`)
    const hello = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping' })
    const { code, out, err } = await caduceus(t, ['serve', 'server.mjs', ...args], {
      home,
      input: `${hello}\n`,
    })
    assert.equal([code, out], [0, '{"jsonrpc":"2.0","id":1,"result":{}}\n'], err)
    assert.match(err, /^it loads$/m)
  }
})

test('a module is served over HTTP, and SIGTERM ends it with 0', async (t) => {
  const home = newHome(t)
  writeFileSync(join(home, 'server.mjs'), moduleText('hello'))
  const { line, stop } = begin(t, ['serve', 'server.mjs', '--http', '0'], home)
  const [, url = ''] = await line(servedAt)
  assert.match(url, /\/mcp$/)
  const client = connectTo(t, url)
  assert.is((await client.callTool('say')).text, 'hello')
  await client.close()
  assert.is(await stop(), 0)
})

test('several processes serve a module, and SIGHUP replaces them and keeps sessions', async (t) => {
  const home = newHome(t)
  const text = moduleText('').replace('run: () => ""', 'run: () => String(process.pid)')
  writeFileSync(join(home, 'server.mjs'), text)
  const { line, stop, child } = begin(t, ['serve', 'server.mjs', '--http', '0', '--processes', '2'], home)
  const [, url = ''] = await line(servedAt)
  const client = connectTo(t, url)
  const first = (await client.callTool('say')).text
  assert.match(first, /^\d+$/)
  assert.is.not(first, String(child.pid))
  child.kill('SIGHUP')
  await until(async () => (await client.callTool('say')).text !== first, { timeout: 20_000 })
  assert.is(client.inspect().counts.sessions, 1)
  await client.close()
  assert.is(await stop(), 0)
})

test('a module without a server is reported in one line', async (t) => {
  const home = newHome(t)
  writeFileSync(join(home, 'odd.mjs'), 'export const one = 1\n')
  writeFileSync(join(home, 'broken.mjs'), 'export const = 1\n')
  writeFileSync(join(home, 'busy.mjs'), 'setInterval(() => {}, 1_000)\n')
  writeFileSync(join(home, 'never.mjs'), 'await new Promise(() => {})\n')
  writeFileSync(join(home, 'own.mjs'), `${moduleText('x')}export const options = { transport: {} }\n`)
  writeFileSync(join(home, 'typed.ts'), 'enum Kind { one }\nexport default Kind.one\n')
  const runsTypes = 'typescript' in process.features
  for (const [args, text] of [
    ...(runsTypes ? [] : [[['typed.ts'], 'it is TypeScript, which Node runs from 22.18 on'] as const]),
    [['odd.mjs'], 'expected the default export to be what defineServer returns; it exports one'],
    [['broken.mjs'], 'broken.mjs, line 1: SyntaxError: '],
    [['busy.mjs'], 'it exports nothing (a module that starts its server by itself is run with node)'],
    [['never.mjs'], 'never.mjs has not finished loading'],
    [['own.mjs', '--http', '0'], 'exports a transport in its options'],
    [['missing.json'], 'missing.json cannot be read (ENOENT)'],
  ] as const) {
    const { code, err } = await caduceus(t, ['serve', ...args], { home })
    assert.equal([code, err.includes(text), err.trim().split('\n').length], [2, true, 1], err)
  }
})

test('processes of a module whose transport has another port are refused', async (t) => {
  const home = newHome(t)
  const ported = `import { serveHttp } from ${JSON.stringify(import.meta.resolve('caduceus'))}
export const options = { transport: serveHttp({ port: 1 }) }
${moduleText('x')}`
  writeFileSync(join(home, 'ported.mjs'), ported)
  const { code, err } = await caduceus(t, ['serve', 'ported.mjs', '--processes', '1', '--http', '0'], {
    home,
  })
  assert.is(code, 2)
  assert.match(err, /^caduceus: \S+ported\.mjs: options\.transport: port: expected \d+, .* got 1: give both/m)
})

test('a port that is taken is reported in one line', async (t) => {
  const home = newHome(t)
  writeFileSync(join(home, 'module.mjs'), moduleText('one'))
  const entry = { command: process.execPath, args: [serverFile, '--stdio'] }
  writeFileSync(join(home, 'mcp.json'), JSON.stringify({ mcpServers: { entry } }))
  const other = createServer().listen(0, '127.0.0.1')
  t.after(() => other.close())
  await once(other, 'listening')
  const { port } = other.address() as AddressInfo
  for (const args of [['module.mjs'], ['module.mjs', '--processes', '2'], ['mcp.json']]) {
    const { code, out, err } = await caduceus(t, ['serve', ...args, '--http', String(port)], { home })
    assert.is(
      err,
      `caduceus: cannot listen on 127.0.0.1 port ${port}: the port is in use: take another port, or 0 for a free one\n`,
    )
    assert.equal([code, out], [1, ''])
  }
})

test('dev reloads a changed module and keeps sessions', async (t) => {
  const home = newHome(t)
  const file = join(home, 'server.mjs')
  writeFileSync(file, moduleText('first'))
  const { line, stop } = begin(t, ['dev', 'server.mjs', '--http', '0'], home)
  const [, url = ''] = await line(servedAt)
  const client = connectTo(t, url)
  assert.is((await client.callTool('say')).text, 'first')
  const changed = new Promise<void>((resolve) => {
    client.onNotification('notifications/tools/list_changed', () => resolve())
  })
  writeFileSync(file, moduleText('second', 'say, more'))
  await line(/is loaded anew/)
  await changed
  assert.is((await client.callTool('say')).text, 'second')
  assert.is((await client.listTools()).tools.length, 2)
  assert.is(client.inspect().counts.sessions, 1)
  // another name for what is served, as serve takes it
  writeFileSync(file, moduleText('third').replace('export default', 'export const notes ='))
  await line(/is loaded anew/)
  assert.is((await client.callTool('say')).text, 'third')
  writeFileSync(file, 'this is no module')
  await line(/stays as it was/)
  assert.is((await client.callTool('say')).text, 'third')
  writeFileSync(file, `await new Promise(() => {})\n${moduleText('never')}`)
  await line(/has not finished loading: until it does, what was loaded before is served/)
  assert.is((await client.callTool('say')).text, 'third')
  writeFileSync(file, moduleText('fourth'))
  await line(/is loaded anew/)
  assert.is((await client.callTool('say')).text, 'fourth')
  await client.close()
  assert.is(await stop(), 0)
})

/** A module whose transport is its own, at a free port. */
async function portedModule(word: string, more: string): Promise<{ text: string; port: number }> {
  const probe = createServer().listen(0, '127.0.0.1')
  await once(probe, 'listening')
  const { port } = probe.address() as AddressInfo
  probe.close()
  await once(probe, 'close')
  const text = `import { serveHttp } from ${JSON.stringify(import.meta.resolve('caduceus'))}
process.send?.('ready')
setInterval(() => {}, 1_000)
export const options = { transport: serveHttp({ port: ${port}, ${more} }) }
${moduleText(word)}`
  return { text, port }
}

for (const [about, more, path] of [
  ['options', "path: '/own'", '/own'],
  ['a function', "authenticate: () => 'anonymous'", '/mcp'],
] as const)
  test(`dev keeps the port of a module whose transport has ${about}`, async (t) => {
    const home = newHome(t)
    const file = join(home, 'server.mjs')
    const { text, port } = await portedModule('first', more)
    writeFileSync(file, text)
    const { line, stop } = begin(t, ['dev', 'server.mjs'], home)
    const [, url = ''] = await line(servedAt)
    assert.is(url, `http://127.0.0.1:${port}${path}`)
    const client = connectTo(t, url)
    assert.is((await client.callTool('say')).text, 'first')
    writeFileSync(file, text.replace('first', 'second'))
    await line(/is loaded anew/)
    assert.is((await client.callTool('say')).text, 'second')
    await client.close()
    const taken = await caduceus(t, ['dev', 'server.mjs'], { home })
    assert.is(
      taken.err,
      `caduceus: cannot listen on 127.0.0.1 port ${port}: the port is in use: take another port, or 0 for a free one\n`,
    )
    const asked = await caduceus(t, ['dev', 'server.mjs', '--host', '127.0.0.1'], { home })
    assert.equal([asked.code, asked.err.includes('leave --host out')], [2, true], asked.err)
    assert.is(await stop(), 0)
  })

for (const command of ['serve', 'dev'])
  test(`${command} reports a broken module in one line with its place`, async (t) => {
    const home = newHome(t)
    writeFileSync(join(home, 'broken.mjs'), 'const a = 1\nexport default {\n')
    const broken = await caduceus(t, [command, 'broken.mjs', '--http', '0'], { home })
    assert.equal(broken, {
      code: 2,
      out: '',
      err: 'caduceus: broken.mjs, line 3: SyntaxError: Unexpected end of input\n',
    })
    const missing = await caduceus(t, [command, 'missing.mjs', '--http', '0'], { home })
    assert.equal([missing.code, missing.err], [2, 'caduceus: missing.mjs is not there\n'])
  })

test('dev watches folders that are created later', async (t) => {
  const home = newHome(t)
  writeFileSync(join(home, 'server.mjs'), moduleText('first'))
  const { line, stop } = begin(t, ['dev', 'server.mjs', '--http', '0'], home)
  await line(servedAt)
  const folder = join(home, 'later')
  mkdirSync(folder)
  writeFileSync(join(folder, 'part.mjs'), 'export const one = 1\n')
  await line(/is loaded anew/)
  writeFileSync(join(folder, 'part.mjs'), 'export const one = 2\n')
  await line(/is loaded anew/)
  assert.is(await stop(), 0)
})

test.run()
