import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import * as assert from 'uvu/assert'
import { until } from 'caduceus/testing'
import { suite } from '../support/suite.js'
import { newHome, serverFile } from './_caduceus.js'
import { begin, connectTo, servedAt } from './_serve.js'

const test = suite("caduceus serve, of a host's file", { timeout: 30_000 })

test("the servers of a host's file are one, and come and go with the file", async (t) => {
  const home = newHome(t)
  const file = join(home, 'mcp.json')
  const entry = { command: process.execPath, args: [serverFile, '--stdio'] }
  const write = (servers: object) => writeFileSync(file, JSON.stringify({ mcpServers: servers }))
  write({ one: entry, two: entry })
  const { line, stop } = begin(t, ['serve', 'mcp.json', '--http', '0'], home)
  const [, url = ''] = await line(servedAt)
  const client = connectTo(t, url)
  const names = async () => (await client.listTools()).tools.map(({ name }) => name)
  assert.is((await client.callTool('one__add', { a: 1, b: 2 })).text, '3')
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

test('an entry that is wrong is told and left out; once the file is mended its server comes', async (t) => {
  const home = newHome(t)
  const file = join(home, 'mcp.json')
  const entry = { command: process.execPath, args: [serverFile, '--stdio'] }
  const write = (servers: object) => writeFileSync(file, JSON.stringify({ mcpServers: servers }))
  const wrong = {
    noway: { args: ['x'] },
    nokey: { url: 'https://mcp.example.com/mcp', headers: { authorization: '${NO_SUCH_KEY}' } },
    nourl: { url: 'no address' },
  }
  write({ ...wrong, one: entry })
  const { line, stop } = begin(t, ['serve', 'mcp.json', '--http', '0'], home)
  await line(/^noway: expected a command or a url; it is left out$/m)
  await line(/needs the variable NO_SUCH_KEY: set it in the environment; it is left out$/m)
  await line(/^nourl: .*; it is left out$/m)
  const [, url = ''] = await line(servedAt)
  const client = connectTo(t, url)
  assert.is((await client.callTool('one__add', { a: 1, b: 2 })).text, '3')
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
  assert.is((await client.callTool('one__add', { a: 1, b: 2 })).text, '3')
  assert.is(readFileSync(started, 'utf8'), 'x')
  await client.close()
  assert.is(await stop(), 0)
})

test.run()
