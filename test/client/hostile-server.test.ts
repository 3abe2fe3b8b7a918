import * as assert from 'uvu/assert'
import { ClientError } from 'caduceus/client'
import { isNotification, isRequest, type JsonRpcRequest } from 'caduceus/protocol'
import type { ClientTransport, LinkEvents } from 'caduceus/transports'
import { suite } from '../support/suite.js'
import { rejection, watch } from './_raw.js'

const test = suite('servers that lie', { timeout: 15_000 })

const serverInfo = { name: 'liar', version: '1' }
const greeting = { protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo }

type Say = (message: object) => void

/** A server in this process that says whatever the test wants it to: `take` gets every request but `initialize`. */
function liar(take: (request: JsonRpcRequest, say: Say) => void, initialize: object = { result: greeting }) {
  const heard: string[] = []
  const answers: unknown[] = []
  let events: LinkEvents | undefined
  const say: Say = (message) => events?.message(JSON.stringify({ jsonrpc: '2.0', ...message }))
  const transport: ClientTransport = {
    name: 'liar',
    connect(link) {
      events = link
      link.opened()
      return {
        send(_, message) {
          if (isRequest(message)) {
            heard.push(message.method)
            if (message.method === 'initialize') say({ id: message.id, ...initialize })
            else if (message.method === 'ping') say({ id: message.id, result: {} })
            else take(message, say)
          } else if (isNotification(message)) heard.push(message.method)
          else answers.push(message)
        },
        close: () => link.closed({}),
      }
    },
  }
  return { transport, say, heard, answers, raw: (text: string) => events?.message(text) }
}

const text = (value: string): object => ({ content: [{ type: 'text', text: value }] })

test('late and duplicate answers are counted and reach no caller', async (t) => {
  const { transport, say } = liar(({ id, params }, tell) => {
    if (params?.name === 'quick') for (const value of ['first', 'second']) tell({ id, result: text(value) })
  })
  const { client } = watch(t, { transport })
  await client.ready()
  const given = rejection(client.callTool('slow', {}, { timeout: 20 }))
  assert.is((await given).code, 'TIMEOUT')
  say({ id: 2, result: text('too late') })
  say({ id: '2', result: text('a text is another id') })
  say({ id: 77, result: text('never asked') })
  assert.is((await client.callTool('quick')).text, 'first')
  await client.ping()
  const { counts, inFlight, waiting } = client.inspect()
  assert.equal([counts.late, counts.unknown, inFlight, waiting], [2, 2, 0, 0])
})

test('a second answer to initialize is ignored, and the first session stays', async (t) => {
  const { transport, say } = liar(({ id }, tell) => tell({ id, result: text('here') }))
  const { client } = watch(t, { transport })
  await client.ready()
  say({
    id: 1,
    result: { ...greeting, protocolVersion: '2024-11-05', serverInfo: { name: 'x', version: '2' } },
  })
  say({ id: 1, error: { code: -32603, message: 'or not' } })
  assert.is((await client.callTool('x')).text, 'here')
  assert.equal([client.server?.revision, client.server?.info.name], ['2025-11-25', 'liar'])
  const { counts } = client.inspect()
  assert.equal([counts.sessions, counts.late], [1, 2])
})

for (const [what, result, expected] of [
  ['no serverInfo', { ...greeting, serverInfo: undefined }, /serverInfo/],
  ['a serverInfo without a version', { ...greeting, serverInfo: { name: 'x' } }, /serverInfo\.version/],
  ['capabilities that are a list', { ...greeting, capabilities: [] }, /capabilities/],
  ['no capabilities', { ...greeting, capabilities: undefined }, /capabilities/],
  ['instructions that are a number', { ...greeting, instructions: 7 }, /instructions/],
] as const) {
  test(`initialize with ${what} ends the connection`, async (t) => {
    const { transport } = liar(() => {}, { result })
    const { states } = watch(t, { transport, handshakeTimeout: 60_000 })
    const lost = await states.next(({ phase, attempt }) => phase === 'disconnected' && attempt === 2)
    assert.is((lost.reason as ClientError).code, 'INVALID_RESPONSE')
    assert.match(lost.reason?.message ?? '', expected)
  })
}

