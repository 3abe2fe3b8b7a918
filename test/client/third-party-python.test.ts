// second tier: third party
// shares a process
import { spawnSync } from 'node:child_process'
import * as assert from 'uvu/assert'
import type { Client } from 'caduceus/client'
import { http, stdio } from 'caduceus/transports'
import { type Heard, heard } from '../support/heard.js'
import { inRoot } from '../support/root.js'
import { suite, type TestContext } from '../support/suite.js'
import { serverPid, startPeer } from './_peer.js'
import { rejection, watch } from './_raw.js'

const python = 'python3'
const isThere = spawnSync(python, ['--version']).status === 0
const test = suite('client of a server in Python', { timeout: 20_000 })
const program = inRoot('test', 'support', 'python-server.py')
const odd = 'žluťoučký 🐍\u2028"\\\u0000 line\nline'

/** Defines a test that says so where there is no Python. */
function check(promise: string, body: (t: TestContext) => unknown): void {
  if (isThere) test(promise, body)
  else test.skip(promise, `${python} is not installed`)
}

for (const [way, flags] of Object.entries({
  'with unbuffered output': { before: ['-u'], after: [] },
  'with buffered output': { before: [], after: ['--buffered'] },
  'that escapes all but ASCII': { before: [], after: ['--ascii'] },
  'that says what is no message': { before: [], after: ['--noise'] },
}))
  check(`over pipes, ${way}: everything is used`, async (t) => {
    const said = heard<string>()
    const args = [...flags.before, program, ...flags.after]
    const { client } = watch(t, { transport: stdio({ command: python, args, stderr: said.add }) })
    await useAll(client, said)
    const { junk } = client.inspect().counts
    assert.is(junk > 0, way.includes('no message'))
    await client.close()
    await said.next((line) => line === 'end of input')
  })

check('over http: answers are JSON or event streams, and everything is used', async (t) => {
  const peer = await startPeer(t, { command: python, args: [program, '--http'] })
  const { client } = watch(t, { transport: http(`${peer.origin}/mcp`) })
  await useAll(client, peer.said)
  assert.is(client.inspect().counts.sessions, 1)
})

check('over pipes: killed during a call, it rejects at once, and the client recovers', async (t) => {
  const said = heard<string>()
  const transport = stdio({ command: python, args: [program], stderr: said.add })
  const { client, phase } = watch(t, { transport })
  await phase('ready')
  const call = rejection(client.callTool('hang'))
  await said.next((line) => line === 'hangs')
  process.kill(serverPid(client), 'SIGKILL')
  const error = await call
  assert.is(error.code, 'CONNECTION_LOST')
  assert.is((error.data as { signal: string }).signal, 'SIGKILL')
  assert.is((await client.callTool('add', { a: 2, b: 40 })).text, '42')
  assert.is(client.inspect().counts.sessions, 2)
})

check('over http: killed during a call, it rejects at once, and a new session begins', async (t) => {
  const peer = await startPeer(t, { command: python, args: [program, '--http'] })
  const { client, phase } = watch(t, {
    transport: http(`${peer.origin}/mcp`),
    backoff: { base: 20, cap: 100 },
  })
  await phase('ready')
  await client.listTools()
  const call = rejection(client.callTool('hang'))
  await peer.said.next((line) => line === 'hangs')
  await peer.kill()
  assert.is((await call).code, 'CONNECTION_LOST')
  // a connection that nobody uses may turn out to be gone only when it is used
  const waiting = client.listTools({ retry: 'safe' })
  await peer.start()
  assert.ok((await waiting).tools.length > 0)
  assert.is((await client.callTool('add', { a: 2, b: 40 })).text, '42')
  assert.is(client.inspect().counts.sessions, 2)
})

check('over http: a call refused for its session runs once in the next one', async (t) => {
  const peer = await startPeer(t, { command: python, args: [program, '--http'] })
  const { client } = watch(t, { transport: http(`${peer.origin}/mcp`) })
  await client.ping()
  await peer.kill()
  await peer.start()
  assert.is((await client.callTool('grow')).text, 'late-6')
})

test('a missing interpreter fails the client at once and is named', async (t) => {
  const transport = stdio({ command: 'python-that-is-not-there', args: [program] })
  const { client } = watch(t, { transport })
  const error = await rejection(client.ready())
  assert.is(error.code, 'CONNECT_FAILED')
  assert.match(error.message, 'python-that-is-not-there')
  assert.is(client.state.phase, 'failed')
})

async function useAll(client: Client, said: Heard<string>): Promise<void> {
  await client.ready()
  assert.is(client.server?.info.name, 'python')
  const names: string[] = []
  for await (const { name } of client.tools()) names.push(name)
  assert.equal(names, ['add', 'echo', 'steps', 'fail', 'grow', 'hang'])
  assert.is((await client.callTool('echo', { text: odd })).text, odd)
  const steps: unknown[] = []
  const onProgress = ({ message }: { message?: string }) => steps.push(message)
  assert.is((await client.callTool('steps', { n: 3 }, { onProgress })).text, 'hotovo')
  assert.equal(steps, ['krok 1', 'krok 2', 'krok 3'])
  assert.is((await client.callTool('fail')).isError, true)
  assert.is((await rejection(client.callTool('none'))).code, -32602)
  assert.is((await rejection(client.callTool('add', {}))).code, -32602)
  assert.is((await rejection(client.request('custom/none'))).code, -32601)
  const changes = heard<object>()
  client.onNotification('notifications/tools/list_changed', changes.add)
  assert.is((await client.callTool('grow')).text, 'late-6')
  await changes.next()
  assert.is((await client.readResource('py:page')).text, 'stránka 🐍')
  const { blobs } = await client.readResource('py:bytes')
  assert.equal(Buffer.from(blobs[0] ?? []), Buffer.from(Array.from({ length: 256 }, (_, byte) => byte)))
  assert.is((await rejection(client.readResource('py:none'))).code, -32002)
  assert.is(client.supports('prompts/list'), false)
  const controller = new AbortController()
  const call = rejection(client.callTool('hang', {}, { signal: controller.signal }))
  await said.next((line) => line === 'hangs')
  controller.abort()
  await call
  await said.next((line) => line === 'got notifications/cancelled')
  const all = Array.from({ length: 50 }, (_, n) => client.callTool('add', { a: n, b: n }))
  assert.equal(
    (await Promise.all(all)).map(({ text }) => text),
    all.map((_, n) => String(2 * n)),
  )
}

test.run()
