// second tier: time
// shares a process
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import * as assert from 'uvu/assert'
import type { AuditEntry } from 'caduceus/server'
import { until } from 'caduceus/testing'
import { AuditFile, lineOf } from '../../command/serving/audit-file.js'
import { suite, type TestContext } from '../support/suite.js'
import { newHome, serverFile } from './_caduceus.js'
import { begin, connectTo, moduleText, servedAt } from './_serve.js'

const test = suite('caduceus serve, and its audit log', { timeout: 60_000 })
const entryOf = (name: string): AuditEntry => ({
  ...{ time: '2026-01-01T00:00:00.000Z', method: 'tools/call', name, outcome: 'ok', duration: 1, request: 1 },
})

function linesOf(path: string): AuditEntry[] {
  return readFileSync(path, 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as AuditEntry)
}

function logIn(t: TestContext, options: Partial<ConstructorParameters<typeof AuditFile>[0]> = {}) {
  const file = join(newHome(t), 'audit.log')
  const log = new AuditFile({ file, maxBytes: 1_000_000, maxFiles: 3, sync: false, ...options })
  t.after(() => log.close())
  return { file, log }
}

function place(t: TestContext, audit: unknown) {
  const home = newHome(t)
  const entry = { command: process.execPath, args: [serverFile, '--stdio'] }
  writeFileSync(
    join(home, 'mcp.json'),
    JSON.stringify({ mcpServers: { one: entry }, caduceus: { listen: { port: 0 }, audit } }),
  )
  return { home, file: join(home, 'audit.log') }
}

test('what was answered is in the file when the program is killed at once', async (t) => {
  const { home, file } = place(t, 'audit.log')
  const { line, child } = begin(t, ['serve', 'mcp.json'], home)
  const [, url = ''] = await line(servedAt)
  const client = connectTo(t, url)
  await until(async () => (await client.listTools()).tools.length > 0, { timeout: 20_000 })
  const answers = await Promise.all(
    Array.from({ length: 30 }, (_, at) => client.callTool('one__echo', { message: `m${at}` })),
  )
  child.kill('SIGKILL')
  assert.is(answers.length, 30)
  const lines = linesOf(file)
  assert.is(lines.length, 30)
  for (const { name, server, upstreamName, outcome, address } of lines)
    assert.equal(
      [name, server, upstreamName, outcome, address],
      ['one__echo', 'one', 'echo', 'ok', '127.0.0.1'],
    )
  assert.not.match(readFileSync(file, 'utf8'), /m1/)
  assert.is(statSync(file).mode & 0o777, 0o600)
})

test('arguments and results if asked for; a log that is moved away begins anew', async (t) => {
  const { home, file } = place(t, { file: 'audit.log', arguments: true, results: true, sync: true })
  const { line, stop, child } = begin(t, ['serve', 'mcp.json'], home)
  const [, url = ''] = await line(servedAt)
  const client = connectTo(t, url)
  await until(async () => (await client.listTools()).tools.length > 0, { timeout: 20_000 })
  await client.callTool('one__echo', { message: 'a\u2028b\n' })
  assert.equal(linesOf(file)[0]?.arguments, { message: 'a\u2028b\n' })
  assert.not.match(readFileSync(file, 'utf8'), /\u2028/)
  renameSync(file, `${file}.old`)
  child.kill('SIGHUP')
  await line(/nothing has changed/)
  await client.callTool('one__echo', { message: 'c' })
  assert.is(linesOf(file).length, 1)
  assert.is(linesOf(`${file}.old`).length, 1)
  assert.is(await stop(), 0)
})

test('--audit and CADUCEUS_AUDIT give a module an audit log, too', async (t) => {
  const home = newHome(t)
  writeFileSync(join(home, 'server.mjs'), moduleText('hello'))
  const { line, stop } = begin(t, ['serve', 'server.mjs', '--http', '0', '--audit', 'first.log'], home)
  const [, url = ''] = await line(servedAt)
  await connectTo(t, url).callTool('say')
  assert.is(linesOf(join(home, 'first.log'))[0]?.name, 'say')
  assert.is(await stop(), 0)
  const other = begin(t, ['serve', 'server.mjs', '--http', '0'], home, { CADUCEUS_AUDIT: 'second.log' })
  const [, address = ''] = await other.line(servedAt)
  await connectTo(t, address).callTool('say')
  assert.is(linesOf(join(home, 'second.log')).length, 1)
  assert.is(await other.stop(), 0)
})

