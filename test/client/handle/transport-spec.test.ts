import * as assert from 'uvu/assert'
import {
  type Client,
  clientActorSpec,
  type ClientOptions,
  type ClientState,
  findClient,
  transportSpec,
} from 'caduceus/client'
import {
  type ActorRef,
  createFakeClock,
  Registry,
  startSupervisor,
  type SupervisorOptions,
} from 'caduceus/runtime'
import { hear } from '../../runtime/_actors.js'
import { heard } from '../../support/heard.js'
import { suite, type TestContext } from '../../support/suite.js'
import { raw, rejection } from '../_raw.js'

const test = suite('client and transport as two children')

/** A tree built by hand: transport and client are two children of a one_for_one supervisor. */
async function plant(
  t: TestContext,
  { order = 'client first', ...options }: { order?: string } & Partial<SupervisorOptions> = {},
) {
  const registry = new Registry()
  const said = heard<string>()
  const made: ClientOptions = {
    name: 'pair',
    transport: raw([], { stderr: said.add }),
    backoff: { base: 1, cap: 1 },
  }
  const children = [clientActorSpec(made), transportSpec(made)]
  const tree = await startSupervisor({
    strategy: 'one_for_one',
    registry,
    logger: false,
    ...options,
    children: order === 'client first' ? children : children.reverse(),
  })
  t.after(() => tree[Symbol.asyncDispose]())
  const client = await findClient(registry, 'pair')
  const states = heard<ClientState>()
  client.onState(states.add)
  const actors = {
    client: () => registry.whereis('client pair') as ActorRef,
    transport: () => registry.whereis('transport of client pair') as ActorRef,
  }
  return { tree, client, states, said, registry, actors }
}

for (const order of ['client first', 'transport first']) {
  test(`${order}: client and transport find each other by name`, async (t) => {
    const { client } = await plant(t, { order })
    assert.is((await client.callTool('count')).text, '1')
  })
}

test('a transport that dies restarts alone; the client repeats the handshake', async (t) => {
  const { client, states, said, actors } = await plant(t)
  const pid = Number((await client.callTool('pid')).text)
  const [before, transport] = [actors.client(), actors.transport()]
  const call = client.callTool('hang')
  await said.next((line) => line === 'got tools/call hang')
  actors.transport().kill()
  assert.is((await rejection(call)).code, 'CONNECTION_LOST')
  await states.next(({ phase }) => phase === 'disconnected')
  await states.next(({ phase }) => phase === 'ready')
  assert.is(actors.client(), before)
  assert.is.not(actors.transport(), transport)
  assert.is.not(Number((await client.callTool('pid')).text), pid)
  assert.throws(() => process.kill(pid, 0))
  assert.is(client.inspect().counts.sessions, 2)
})

test('a client that dies restarts alone; the transport stays and reconnects it', async (t) => {
  const { client, states, said, actors } = await plant(t)
  const pid = Number((await client.callTool('pid')).text)
  const [before, transport] = [actors.client(), actors.transport()]
  const call = client.callTool('hang')
  await said.next((line) => line === 'got tools/call hang')
  actors.client().kill()
  assert.is((await rejection(call)).code, 'CONNECTION_LOST')
  await states.next(({ phase }) => phase === 'ready')
  assert.is.not(actors.client(), before)
  assert.is(actors.transport(), transport)
  assert.is.not(Number((await client.callTool('pid')).text), pid)
  assert.throws(() => process.kill(pid, 0))
  // The end of the old connection is not taken for the end of the new one.
  assert.equal(
    states.all.filter(({ phase }) => phase === 'connecting').map(({ attempt }) => attempt),
    [0],
  )
})

test('the client ends with the tree it is in', async (t) => {
  const { client, tree } = await plant(t)
  await client.ready()
  await tree.stop()
  await client.closed
  assert.is((await rejection(client.ping())).code, 'CLOSED')
})

test('a client whose parent supervisor gave up has given up, too', async (t) => {
  const { client, actors } = await plant(t, { intensity: 0 })
  await client.ready()
  actors.transport().kill()
  assert.is((await rejection(client.closed)).code, 'GAVE_UP')
  assert.is((await rejection(client.ping())).code, 'GAVE_UP')
})

test.slow('restartChild after terminateChild gives a new client of the same name', async (t) => {
  const { client, tree, registry } = await plant(t)
  await client.ready()
  const id = 'client pair'
  await tree.terminateChild(id)
  await client.closed
  const again = (await tree.restartChild(id)).extra as Client
  assert.is((await again.callTool('count')).text, '1')
  assert.is((await (await findClient(registry, 'pair')).callTool('count')).text, '2')
})

for (const make of [clientActorSpec, transportSpec]) {
  test(`${make.name} refuses wrong options in the caller`, () => {
    assert.throws(
      () => make({ transport: raw(), timeout: -1 }),
      (error: { code: string; data: object }) =>
        error.code === 'BAD_OPTION' && (error.data as { field: string }).field === 'timeout',
    )
  })
}

test('a transport without its client says what it needs', async (t) => {
  const clock = createFakeClock()
  const notices = hear(t, 'notice')
  const made: ClientOptions = { name: 'lonely', transport: raw([]) }
  const tree = await startSupervisor({
    strategy: 'one_for_one',
    children: [transportSpec(made)],
    clock,
    logger: false,
  })
  t.after(() => tree[Symbol.asyncDispose]())
  await clock.advance(4_999)
  assert.equal(notices, [])
  await clock.advance(1)
  const [{ notice, detail } = { notice: undefined, detail: undefined }] = notices
  assert.is(notice, 'owner_missing')
  assert.match(String(detail), /nobody is called ".*lonely.*transportSpec needs clientActorSpec/)
})

test.run()
