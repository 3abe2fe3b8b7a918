// second tier: time
// time limit: 60 s
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import * as assert from 'uvu/assert'
import { withClient } from 'caduceus/client'
import { http } from 'caduceus/transports'
import { inRoot, root } from '../support/root.js'
import { suite } from '../support/suite.js'

const test = suite('README programs', { timeout: 30_000 })

test('the server counts per session, and the one-off client leaves nothing behind', async (t) => {
  const server = spawn(process.execPath, [program('server')], {
    env: { ...process.env, PORT: '0' },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  t.after(() => server.kill('SIGKILL'))
  const url = await new Promise<string>((resolve) =>
    server.stdout.once('data', (line) => resolve(String(line).trim())),
  )
  assert.match(url, /^http:\/\/127\.0\.0\.1:\d+\/mcp$/)
  for (let i = 0; i < 2; i++) assert.equal(await run('one-off', url), { code: 0, output: '1\n' })
})

test('the long-running client starts its server, lists a folder, and ends by itself', async () => {
  const { code, output } = await run('long-running')
  assert.is(code, 0)
  assert.match(output, 'ready')
  assert.match(output, '[FILE] package.json')
  assert.match(output, 'closed')
})

test('the gateway has the tools of both servers', async (t) => {
  const server = spawn(process.execPath, [program('first/gateway')], {
    cwd: root,
    env: { ...process.env, PORT: '0' },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  t.after(() => server.kill())
  const [line] = await once(server.stdout, 'data')
  const found = await withClient({ transport: http(String(line).trim()) }, async (client) => [
    (await client.callTool('memory__read_graph')).isError,
    (await client.callTool('files__list_directory', { path: root })).text.includes('[FILE] package.json'),
  ])
  assert.equal(found, [undefined, true])
})

test('the task example starts a task and awaits it by id', async () => {
  const { code, output } = await run('tasks/later')
  assert.is(code, 0)
  assert.is(output, 'working\nThe report of 2026.\nThe report of 2027.\n')
})

function program(name: string): string {
  return inRoot('.t', 'test', 'examples', `${name}.js`)
}

async function run(name: string, ...args: string[]): Promise<{ code: number | null; output: string }> {
  const child = spawn(process.execPath, [program(name), ...args], {
    cwd: root,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const ended = new Promise<number | null>((resolve) => child.on('exit', resolve))
  const output = await text(child.stdout)
  return { code: await ended, output }
}

test.run()