test('several programs do not write one log', async (t) => {
  const home = newHome(t)
  writeFileSync(join(home, 'server.mjs'), moduleText('hello'))
  const args = ['serve', 'server.mjs', '--http', '0', '--processes', '2']
  await begin(t, [...args, '--audit', 'a.log'], home).line(/--processes: one program writes an audit log/)
  await begin(t, args, home, { CADUCEUS_AUDIT: 'a.log' }).line(/one program writes an audit log/)
})

test('a log that cannot be written is told at the start', async (t) => {
  const { home } = place(t, { file: 'none/audit.log' })
  const { line } = begin(t, ['serve', 'mcp.json'], home)
  await line(/the audit log .*none\/audit\.log cannot be written: ENOENT/)
})

test('while it cannot be written calls are refused, and go on afterwards', async (t) => {
  const { home } = place(t, { file: 'logs/audit.log' })
  mkdirSync(join(home, 'logs'))
  const { line, stop } = begin(t, ['serve', 'mcp.json'], home)
  const [, url = ''] = await line(servedAt)
  const client = connectTo(t, url)
  await until(async () => (await client.listTools()).tools.length > 0, { timeout: 20_000 })
  await client.callTool('one__echo', { message: 'a' })
  renameSync(join(home, 'logs'), join(home, 'away'))
  const told = line(/the audit log cannot be written, and calls are refused: ENOENT/)
  const first = await client.callTool('one__echo', { message: 'b' }).catch(String)
  assert.match(String(first), /audit log/)
  await told
  renameSync(join(home, 'away'), join(home, 'logs'))
  await until(
    async () => (await client.callTool('one__echo', { message: 'c' }).catch(() => undefined)) !== undefined,
    { timeout: 20_000 },
  )
  assert.is(await stop(), 0)
})

test('files are rotated by size, and no line is lost on the way', async (t) => {
  const size = Buffer.byteLength(lineOf(entryOf('00')))
  const { file, log } = logIn(t, { maxBytes: size * 10 })
  await log.open()
  for (let at = 10; at < 45; at += 1) await log.write(entryOf(String(at)))
  const all = [`${file}.3`, `${file}.2`, `${file}.1`, file].flatMap((path) => linesOf(path))
  assert.equal(
    all.map(({ name }) => name),
    Array.from({ length: 35 }, (_, at) => String(at + 10)),
  )
  assert.not.ok(existsSync(`${file}.4`))
  for (let at = 45; at < 60; at += 1) await log.write(entryOf(String(at)))
  assert.is(linesOf(`${file}.3`).length, 10)
  assert.not.ok(existsSync(`${file}.4`))
})

test('lines that come at once are written together, in order', async (t) => {
  const { file, log } = logIn(t, { sync: true })
  await Promise.all(Array.from({ length: 200 }, (_, at) => log.write(entryOf(String(at)))))
  assert.equal(
    linesOf(file).map(({ name }) => Number(name)),
    Array.from({ length: 200 }, (_, at) => at),
  )
})

test('half a line that was left by a program that was killed spoils no other', async (t) => {
  const { file, log } = logIn(t)
  appendFileSync(file, '{"time":"half')
  await log.write(entryOf('whole'))
  const lines = readFileSync(file, 'utf8').split('\n')
  assert.is(JSON.parse(lines[1] ?? '').name, 'whole')
})

test('a full disk fails a write, and the next one begins a line of its own', async (t) => {
  const log = new AuditFile({ file: '/dev/full', maxBytes: 1_000, maxFiles: 1, sync: false })
  t.after(() => log.close())
  assert.match(String(await log.write(entryOf('a')).catch(String)), /no file|ENOSPC/)
})

test('whatever others write, an entry is one line', () => {
  const text = lineOf(entryOf('a\n\r\u2028\u2029\u0085\u001b[2J\u202e\0"}'))
  assert.match(text, /^[ -~]+\n$/)
  assert.is(JSON.parse(text).name, 'a\n\r\u2028\u2029\u0085\u001b[2J\u202e\0"}')
})

test.run()
