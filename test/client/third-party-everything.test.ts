// second tier: third party
// shares a process
import * as assert from 'uvu/assert'
import type { Client } from 'caduceus/client'
import { type ClientTransport, http, sse, stdio } from 'caduceus/transports'
import { heard } from '../support/heard.js'
import { inRoot } from '../support/root.js'
import { suite, type TestContext } from '../support/suite.js'
import { type Peer, serverPid, startPeer } from './_peer.js'
import { rejection, watch } from './_raw.js'

const test = suite('client of server-everything', { timeout: 30_000 })
const program = inRoot('node_modules', '@modelcontextprotocol', 'server-everything', 'dist', 'index.js')
const long = 'trigger-long-running-operation'
const page = (id: number) => `demo://resource/dynamic/text/${id}`

/** A server-everything, and what ends and restarts it. */
type Way = {
  readonly transport: ClientTransport
  kill(client: Client): unknown
  /** What a supervisor of the server would do; on standard input and output the client does it. */
  restart(): Promise<void>
}

const ways: Record<string, (t: TestContext) => Promise<Way>> = {
  stdio: async () => ({
    transport: stdio({ command: process.execPath, args: [program, 'stdio'], stopTimeout: 200 }),
    kill: (client) => process.kill(serverPid(client), 'SIGKILL'),
    restart: async () => {},
  }),
  sse: async (t) => {
    const peer = await startPeer(t, { args: [program, 'sse'] })
    return { transport: sse(`${peer.origin}/sse`), ...endings(peer) }
  },
  streamableHttp: async (t) => {
    const peer = await startPeer(t, { args: [program, 'streamableHttp'] })
    return { transport: http(`${peer.origin}/mcp`), ...endings(peer) }
  },
}

function endings(peer: Peer): Pick<Way, 'kill' | 'restart'> {
  return { kill: () => peer.kill(), restart: () => peer.start() }
}

for (const [name, start] of Object.entries(ways)) {
  test(`${name}: every feature is used, and its questions are answered`, async (t) => {
    const { transport } = await start(t)
    const { client } = watch(t, {
      name,
      transport,
      onElicit: {
        form: () => ({ action: 'accept', content: { name: 'Žofie' } }),
        url: () => ({ action: 'decline' }),
      },
      onSample: ({ messages }) => ({
        role: 'assistant',
        model: 'm1',
        content: { type: 'text', text: `${messages.length} message` },
      }),
      roots: [{ uri: 'file:///srv/one', name: 'One' }],
    })
    await useTools(client)
    await useResources(client)
    await usePrompts(client)
    await answerQuestions(client)
    await hearLogs(client)
  })

  test(`${name}: killed during a call, the call rejects and the client recovers`, async (t) => {
    const way = await start(t)
    const asked = heard<AbortSignal>()
    const { client, phase } = watch(t, {
      name,
      transport: way.transport,
      backoff: { base: 20, cap: 100 },
      onElicit: (_params, { signal }) => {
        asked.add(signal)
        return new Promise(() => {})
      },
    })
    await phase('ready')
    await client.setLevel('error')
    await client.subscribe(page(7))
    const call = rejection(client.callTool('trigger-elicitation-request'))
    const signal = await asked.next()
    await way.kill(client)
    await way.restart()
    const error = await call
    assert.ok(['CONNECTION_LOST', 'SESSION_NOT_FOUND'].includes(String(error.code)), String(error.code))
    assert.is((error.data as { sent: boolean }).sent, true)
    assert.is(signal.aborted, true)
    if (name === 'stdio') assert.is((error.data as { signal?: string }).signal, 'SIGKILL')
    await phase('ready')
    await wishesHold(client)
    assert.is(client.inspect().counts.sessions, 2)
  })
}

test('streamableHttp: a read-only call is retried in the session after a lost one', async (t) => {
  const peer = await startPeer(t, { args: [program, 'streamableHttp'] })
  const { client } = watch(t, {
    transport: http(`${peer.origin}/mcp`),
    backoff: { base: 20, cap: 100 },
  })
  await client.listTools() // says which tools change nothing
  const steps = heard<number>()
  const onProgress = ({ progress }: { progress: number }) => steps.add(progress)
  const call = client.callTool(long, { duration: 1.6, steps: 2 }, { onProgress })
  await steps.next()
  await peer.kill()
  await peer.start()
  assert.match((await call).text, /^Long running operation completed/)
  assert.equal(steps.all, [1, 1, 2])
  assert.equal([client.inspect().counts.repeated, client.inspect().counts.sessions], [1, 2])
})