test('capabilities of a wrong type are ignored', async (t) => {
  const capabilities = { tools: 'yes', resources: [], prompts: { listChanged: 'yes' }, logging: null }
  const { transport } = liar(() => {}, { result: { ...greeting, capabilities } })
  const { client } = watch(t, { transport })
  await client.ready()
  for (const what of ['tools/call', 'tools', 'resources.subscribe', 'prompts.listChanged', 'logging'])
    assert.not(client.supports(what), what)
  assert.ok(client.supports('prompts'))
  const error = await rejection(client.setLevel('info', { timeout: 100 }))
  assert.instance(error, ClientError)
  await client.ping()
})

test('a server without capabilities connects, supports nothing and can be called', async (t) => {
  const { transport } = liar(({ id }, tell) => tell({ id, error: { code: -32601, message: 'no' } }), {
    result: { ...greeting, capabilities: {} },
  })
  const { client } = watch(t, { transport })
  await client.ready()
  assert.not(client.supports('tools/call'))
  assert.is((await rejection(client.listTools())).code, -32601)
  await client.ping()
})

test('keys such as __proto__ are data', async (t) => {
  const { transport, raw } = liar(({ id }) => {
    raw(
      `{"jsonrpc":"2.0","id":${id},"result":{"content":[],"structuredContent":{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}}},"__proto__":{"isError":true}}}`,
    )
  })
  const { client } = watch(t, { transport })
  const result = await client.callTool('x')
  assert.is(result.isError, undefined)
  assert.is(({} as { polluted?: number }).polluted, undefined)
  raw('{"jsonrpc":"2.0","method":"__proto__","params":{"__proto__":{"polluted":1}}}')
  raw('{"jsonrpc":"2.0","id":"q","method":"constructor","params":{}}')
  await client.ping()
  assert.is(({} as { polluted?: number }).polluted, undefined)
})

test('a tool with a name of 1 MB works like any other, and no error repeats the name', async (t) => {
  const name = 'n'.repeat(1_000_000)
  const outputSchema = { type: 'object', properties: { n: { type: 'number' } }, required: ['n'] }
  const { transport } = liar(({ id, method }, tell) => {
    const tools = [{ name, inputSchema: { type: 'object' }, outputSchema }]
    tell({ id, result: method === 'tools/list' ? { tools } : { content: [], structuredContent: {} } })
  })
  const { client } = watch(t, { transport })
  assert.is((await client.listTools()).tools[0]?.name, name)
  const error = await rejection(client.callTool(name))
  assert.is(error.code, 'BAD_OUTPUT')
  assert.ok(error.message.length < 1_000)
})

for (const [what, outputSchema] of [
  ['that refers to itself', { $ref: '#' }],
  ['that refers to the outside', { $ref: 'https://127.0.0.1:1/schema.json' }],
  ['with a pattern that never ends', { properties: { t: { pattern: '^(a+)+$' } } }],
] as const) {
  test(`an output schema ${what} fails that call, soon`, async (t) => {
    const { transport } = liar(({ id, method }, tell) => {
      const tools = [
        { name: 'it', inputSchema: { type: 'object' }, outputSchema: { type: 'object', ...outputSchema } },
      ]
      const structuredContent = { t: `${'a'.repeat(40)}!` }
      tell({ id, result: method === 'tools/list' ? { tools } : { content: [], structuredContent } })
    })
    const { client } = watch(t, { transport })
    await client.listTools()
    const outcome = await client.callTool('it').catch((error: unknown) => error)
    if (outcome instanceof Error)
      assert.ok(['BAD_OUTPUT', 'INVALID_RESPONSE'].includes((outcome as ClientError).code))
    await client.ping()
  })
}

