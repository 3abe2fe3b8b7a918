// Names in the options of a gateway that name nothing.
import * as assert from 'uvu/assert'
import { startClients } from 'caduceus/client'
import {
  defineResource,
  defineResourceTemplate,
  defineServer,
  defineTool,
  gateway,
  type GatewayOptions,
  subscribeServer,
} from 'caduceus/server'
import { connect } from 'caduceus/testing'
import { heard } from '../../support/heard.js'
import { suite, type TestContext } from '../../support/suite.js'

const test = suite('gateway: names in its options')

const mail = defineServer({
  name: 'mail',
  version: '1.0.0',
  tools: { erase: defineTool({ run: () => 'ERASED' }), send: defineTool({ run: () => 'sent' }) },
  resources: [defineResource({ uri: 'mail://1', name: 'one', read: () => 'one' })],
  resourceTemplates: [defineResourceTemplate({ uriTemplate: 'box://{x}', name: 'box', read: () => 'box' })],
})

const options: GatewayOptions = { servers: { mial: { deny: ['erase'] } } }

function isBadOption(error: Error & { code?: unknown; data?: unknown }): boolean {
  assert.is(error.code, 'BAD_OPTION')
  assert.equal(error.data, { field: 'servers.mial' })
  return error.message.includes('did you mean "mail"')
}

test('options for an unknown server are BAD_OPTION and suggest the likely name', async (t) => {
  const { client, transport } = await pair(t)
  assert.throws(() => gateway({ mail: client }, options), isBadOption)
  assert.throws(() => gateway({ mail: () => client }, options), isBadOption)
  const set = await startClients({ mail: { transport } as never }, { logger: false })
  t.after(() => set.close())
  assert.throws(() => gateway(set, options), isBadOption)
})

test('a late set without a server named in the options is not offered, with a warning', async (t) => {
  const { client } = await pair(t)
  const told = listen(t)
  let closed: () => void = () => {}
  const wasClosed = new Promise<void>((resolve) => {
    closed = resolve
  })
  const set = {
    names: ['mail'],
    has: () => true,
    get: () => client,
    onState: () => () => {},
    close: async () => closed(),
  }
  const below = await connect(gateway(() => set, { ...options, startTimeout: 50 }))
  t.after(() => below.close())
  assert.match((await told.next()).problem, /servers\.mial.*did you mean "mail".*nothing is offered/)
  await wasClosed
  const called = await below.client.callTool('mail__erase', {}, { retry: 'never' }).catch(() => 'refused')
  assert.is(called, 'refused')
})

test('names in the options that a server does not have are warned of once', async (t) => {
  const { client, server } = await pair(t)
  const told = listen(t)
  const of = {
    allow: ['send', 'erase', 'mail://*', 'box://any', 'snd*'],
    deny: ['erse', 'mail://1'],
    rename: { sendd: 'posted', send: 'post' },
    maxCallsPerTool: { erases: 1, send: 1, 'resources/read': 5 },
  }
  const below = await connect(
    gateway({ mail: client }, { servers: { mail: of }, toolSearch: { pinned: ['post', 'mail__sent'] } }),
  )
  t.after(() => below.close())
  const expected = [
    /^servers\.mail\.allow: "snd\*" fits nothing/,
    /^servers\.mail\.deny: "erse" fits nothing.*did you mean "erase"/,
    /^servers\.mail\.rename: "sendd" fits nothing.*did you mean "send"/,
    /^servers\.mail\.maxCallsPerTool: "erases" fits nothing.*did you mean "erase"/,
    /^toolSearch\.pinned: "mail__sent" fits no tool/,
  ]
  for (const words of expected) assert.match((await told.next()).problem, words)
  const changed = new Promise<void>((resolve) => {
    below.client.onNotification('notifications/resources/list_changed', () => resolve())
  })
  await server.addResource(defineResource({ uri: 'mail://2', name: 'two', read: () => 'two' }))
  await changed
  assert.is(told.all.length, expected.length)
})

test.run()

async function pair(t: TestContext) {
  const connected = await connect(mail)
  t.after(() => connected.close())
  return connected
}

function listen(t: TestContext) {
  const told = heard<{ readonly type: string; readonly problem: string }>()
  t.after(subscribeServer('gateway', (event) => event.type === 'unknown_name' && told.add(event)))
  return told
}