async function useTools(client: Client): Promise<void> {
  const names: string[] = []
  for await (const { name } of client.tools()) names.push(name)
  for (const name of ['echo', 'get-sum', 'get-roots-list', 'trigger-url-elicitation', long])
    assert.ok(names.includes(name), name)
  assert.is(
    (await client.callTool('echo', { message: 'žluťoučký 🐍\u2028' })).text,
    'Echo: žluťoučký 🐍\u2028',
  )
  assert.match((await client.callTool('get-sum', { a: 2, b: 40 })).text, '42')
  const weather = await client.callTool('get-structured-content', { location: 'Chicago' })
  assert.equal(weather.json, { temperature: 36, conditions: 'Light rain / drizzle', humidity: 82 })
  assert.is((await client.callTool('get-tiny-image')).images[0]?.mimeType, 'image/png')
  const seen: number[] = []
  const onProgress = ({ progress }: { progress: number }) => seen.push(progress)
  await client.callTool(long, { duration: 0.2, steps: 2 }, { onProgress })
  assert.equal(seen, [1, 2])
  const error = await rejection(client.callTool(long, { duration: 60, steps: 2 }, { timeout: 100 }))
  assert.equal([error.code, error.data], ['TIMEOUT', { sent: true }])
  assert.is((await client.callTool('no-such-tool')).isError, true)
  assert.is((await client.callTool('get-sum', { a: 'two' })).isError, true)
}

async function useResources(client: Client): Promise<void> {
  const { resources } = await client.listResources()
  const [first] = resources
  assert.ok((await client.readResource(first?.uri ?? '')).text.length > 0)
  const templates = (await client.listTemplates()).resourceTemplates.map(({ uriTemplate }) => uriTemplate)
  assert.equal(templates, [
    'demo://resource/dynamic/text/{resourceId}',
    'demo://resource/dynamic/blob/{resourceId}',
  ])
  assert.match((await client.readResource(page(3))).text, /^Resource 3: /)
  const { blobs } = await client.readResource('demo://resource/dynamic/blob/4')
  assert.match(Buffer.from(blobs[0] ?? []).toString(), /^Resource 4: /)
  const ref = { type: 'ref/resource', uri: templates[0] ?? '' } as const
  const { completion } = await client.complete({ ref, argument: { name: 'resourceId', value: '12' } })
  assert.equal(completion.values, ['12'])
  const gone = await rejection(client.readResource('demo://nothing'))
  assert.is(gone.code, -32602)
  const updates = heard<{ uri: string }>()
  const undo = client.onNotification('notifications/resources/updated', updates.add)
  await client.subscribe(page(5))
  await client.callTool('toggle-subscriber-updates')
  assert.is((await updates.next()).uri, page(5))
  await client.callTool('toggle-subscriber-updates')
  await client.unsubscribe(page(5))
  undo()
}

async function usePrompts(client: Client): Promise<void> {
  const names: string[] = []
  for await (const { name } of client.prompts()) names.push(name)
  assert.equal(names, ['simple-prompt', 'args-prompt', 'completable-prompt', 'resource-prompt'])
  assert.is((await client.getPrompt('args-prompt', { city: 'Brno' })).text, "What's weather in Brno?")
  assert.is((await rejection(client.getPrompt('args-prompt'))).code, -32602)
  const { messages } = await client.getPrompt('resource-prompt', { resourceType: 'Text', resourceId: '1' })
  assert.is(messages[1]?.content.type, 'resource')
  const ref = { type: 'ref/prompt', name: 'completable-prompt' } as const
  const { completion } = await client.complete({
    ref,
    argument: { name: 'name', value: 'E' },
    context: { arguments: { department: 'Sales' } },
  })
  assert.equal(completion.values, ['Eve'])
}

async function answerQuestions(client: Client): Promise<void> {
  const form = (await client.callTool('trigger-elicitation-request')).text
  assert.match(form, '- Name: Žofie')
  assert.match(form, '- Favorite Integer: 42')
  const url = await client.callTool('trigger-url-elicitation', { url: 'https://example.com/x' })
  assert.match(url.text, 'User declined to open the URL')
  const needed = await rejection(
    client.callTool('trigger-url-elicitation', { url: 'https://example.com/x', errorPath: true }),
  )
  assert.is(needed.code, -32042)
  assert.match((await client.callTool('trigger-sampling-request', { prompt: 'hi' })).text, '1 message')
  assert.match((await client.callTool('get-roots-list')).text, 'file:///srv/one')
}

async function hearLogs(client: Client): Promise<void> {
  const logs = heard<{ data: unknown }>()
  client.onNotification('notifications/message', logs.add)
  client.setRoots([{ uri: 'file:///srv/one' }, { uri: 'file:///srv/two' }])
  await logs.next(({ data }) => data === 'Roots updated: 2 root(s) received from client')
  assert.match((await client.callTool('get-roots-list')).text, 'file:///srv/two')
}

/** The subscription and the level, which nobody but the client has said to this process. */
async function wishesHold(client: Client): Promise<void> {
  const logs = heard<{ data: unknown }>()
  client.onNotification('notifications/message', logs.add)
  const updates = heard<{ uri: string }>()
  client.onNotification('notifications/resources/updated', updates.add)
  await client.subscribe(page(8)) // told as `info`, which is below the level
  await client.callTool('toggle-subscriber-updates')
  for (const uri of [page(8), page(7)]) await updates.next((update) => update.uri === uri)
  assert.equal(logs.all, [])
  await client.setLevel('info')
  await client.subscribe(page(9))
  await logs.next(({ data }) => String(data).includes(page(9)))
}

test.run()
