// second tier: third party
// shares a process
import { get } from 'node:http'
import { fileURLToPath } from 'node:url'
import * as assert from 'uvu/assert'
import type { Client } from 'caduceus/client'
import { type ClientTransport, http, stdio } from 'caduceus/transports'
import { type Heard, heard } from '../support/heard.js'
import { suite, type TestContext } from '../support/suite.js'
import { serverPid, startPeer } from './_peer.js'
import { rejection, watch } from './_raw.js'
import { answers, hearChanges, tryAll, tryQuestions, tryWithoutSessions } from './_sdk-trial.js'

const test = suite('client of servers of the official SDK 2', { timeout: 30_000 })
const program = fileURLToPath(new URL('./_sdk2-program.js', import.meta.url))

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
  http: listening,
}

async function listening(t: TestContext): Promise<Way> {
  const peer = await startPeer(t, { args: [program, 'http'] })
  const restart = async (): Promise<void> => {
    await peer.kill()
    await peer.start()
  }
  return { transport: http(`${peer.origin}/mcp`), said: peer.said, origin: peer.origin, restart }
}

const eras = [
  {
    era: 'handshake',
    revision: '2025-11-25',
    again: ['initialize', 'logging/setLevel', 'resources/subscribe'],
  },
  { era: 'modern', revision: '2026-07-28', again: ['subscriptions/listen'] },
] as const

for (const [name, start] of Object.entries(ways))
  for (const { era, revision, again } of eras) {
    test(`${name}, ${era}: all methods, questions, progress, cancelling, and changes`, async (t) => {
      const { transport, said } = await start(t)
      const { client } = watch(t, { name, transport, era, ...answers })
      await tryAll(client, said)
      assert.is(client.server?.revision, revision)
      await tryQuestions(client)
      await hearChanges(client)
      await client.unsubscribe('x:page')
    })

    test(`${name}, ${era}: killed during a call, it rejects; subscriptions are restored`, async (t) => {
      const { transport, said, restart } = await start(t)
      const { client } = watch(t, { name, transport, era, backoff: { base: 20, cap: 100 } })
      await client.ready()
      await client.setLevel('error')
      await client.subscribe('x:page')
      const call = rejection(client.callTool('hang'))
      await said.next((line) => line === 'hangs')
      await restart(client)
      const error = await call
      assert.ok(['CONNECTION_LOST', 'SESSION_NOT_FOUND'].includes(String(error.code)), String(error.code))
      assert.is((error.data as { sent: boolean }).sent, true)
      await client.listTools() // over http the session is asked for with the next request
      const asked = new Set<string>(again)
      await said.next((line) => asked.delete(line.slice('got '.length)) && asked.size === 0)
      await hearChanges(client)
      const isOneSession = name === 'http' && era === 'modern'
      assert.is(client.inspect().counts.sessions, isOneSession ? 1 : 2)
    })
  }

test('http: a connection cut during a call resumes where it broke and loses nothing', async (t) => {
  const { transport, origin } = await listening(t)
  const { client } = watch(t, { transport })
  await client.ready()
  const progress = heard<object>()
  const call = client.callTool('cut', {}, { onProgress: progress.add })
  await progress.next()
  get(`${origin}/cut`, { agent: false }, (response) => response.resume())
  assert.is((await call).text, 'after the cut')
  assert.is(progress.all.length, 1)
  assert.is(client.inspect().counts.sessions, 1)
})

for (const [era, way] of [
  ['handshake', 'stateless'],
  ['auto', 'stateless'],
  ['handshake', 'modern'],
] as const)
  test(`http without sessions, ${era}, ${way}: a restart fails one call`, async (t) => {
    const peer = await startPeer(t, { args: [program, way] })
    const transport = http(`${peer.origin}/mcp`)
    const { client } = watch(t, { transport, era, backoff: { base: 20, cap: 100 } })
    await tryWithoutSessions(client, peer)
  })

test.run()