for (const [levels, code] of [
  [1_000, 'INVALID_RESPONSE'],
  [400_000, 'INVALID_RESPONSE'], // of a text this long, only the ends are read
] as const) {
  test(`an answer ${levels} levels deep fails that call alone: ${code}`, async (t) => {
    const deep = `${'{"not":'.repeat(levels)}{}${'}'.repeat(levels)}`
    const { transport, raw } = liar(({ id }) => {
      raw(`{"jsonrpc":"2.0","id":${id},"result":{"content":[],"structuredContent":${deep}}}`)
    })
    const { client } = watch(t, { transport })
    await client.ready()
    const error = await rejection(client.callTool('it'))
    assert.instance(error, ClientError)
    assert.equal([error.code, (error.data as { sent: boolean }).sent], [code, true])
    await client.ping()
    assert.is(client.inspect().counts.junk, 1)
  })
}

test('a list with an endless cursor ends at the page limit', async (t) => {
  let pages = 0
  const { transport } = liar(({ id }, tell) => {
    pages += 1
    tell({ id, result: { tools: [], nextCursor: 'again' } })
  })
  const { client } = watch(t, { transport })
  const all = async (): Promise<void> => {
    for await (const _tool of client.tools());
  }
  assert.is((await rejection(all())).code, 'TOO_MANY_PAGES')
  assert.is(pages, 100)
})

test.slow('a list of endless bytes ends at 16 MiB, however few its pages are', async (t) => {
  const tools = [{ name: 'it', inputSchema: { type: 'object' }, description: 'x'.repeat(6 * 1024 * 1024) }]
  const { transport } = liar(({ id }, tell) => tell({ id, result: { tools, nextCursor: 'again' } }))
  const { client } = watch(t, { transport })
  let found = 0
  const all = async (): Promise<void> => {
    for await (const _tool of client.tools({ maxPages: 1_000 })) found += 1
  }
  const { code, message } = await rejection(all())
  assert.is(code, 'TOO_MANY_PAGES')
  assert.match(message, 'the list has more than 16777216 bytes')
  assert.is(found, 2)
})

test.slow('a flood of changes, logs and pings causes no requests and delays no call', async (t) => {
  const { transport, say, heard, answers } = liar(({ id }, tell) => tell({ id, result: text('through') }))
  const { client } = watch(t, { transport })
  let told = 0
  client.onNotification('notifications/tools/list_changed', () => {
    told += 1
  })
  await client.ready()
  for (let i = 0; i < 10_000; i++) {
    say({ method: 'notifications/tools/list_changed' })
    say({ id: `p${i}`, method: 'ping' })
    say({ method: 'notifications/message', params: { level: 'info', data: 'x' } })
  }
  assert.is((await client.callTool('x', {}, { timeout: 60_000 })).text, 'through')
  assert.equal([told, answers.length], [10_000, 10_000])
  assert.equal(heard, ['initialize', 'notifications/initialized', 'tools/call'])
})

test('late, decreasing, non-numeric and unknown progress is dropped', async (t) => {
  const seen: number[] = []
  const { transport } = liar(({ id, params }, tell) => {
    const { progressToken } = (params?._meta ?? {}) as { progressToken?: number }
    const progress = (value: unknown, token: unknown = progressToken): void =>
      tell({ method: 'notifications/progress', params: { progressToken: token, progress: value } })
    for (const value of [1, 1, 0.5, -3, 'x', null, 2]) progress(value)
    progress(5, 999)
    progress(5, '__proto__')
    tell({ id, result: text('done') })
    progress(9)
  })
  const { client } = watch(t, { transport })
  await client.callTool('x', {}, { onProgress: ({ progress }) => void seen.push(progress) })
  await client.ping()
  assert.equal(seen, [1, 2])
})

test.slow('a slow reader of states and notifications buffers only the newest, bounded', async (t) => {
  const { transport, say } = liar(() => {})
  const { client } = watch(t, { transport })
  await client.ready()
  const news = client.notifications('notifications/message')
  for (let i = 1; i <= 5_000; i++)
    say({ method: 'notifications/message', params: { level: 'info', data: i } })
  await client.ping()
  const seen: unknown[] = []
  for await (const { data } of news) {
    seen.push(data)
    if (data === 5_000) break
  }
  assert.equal([seen.length, seen[0]], [1_000, 4_001])
})

test.run()
