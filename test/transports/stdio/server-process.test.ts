// second tier: time
import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import * as assert from 'uvu/assert'
import { initialize, type Wire } from '../../server/_client.js'
import { startAllowance } from '../../support/allowance.mjs'
import { suite, type TestContext } from '../../support/suite.js'
import { request } from '../_modern.js'
import type { Line } from './_pipes.js'

const test = suite('stdio server process')
const program = fileURLToPath(new URL('./_program.js', import.meta.url))

test('stdout carries the protocol only, and stray output goes to stderr', async (t) => {
  const child = await startProgram(t)
  assert.is(await child.text('stray'), 'strayed')
  assert.is(await child.text('count'), '1')
  const { code, errors, rest } = await child.end()
  assert.is(code, 0)
  for (const line of ['stray console.log', 'stray console.info', 'stray write'])
    assert.ok(errors.includes(line), line)
  // restored once the server has ended
  assert.equal(rest, ['console is back'])
})

test('the end of the input ends the program with code 0', async (t) => {
  const child = await startProgram(t)
  assert.is(await child.text('count'), '1')
  const allowance = startAllowance(1_000)
  assert.is((await child.end()).code, 0)
  assert.ok(allowance.left() > 0)
})

test('a program held by something else exits two seconds after stdin ends', async (t) => {
  const child = await startProgram(t)
  assert.is(await child.text('hold'), 'held')
  assert.is((await child.end()).code, 0)
})

test('a client that stops reading ends the program orderly', async (t) => {
  const child = await startProgram(t)
  child.closeOutput()
  child.write({ jsonrpc: '2.0', id: 'x', method: 'ping' })
  child.write({ jsonrpc: '2.0', id: 'y', method: 'ping' })
  assert.is(await child.exited, 0)
})

test('HTTP and the validator are loaded on demand only', async (t) => {
  const child = await startProgram(t)
  await child.text('count')
  await child.ask('tools/list')
  assert.not.match(await child.text('loaded'), /undici|\bws\b|ajv|pino|http/)
  assert.is(await child.text('checked', { n: 3 }), '3')
  const after = await child.text('loaded')
  assert.match(after, /\bajv\b/)
  assert.not.match(after, /undici|\bws\b|pino|http/)
  await child.end()
})

test('2026-07-28 needs no handshake, and the end of stdin ends subscriptions', async (t) => {
  const child = spawn(process.execPath, [program], { stdio: ['pipe', 'pipe', 'ignore'] })
  t.after(() => child.kill('SIGKILL'))
  const exited = new Promise((resolve) => child.once('exit', resolve))
  const lines: Line[] = []
  const messages = [
    request('d', 'server/discover'),
    request(1, 'tools/list'),
    request(2, 'subscriptions/listen', { notifications: { toolsListChanged: true } }),
  ]
  child.stdin.write(messages.map((message) => `${JSON.stringify(message)}\n`).join(''))
  for await (const text of createInterface({ input: child.stdout })) {
    if (text.startsWith('{')) lines.push(JSON.parse(text))
    if (lines.length === 3) child.stdin.end()
  }
  const seen = lines.map(({ id, method, params }) => id ?? `${method} ${params?.requestId ?? ''}`)
  assert.equal(seen.slice(0, 3).sort(), [1, 'd', 'notifications/subscriptions/acknowledged '])
  assert.equal(seen.slice(3), [2, 'notifications/cancelled 2'])
  assert.is(await exited, 0)
})

async function startProgram(t: TestContext) {
  const child = spawn(process.execPath, [program], { stdio: ['pipe', 'pipe', 'pipe'] })
  t.after(() => child.kill('SIGKILL'))
  const answers = new Map<unknown, (message: Wire) => void>()
  const rest: string[] = []
  let errors = ''
  let lastId = 0
  child.stderr.setEncoding('utf8').on('data', (chunk) => {
    errors += chunk
  })
  child.stdin.on('error', () => {})
  createInterface({ input: child.stdout }).on('line', (line) => {
    if (!line.startsWith('{')) return void rest.push(line)
    const message = JSON.parse(line) as Wire
    answers.get(message.id)?.(message)
  })
  const exited = new Promise<number | null>((resolve) => child.once('close', resolve))
  const write = (message: object) => void child.stdin.write(`${JSON.stringify(message)}\n`)
  const ask = (method: string, params?: object): Promise<Wire> => {
    const id = ++lastId
    write({ jsonrpc: '2.0', id, method, ...(params && { params }) })
    return new Promise((resolve, reject) => {
      answers.set(id, resolve)
      void exited.then((code) => reject(new Error(`the program ended with ${code}: ${errors}`)))
    })
  }
  await new Promise<void>((resolve, reject) => {
    answers.set('init', () => resolve())
    void exited.then((code) => reject(new Error(`the program ended with ${code}: ${errors}`)))
    write(initialize())
  })
  write({ jsonrpc: '2.0', method: 'notifications/initialized' })
  return {
    write,
    ask,
    exited,
    text: async (name: string, args: object = {}) =>
      String((await ask('tools/call', { name, arguments: args })).result?.content?.[0]?.text),
    closeOutput: () => child.stdout.destroy(),
    async end() {
      child.stdin.end()
      return { code: await exited, errors, rest }
    },
  }
}

test.run()
