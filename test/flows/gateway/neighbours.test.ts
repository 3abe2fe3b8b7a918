import * as assert from 'uvu/assert'
import { type Client, startClient } from 'caduceus/client'
import { field, type Revision } from 'caduceus/protocol'
import {
  defineServer,
  defineTool,
  gateway,
  type GatewayOptions,
  type Seat,
  startServer,
} from 'caduceus/server'
import { connect, scriptedServer, until } from 'caduceus/testing'
import { http, serveHttp, stdio } from 'caduceus/transports'
import { suite, type TestContext } from '../../support/suite.js'

const test = suite('gateway: what one client may cost another', { timeout: 20_000 })

const tools = {
  echo: defineTool({ run: () => 'hi' }),
  ask: defineTool({
    input: { kindly: field.boolean() },
    async run({ kindly }, ctx) {
      if (kindly) return 'not asked'
      const { action } = await ctx.elicit('ok', {
        message: 'Sure?',
        requestedSchema: { type: 'object', properties: {} },
      })
      return action
    },
  }),
  roots: defineTool({
    run: async (_args, ctx) => (await ctx.roots('where')).map(({ uri }) => uri).join(),
  }),
}

test.slow('a client that never answers opens no breaker for others', async (t) => {
  const { plan } = await upstreamOf(t, { servers: { up: { timeout: 300, breaker: { failures: 1 } } } })
  const mute = await connect(plan, { client: { onElicit: () => new Promise<never>(() => {}) } })
  t.after(() => mute.close())
  const other = startClient({ name: 'other', transport: mute.transport, logger: false })
  t.after(() => other.close())
  for (const _ of [1, 2])
    assert.is((await failure(mute.client.callTool('up__ask', { kindly: false }))).includes('rests'), false)
  assert.is((await other.callTool('up__ask', { kindly: true })).text, 'not asked')
})

test('a question for a call that was given up is put to no other client', async (t) => {
  const transport = stdio({ command: process.execPath, args: ['-e', deaf] })
  const plan = gateway({ up: ({ answers }) => startClient({ ...answers(), transport, logger: false }) })
  const ada = await connect(plan)
  t.after(() => ada.close())
  const asked: unknown[] = []
  const onElicit = (question: unknown) => {
    asked.push(question)
    return { action: 'accept' as const }
  }
  const bob = startClient({ name: 'bob', transport: ada.transport, onElicit, logger: false })
  t.after(() => bob.close())
  // with no other call before it he is asked
  assert.match((await bob.callTool('up__ask')).text, /"action":"accept"/)
  const controller = new AbortController()
  const given = ada.client.callTool('up__keep', {}, { signal: controller.signal })
  while ((await bob.callTool('up__kept')).text !== '1') await new Promise(setImmediate)
  controller.abort()
  await given.catch(() => {})
  assert.match((await bob.callTool('up__ask')).text, /calls of several clients are under way/)
  assert.is(asked.length, 1)
})

test('what one session subscribes to last does not end what others wait for', async (t) => {
  const waiting: (() => void)[] = []
  const told = new Set<string>()
  const { transport } = scriptedServer({
    initialize: () => ({
      protocolVersion: '2025-11-25',
      capabilities: { resources: { subscribe: true } },
      serverInfo: { name: 'slow', version: '1' },
    }),
    'resources/list': () => ({ resources: [] }),
    'resources/templates/list': () => ({ resourceTemplates: [] }),
    'resources/subscribe': ({ params }) =>
      new Promise((resolve) => {
        told.add(String(params?.uri))
        waiting.push(() => resolve({}))
      }),
    'resources/unsubscribe': ({ params }) => {
      told.delete(String(params?.uri))
      return {}
    },
  })
  const up = startClient({ transport, era: 'handshake', logger: false })
  t.after(() => up.close())
  const eve = await connect(gateway({ up }), { client: { era: 'handshake' } })
  t.after(() => eve.close())
  const ada = startClient({ transport: eve.transport, era: 'handshake', logger: false })
  t.after(() => ada.close())
  await ada.ready()
  for (let n = 0; n < 12; n += 1) await eve.client.subscribe(`eve:${n}`)
  for (let n = 0; n < 6; n += 1) await ada.subscribe(`ada:${n}`)
  // callers of this machine whom nobody knows take turns by their sessions
  await until(() => [...told].filter((uri) => uri.startsWith('ada:')).length === 4)
  await eve.client.close()
  while ([...told].filter((uri) => uri.startsWith('ada:')).length < 6) {
    waiting.shift()?.()
    await new Promise(setImmediate)
  }
  // and those of who has gone are taken back
  while ([...told].some((uri) => uri.startsWith('eve:'))) {
    waiting.shift()?.()
    await new Promise(setImmediate)
  }
})

