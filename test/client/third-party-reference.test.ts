// second tier: third party
// shares a process
import { spawnSync } from 'node:child_process'
import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { open, realpath } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import * as assert from 'uvu/assert'
import { type Client, type ClientState, startClients } from 'caduceus/client'
import { heard } from '../support/heard.js'
import { inRoot } from '../support/root.js'
import { suite, type TestContext } from '../support/suite.js'
import { serverPid } from './_peer.js'
import { rejection } from './_raw.js'

const test = suite('clients of server-filesystem and server-memory', { timeout: 20_000 })
const graph = 'memory://knowledge-graph'
const rootsTaken = 'files: Updated allowed directories from MCP roots: 1 valid directories'

/** Both servers as a host has them; `roots` is what the first may work in. */
async function startBoth(t: TestContext) {
  const folder = await realpath(mkdtempSync(join(tmpdir(), 'reference-')))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  const said = heard<string>()
  const states = { files: heard<ClientState>(), memory: heard<ClientState>() }
  const memory = join(folder, 'memory.jsonl')
  const clients = await startClients(
    {
      files: { command: 'node', args: [program('filesystem')] },
      // biome-ignore lint/suspicious/noTemplateCurlyInString: the form that configurations have
      memory: { type: 'stdio', command: 'node', args: ['${MEMORY}'], env: { MEMORY_FILE_PATH: memory } },
    },
    {
      required: 'all',
      logger: false,
      variables: { MEMORY: program('memory') },
      onStderr: (name, line) => said.add(`${name}: ${line}`),
      client: (name) => ({
        backoff: { base: 1, cap: 1 },
        ...(name === 'files' && { roots: [{ uri: pathToFileURL(folder).href }] }),
      }),
    },
  )
  t.after(() => clients.close())
  clients.onState((name, state) => states[name as keyof typeof states].add(state))
  const [files, memories] = [clients.get('files'), clients.get('memory')]
  if (files === undefined || memories === undefined) throw new Error('expected two clients')
  await said.next((line) => line === rootsTaken)
  const ready = (name: keyof typeof states) => states[name].next(({ phase }) => phase === 'ready')
  return { folder, memory, files, memories, said, ready }
}

test('files are written, read, listed and edited within the named roots only', async (t) => {
  const { folder, files, said } = await startBoth(t)
  const path = join(folder, 'žluťoučký.txt')
  await files.callTool('write_file', { path, content: 'one\ntwo 🐍\n' })
  const read = await files.callTool('read_text_file', { path })
  assert.equal([read.text, read.json], ['one\ntwo 🐍\n', { content: 'one\ntwo 🐍\n' }])
  assert.is((await files.callTool('read_text_file', { path, head: 1 })).text, 'one')
  const edits = [{ oldText: 'one', newText: 'eins' }]
  assert.match((await files.callTool('edit_file', { path, edits })).text, '+eins')
  assert.match((await files.callTool('list_directory', { path: folder })).text, '[FILE] žluťoučký.txt')
  const outside = await files.callTool('read_text_file', { path: '/etc/hostname' })
  assert.is(outside.isError, true)
  assert.match(outside.text, 'Access denied')
  assert.is((await files.callTool('read_text_file', { path: join(folder, 'none') })).isError, true)
  assert.is((await files.callTool('read_text_file', {})).isError, true)
  files.setRoots([{ uri: pathToFileURL(tmpdir()).href }])
  await said.next((line) => line === rootsTaken)
  assert.match((await files.callTool('list_allowed_directories')).text, tmpdir())
})

test('stored entities are found again, and subscribers are notified', async (t) => {
  const { memories } = await startBoth(t)
  const updates = heard<{ uri: string }>()
  memories.onNotification('notifications/resources/updated', updates.add)
  await memories.subscribe(graph)
  await remember(memories, 'Žofie')
  assert.is((await updates.next()).uri, graph)
  assert.equal(await recall(memories, 'Žofie'), ['Žofie'])
  assert.match((await memories.readResource(graph)).text, 'Žofie')
  const unknown = { observations: [{ entityName: 'nobody', contents: ['x'] }] }
  assert.is((await memories.callTool('add_observations', unknown)).isError, true)
})

test('both killed during a call: calls reject, roots, data and subscription return', async (t) => {
  const { folder, memory, files, memories, said, ready } = await startBoth(t)
  const updates = heard<{ uri: string }>()
  memories.onNotification('notifications/resources/updated', updates.add)
  await memories.subscribe(graph)
  await remember(memories, 'Eva')
  await updates.next()
  const note = join(folder, 'note')
  writeFileSync(note, 'kept')
  // whoever reads from a pipe without a writer waits; that it can be opened for writing says that somebody reads
  renameSync(memory, `${memory}.aside`)
  const pipes = [join(folder, 'pipe'), memory]
  assert.is(spawnSync('mkfifo', pipes).status, 0)
  const calls = [
    rejection(files.callTool('read_text_file', { path: pipes[0] })),
    rejection(memories.callTool('read_graph')),
  ]
  const writers = await Promise.all(pipes.map((pipe) => open(pipe, 'w')))
  for (const client of [files, memories]) process.kill(serverPid(client), 'SIGKILL')
  for (const error of await Promise.all(calls)) {
    assert.is(error.code, 'CONNECTION_LOST')
    const { sent, signal } = error.data as { sent: boolean; signal: string }
    assert.equal({ sent, signal }, { sent: true, signal: 'SIGKILL' })
  }
  for (const writer of writers) await writer.close()
  renameSync(`${memory}.aside`, memory)
  await Promise.all([ready('files'), ready('memory'), said.next((line) => line === rootsTaken)])
  assert.is((await files.callTool('read_text_file', { path: note })).text, 'kept')
  assert.equal(await recall(memories, 'Eva'), ['Eva'])
  await remember(memories, 'Adam')
  assert.is((await updates.next()).uri, graph)
})

function program(name: string): string {
  return inRoot('node_modules', '@modelcontextprotocol', `server-${name}`, 'dist', 'index.js')
}

async function remember(client: Client, name: string): Promise<void> {
  const entities = [{ name, entityType: 'person', observations: ['was here'] }]
  const { json } = await client.callTool('create_entities', { entities })
  assert.equal(json, { entities })
}

async function recall(client: Client, name: string): Promise<readonly string[]> {
  const { json } = await client.callTool('open_nodes', { names: [name] })
  return (json as { entities: { name: string }[] }).entities.map((entity) => entity.name)
}

test.run()
