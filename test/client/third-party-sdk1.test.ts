// second tier: third party
// shares a process
import { get } from 'node:http'
import { fileURLToPath } from 'node:url'
import * as assert from 'uvu/assert'
import type { Client } from 'caduceus/client'
import { type ClientTransport, http, sse, stdio } from 'caduceus/transports'
import { type Heard, heard } from '../support/heard.js'
import { suite, type TestContext } from '../support/suite.js'
import { serverPid, startPeer } from './_peer.js'
import { rejection, watch } from './_raw.js'
import { answers, hearChanges, tryAll, tryQuestions, tryWithoutSessions } from './_sdk-trial.js'

const test = suite('client of servers of the official SDK 1', { timeout: 30_000 })
const program = fileURLToPath(new URL('./_sdk1-program.js', import.meta.url))

type Way = {
  readonly transport: ClientTransport
  readonly said: Heard<string>
  /** Where it listens, if it does. */
  readonly origin?: string
  restart(client: Client): Promise<void>
}

const ways: Record<string, (t: TestContext) => Promise<Way>> = {
  stdio: async () => {
    const said = heard<string>()
    const transport = stdio({ command: process.execPath, args: [program, 'stdio'], stderr: said.add })
    return { transport, said, restart: async (client) => void process.kill(serverPid(client), 'SIGKILL') }
  },
  sse: (t) => listening(t, 'sse'),
  http: (t) => listening(t, 'http'),
}

async function listening(t: TestContext, way: 'sse' | 'http'): Promise<Way> {
  const peer = await startPeer(t, { args: [program, way] })
  const restart = async (): Promise<void> => {
    await peer.kill()
    await peer.start()
  }
  const transport = way === 'sse' ? sse(`${peer.origin}/sse`) : http(`${peer.origin}/mcp`)
  return { transport, said: peer.said, origin: peer.origin, restart }
}

for (const [name, start] of Object.entries(ways)) {
  test(`${name}: all methods, questions both ways, progress, cancelling, and changes`, async (t) => {
    const { transport, said } = await start(t)
    const { client } = watch(t, { name, transport, ...answers })
    await tryAll(client, said)
    await tryQuestions(client)
    await hearChanges(client)
    await client.unsubscribe('x:page')
    client.setRoots([{ uri: 'file:///srv/two' }])
    await said.next((line) => line === 'got notifications/roots/list_changed')
  })

  test(`${name}: killed during a call, it rejects; level and subscription are restored`, async (t) => {
    const { transport, said, restart } = await start(t)
    const { client, phase } = watch(t, { name, transport, backoff: { base: 20, cap: 100 } })
    await phase('ready')
    await client.setLevel('error')
    await client.subscribe('x:page')
    const call = rejection(client.callTool('hang'))
    await said.next((line) => line === 'hangs')
    await restart(client)
    const error = await call
    assert.ok(['CONNECTION_LOST', 'SESSION_NOT_FOUND'].includes(String(error.code)), String(error.code))
    assert.is((error.data as { sent: boolean }).sent, true)
    await client.listTools() // over http the session is asked for with the next request
    await phase('ready')
    for (const method of ['initialize', 'logging/setLevel', 'resources/subscribe'])
      await said.next((line) => line === `got ${method}`)
    await hearChanges(client)
    assert.is(client.inspect().counts.sessions, 2)
  })
}

test('http: a connection cut during a call resumes where it broke and loses nothing', async (t) => {
  const { transport, origin } = await listening(t, 'http')
  const { client } = watch(t, { transport })
  await client.ready()
  const logs = heard<{ data: unknown }>()
  client.onNotification('notifications/message', logs.add)
  const progress = heard<object>()
  const call = client.callTool('cut', {}, { onProgress: progress.add })
  await progress.next()
  assert.is((await logs.next()).data, 'before the cut')
  get(`${origin}/cut`, { agent: false }, (response) => response.resume())
  assert.is((await call).text, 'after the cut')
  assert.is((await logs.next()).data, 'while nobody listens')
  assert.equal([progress.all.length, logs.all.length], [1, 2])
  assert.is(client.inspect().counts.sessions, 1)
})

test('http without sessions, JSON answers: a restart fails only the call in flight', async (t) => {
  const peer = await startPeer(t, { args: [program, 'stateless'] })
  const transport = http(`${peer.origin}/mcp`)
  const { client } = watch(t, { transport, backoff: { base: 20, cap: 100 } })
  await tryWithoutSessions(client, peer)
})

test.run()
