// time limit: 60 s
import { type ChildProcessByStdio, spawn } from 'node:child_process'
import { once } from 'node:events'
import type { Readable } from 'node:stream'
import * as assert from 'uvu/assert'
import { type Client, withClient } from 'caduceus/client'
import { http, stdio } from 'caduceus/transports'
import { inRoot } from '../support/root.js'
import { suite, type TestContext } from '../support/suite.js'

const test = suite('README: your first server', { timeout: 30_000 })

test('over stdio', async () => {
  const transport = stdio({ command: process.execPath, args: [program('stdio')] })
  await withClient({ transport }, divides)
})

test('over HTTP', async (t) => {
  const line = await firstLine(start(t, 'http'))
  assert.match(line, /^http:\/\/127\.0\.0\.1:\d+\/mcp$/)
  await withClient({ transport: http(line) }, divides)
})

test('within Express', async (t) => {
  const port = /port: (\d+)/.exec(await firstLine(start(t, 'express')))?.[1]
  await withClient({ transport: http(`http://127.0.0.1:${port}/mcp`) }, divides)
})

async function divides(client: Client): Promise<void> {
  assert.is((await client.callTool('divide', { a: 1, b: 4 })).text, '1 / 4 = 0.25')
  const failed = await client.callTool('divide', { a: 1, b: 0 })
  assert.equal([failed.isError, failed.text], [true, 'Cannot divide by zero.'])
  const wrong = await client.callTool('divide', { a: 'one' })
  assert.match(wrong.text, 'a: expected a number, got a string')
  assert.match(wrong.text, 'b: is required')
}

function start(t: TestContext, name: string): ChildProcessByStdio<null, Readable, null> {
  const env = { ...process.env, PORT: '0' }
  const child = spawn(process.execPath, [program(name)], { env, stdio: ['ignore', 'pipe', 'inherit'] })
  t.after(() => child.kill('SIGKILL'))
  return child
}

async function firstLine({ stdout }: ChildProcessByStdio<null, Readable, null>): Promise<string> {
  const [chunk] = await once(stdout, 'data')
  return String(chunk).trim()
}

function program(name: string): string {
  return inRoot('.t', 'test', 'examples', 'first', `${name}.js`)
}

test.run()
