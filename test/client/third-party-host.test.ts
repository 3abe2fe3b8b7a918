// second tier: third party
// shares a process
import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import * as assert from 'uvu/assert'
import { type Clients, type ServerEntries, startClients, withClient } from 'caduceus/client'
import { type ClientTransport, http, sse, stdio } from 'caduceus/transports'
import { heard } from '../support/heard.js'
import { inRoot } from '../support/root.js'
import { suite, type TestContext } from '../support/suite.js'
import { type Peer, serverPid, startPeer } from './_peer.js'
import { rejection } from './_raw.js'

const test = suite('a host of servers of many makers', { timeout: 30_000 })
const everything = inRoot('node_modules', '@modelcontextprotocol', 'server-everything', 'dist', 'index.js')
const [sdk1, sdk2] = [1, 2].map((n) => fileURLToPath(new URL(`./_sdk${n}-program.js`, import.meta.url)))
const python = spawnSync('python3', ['--version']).status === 0
const pythonServer = inRoot('test', 'support', 'python-server.py')

/** What each is asked, and what it answers. */
const questions: Record<string, readonly [tool: string, args: Record<string, unknown>, text: string]> = {
  everything: ['echo', { message: 'hé' }, 'Echo: hé'],
  sdk1: ['echo', { text: 'hé' }, 'hé'],
  sdk2: ['echo', { text: 'hé' }, 'hé'],
  python: ['add', { a: 2, b: 40 }, '42'],
}

test('a one-off client of server-everything leaves nothing behind, on any transport', async (t) => {
  const peers = await Promise.all(
    ['sse', 'streamableHttp'].map((way) => startPeer(t, { args: [everything, way] })),
  )
  const [one, two] = peers.map(({ origin }) => origin)
  const transports: readonly ClientTransport[] = [
    stdio({ command: process.execPath, args: [everything, 'stdio'] }),
    sse(`${one}/sse`),
    http(`${two}/mcp`),
  ]
  for (const transport of transports) {
    const text = await withClient(
      { transport, logger: false },
      async (client) => (await client.callTool('echo', { message: 'hé' })).text,
    )
    assert.is(text, 'Echo: hé')
  }
})

test('each era is found, old addresses too, and the end of one affects no other', async (t) => {
  const { clients, peers } = await startAll(t)
  const revisions = [...clients].map(([name, { server }]) => [name, server?.revision])
  assert.equal(
    revisions,
    clients.names.map((name) => [name, name.startsWith('sdk2') ? '2026-07-28' : '2025-11-25']),
  )
  await askAll(clients)
  const states = heard<string>()
  clients.onState((name) => states.add(name))
  const hanging = clients.get('sdk1 http')
  const call = rejection(hanging?.callTool('hang') ?? Promise.resolve())
  const http1 = peers['sdk1 http']
  await http1?.said.next((line) => line === 'hangs')
  const pipes = clients.get('everything')
  if (pipes !== undefined) process.kill(serverPid(pipes), 'SIGKILL')
  await states.next((name) => name === 'everything')
  await Promise.all(Object.values(peers).map((peer) => peer.kill()))
  const living = clients.names.filter((name) => !(name in peers))
  await askAll(clients, living)
  await Promise.all(Object.values(peers).map((peer) => peer.start()))
  const { code } = await call
  assert.ok(['CONNECTION_LOST', 'SESSION_NOT_FOUND'].includes(String(code)), String(code))
  for (const name of Object.keys(peers)) await clients.get(name).listTools() // sessions are asked for with the next request
  await askAll(clients)
  const touched = new Set(states.all)
  assert.equal(
    clients.names.filter((name) => !touched.has(name)),
    [...living.filter((name) => name !== 'everything'), 'sdk2 http'], // where there are no sessions, there is none to lose
  )
})

/** One client for each server, and the servers that listen; Python is left out where there is none. */
async function startAll(t: TestContext): Promise<{ clients: Clients; peers: Record<string, Peer> }> {
  const command = process.execPath
  const listening: Record<string, readonly string[]> = {
    'everything sse': [everything, 'sse'],
    'everything http': [everything, 'streamableHttp'],
    'sdk1 sse': [sdk1 ?? '', 'sse'],
    'sdk1 http': [sdk1 ?? '', 'http'],
    'sdk2 http': [sdk2 ?? '', 'http'],
  }
  const started = await Promise.all(
    Object.entries(listening).map(async ([name, args]) => [name, await startPeer(t, { args })] as const),
  )
  const peers = Object.fromEntries(started)
  const url = (name: string): string => `${peers[name]?.origin}/${name.endsWith('sse') ? 'sse' : 'mcp'}`
  const servers: ServerEntries = {
    everything: { command, args: [everything] },
    sdk1: { command, args: [sdk1 ?? '', 'stdio'] },
    sdk2: { command, args: [sdk2 ?? '', 'stdio'] },
    ...(python && { python: { command: 'python3', args: [pythonServer] } }),
    'everything sse': { type: 'sse', url: url('everything sse') },
    'everything http': { type: 'streamable-http', url: url('everything http') },
    'sdk1 sse': { url: url('sdk1 sse') }, // posted to first: then it turns out to be one of 2024-11-05
    'sdk1 http': { url: url('sdk1 http') },
    'sdk2 http': { url: url('sdk2 http') },
  }
  const clients = await startClients(servers, {
    required: 'all',
    logger: false,
    client: {
      era: 'auto',
      probeTimeout: 100_000,
      handshakeTimeout: 100_000,
      backoff: { base: 20, cap: 100 },
    },
  })
  t.after(() => clients.close())
  return { clients, peers }
}

async function askAll(clients: Clients, names: readonly string[] = clients.names): Promise<void> {
  const answers = names.map(async (name) => {
    const [tool, args, expected] = questions[name.split(' ')[0] ?? ''] ?? ['', {}, '']
    const result = await clients.get(name).callTool(tool, args)
    return [name, result?.text === expected]
  })
  assert.equal(
    await Promise.all(answers),
    names.map((name) => [name, true]),
  )
}

test.run()
