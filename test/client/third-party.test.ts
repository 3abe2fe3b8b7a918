import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import * as assert from 'uvu/assert'
import { stdio } from '../../transports/stdio-client.js'
import { inRoot } from '../support/root.js'
import { suite } from '../support/suite.js'
import { rejection, watch } from './_raw.js'

const test = suite('client of third-party servers')

const folder = ['node_modules', '@modelcontextprotocol'] as const

function everything() {
  return stdio({
    command: process.execPath,
    args: [inRoot(...folder, 'server-everything', 'dist', 'index.js'), 'stdio'],
  })
}

test(
  'server-everything: tools are listed and called, progress arrives, a call is cancelled',
  async (t) => {
    const { client } = watch(t, { name: 'everything', transport: everything() })
    const names: string[] = []
    for await (const { name } of client.tools()) names.push(name)
    assert.ok(names.includes('echo'))
    assert.is((await client.callTool('echo', { message: 'hi' })).text, 'Echo: hi')
    assert.match((await client.callTool('get-sum', { a: 2, b: 40 })).text, '42')
    const seen: number[] = []
    const long = 'trigger-long-running-operation'
    await client.callTool(
      long,
      { duration: 0.2, steps: 2 },
      { onProgress: ({ progress }) => seen.push(progress) },
    )
    assert.equal(seen, [1, 2])
    const error = await rejection(client.callTool(long, { duration: 60, steps: 2 }, { timeout: 100 }))
    assert.equal([error.code, error.data], ['TIMEOUT', { sent: true }])
    assert.is((await client.callTool('echo', { message: 'still here' })).text, 'Echo: still here')
    const unknown = await client.callTool('no-such-tool')
    assert.is(unknown.isError, true)
  },
  { timeout: 15_000 },
)

test(
  'server-everything: killed in the middle of a call, the caller is told at once and the client comes back',
  async (t) => {
    const { client, phase } = watch(t, { name: 'everything', transport: everything() })
    await client.ready(10_000)
    const pid = Number(/pid (\d+)/.exec(client.inspect().tree?.children[1]?.about ?? '')?.[1])
    const call = client.callTool(
      'trigger-long-running-operation',
      { duration: 60, steps: 60 },
      { onProgress: () => process.kill(pid, 'SIGKILL') },
    )
    const error = await rejection(call)
    assert.is(error.code, 'CONNECTION_LOST')
    assert.is((error.data as { signal: string }).signal, 'SIGKILL')
    await phase('disconnected')
    await phase('ready')
    assert.is((await client.callTool('echo', { message: 'back' })).text, 'Echo: back')
  },
  { timeout: 15_000 },
)

test(
  'server-filesystem: reads a file of the folder it was given, and refuses others',
  async (t) => {
    const place = mkdtempSync(join(tmpdir(), 'files-'))
    t.after(() => rmSync(place, { recursive: true, force: true }))
    writeFileSync(join(place, 'note.txt'), 'words')
    const args = [inRoot(...folder, 'server-filesystem', 'dist', 'index.js'), place]
    const { client } = watch(t, { name: 'files', transport: stdio({ command: process.execPath, args }) })
    assert.is((await client.callTool('read_text_file', { path: join(place, 'note.txt') })).text, 'words')
    const refused = await client.callTool('read_text_file', { path: '/etc/hostname' })
    assert.is(refused.isError, true)
  },
  { timeout: 15_000 },
)

test.run()