test('sessions of one client end those of its own servers first', async (t) => {
  const ended: string[] = []
  const { upstream } = await upstreamOf(t)
  const start = ({ principal, session, answers }: Seat) => {
    const client = startClient({ ...answers(), transport: upstream.transport, logger: false })
    if (session !== undefined) void client.closed.then(() => ended.push(String(principal?.subject)))
    return client
  }
  const server = await startServer(gateway({ up: { start, per: 'session', max: 3 } }), {
    transport: serveHttp({
      authenticate: ({ headers }) => ({
        issuer: 'https://login.example',
        subject: String(headers['x-user']),
      }),
    }),
    logger: false,
  })
  t.after(() => server.stop())
  const callAs = async (user: string) => {
    const transport = http(String(server.url), { headers: { 'x-user': user } })
    const client: Client = startClient({ transport, era: 'handshake', logger: false })
    t.after(() => client.close())
    assert.is((await client.callTool('up__echo')).text, 'hi')
  }
  for (const user of ['ada', 'bob', 'bob', 'bob', 'bob']) await callAs(user)
  while (ended.length < 2) await new Promise(setImmediate)
  assert.equal(ended, ['bob', 'bob'])
  await callAs('eve')
  while (ended.length < 3) await new Promise(setImmediate)
  assert.equal(ended, ['bob', 'bob', 'bob'])
})

test('a server that two clients share is never told the roots of another one', async (t) => {
  const { plan } = await upstreamOf(t)
  const ada = await connect(plan, { client: { roots: [{ uri: 'file:///ada' }] } })
  t.after(() => ada.close())
  const bob = startClient({ transport: ada.transport, roots: [{ uri: 'file:///bob' }], logger: false })
  t.after(() => bob.close())
  assert.is((await ada.client.callTool('up__roots')).text, 'file:///ada')
  assert.is((await bob.callTool('up__roots')).text, 'file:///bob')
  const both = await Promise.all([ada.client.callTool('up__roots'), bob.callTool('up__roots')])
  const [hers = '', his = ''] = both.map(({ text }) => text)
  assert.match(hers, /^file:\/\/\/ada$|calls of several clients are under way/)
  assert.match(his, /^file:\/\/\/bob$|calls of several clients are under way/)
})

test('a shared server of 2026-07-28 asks whose call it is, whatever others have open', async (t) => {
  const { plan } = await upstreamOf(t, {}, '2026-07-28')
  let release: (answer: { action: 'decline' }) => void = () => {}
  let isAsked: () => void = () => {}
  const asked = new Promise<void>((resolve) => {
    isAsked = resolve
  })
  const onElicit = () => {
    isAsked()
    return new Promise<{ action: 'decline' }>((resolve) => {
      release = resolve
    })
  }
  const ada = await connect(plan, { client: { onElicit, roots: [{ uri: 'file:///ada' }] } })
  t.after(() => ada.close())
  const bob = startClient({
    ...{ transport: ada.transport, roots: [{ uri: 'file:///bob' }], logger: false },
    onElicit: () => ({ action: 'accept', content: {} }),
  })
  t.after(() => bob.close())
  const open = ada.client.callTool('up__ask', { kindly: false })
  await asked
  assert.is((await bob.callTool('up__roots')).text, 'file:///bob')
  assert.is((await bob.callTool('up__ask', { kindly: false })).text, 'accept')
  const both = await Promise.all([ada.client.callTool('up__roots'), bob.callTool('up__roots')])
  assert.equal(
    both.map(({ text }) => text),
    ['file:///ada', 'file:///bob'],
  )
  release({ action: 'decline' })
  assert.is((await open).text, 'decline')
})

test.run()

/** The program of a server that hears no cancellation, and asks in the course of a call. */
const deaf = `
  let kept = 0
  let asking
  const say = (message) => console.log(JSON.stringify({ jsonrpc: '2.0', ...message }))
  const tools = ['ask', 'keep', 'kept'].map((name) => ({ name, inputSchema: { type: 'object' } }))
  const text = (text) => ({ content: [{ type: 'text', text: String(text) }] })
  require('readline').createInterface({ input: process.stdin }).on('line', (line) => {
    const { id, method, params, ...answer } = JSON.parse(line)
    if (method === 'initialize')
      return say({ id, result: { protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 'deaf', version: '1' } } })
    if (method === 'tools/list') return say({ id, result: { tools } })
    if (method === undefined) return say({ id: asking, result: text(JSON.stringify(answer)) })
    if (method !== 'tools/call') return
    if (params.name === 'keep') return void (kept += 1)
    if (params.name === 'kept') return say({ id, result: text(kept) })
    asking = id
    say({ id: 'q', method: 'elicitation/create', params: { message: 'Sure?', requestedSchema: { type: 'object', properties: {} } } })
  })`

/** A server that asks, and the plan of a gateway with one client of it for all. */
async function upstreamOf(t: TestContext, options: GatewayOptions = {}, revision: Revision = '2025-11-25') {
  const upstream = await connect(defineServer({ name: 'up', version: '1.0.0', tools }), {
    server: { revisions: [revision] },
  })
  t.after(() => upstream.close())
  const plan = gateway(
    { up: ({ answers }) => startClient({ ...answers(), transport: upstream.transport, logger: false }) },
    options,
  )
  return { upstream, plan }
}

async function failure(call: Promise<{ readonly text: string }>): Promise<string> {
  return call.then(
    ({ text }) => text,
    (error: Error) => error.message,
  )
}
