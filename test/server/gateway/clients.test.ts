import * as assert from 'uvu/assert'
import { ClientError, startClient } from 'caduceus/client'
import { McpError } from 'caduceus/protocol'
import {
  gateway,
  type GatewayOptions,
  type Seat,
  type StartedUpstream,
  type UpstreamSource,
} from 'caduceus/server'
import { connect, type ConnectOptions, fakeClock, record, Recording, until } from 'caduceus/testing'
import { suite, type TestContext } from '../../support/suite.js'
import { near } from '../../client/_near.js'
import { byHand } from './_by-hand.js'

const test = suite('gateway: clients')

async function through(
  t: TestContext,
  source: UpstreamSource,
  { options = {}, ...how }: ConnectOptions & { readonly options?: GatewayOptions } = {},
) {
  const connected = await connect(gateway(source, options), how)
  t.after(() => connected.close())
  return connected
}

async function failure(promise: Promise<unknown>): Promise<McpError> {
  const error = await promise.then(
    () => undefined,
    (reason: unknown) => reason,
  )
  if (error instanceof McpError) return error
  throw new Error(`expected a McpError, got ${String(error)}`)
}

/** Starts a new client by hand for each seat, and keeps both. */
function starts(more: Omit<StartedUpstream, 'start'> = {}, wishes: Parameters<typeof byHand>[0] = {}) {
  const all: { readonly seat: Seat; readonly up: ReturnType<typeof byHand> }[] = []
  const start = (seat: Seat) => {
    const up = byHand(wishes)
    all.push({ seat, up })
    return up.client
  }
  return { all, entry: { ...more, start } }
}

const somebody = (subject: string) => ({
  issuer: 'https://issuer.example',
  subject,
  clientId: 'app',
  scopes: [],
})

/** Tools that wait until the test ends them. */
function waiting() {
  const begun = new Recording<() => void>('calls')
  const answers = {
    'tools/call': () => new Promise((resolve) => begun.add(() => resolve({ content: [] }))),
  }
  return { begun, answers }
}

test('a lazy client goes after its idle time, and comes with the next call', async (t) => {
  const clock = fakeClock()
  const { all, entry } = starts({ lazy: true, idle: 50_000 })
  const { client } = await through(t, { up: entry }, { clock })
  assert.is(all.length, 0)
  await client.listTools()
  await clock.advance(40_000)
  await client.callTool('up__one')
  await clock.advance(40_000)
  assert.equal(all[0]?.up.told, [])
  await clock.advance(40_000)
  assert.equal(all[0]?.up.told, ['close'])
  assert.ok(all[0]?.seat.signal.aborted)
  await client.callTool('up__one')
  assert.is(all.length, 2)
})

test('a client that works is not idle, however long its call takes', async (t) => {
  const clock = fakeClock()
  const { begun, answers } = waiting()
  const { all, entry } = starts({ lazy: true, idle: 1_000 }, { answers })
  const { client } = await through(t, { up: entry }, { clock })
  const call = client.callTool('up__one', {}, { timeout: 100_000 })
  const end = await begun.next()
  await clock.advance(20_000)
  assert.equal(all[0]?.up.told, [])
  end()
  await call
  await clock.advance(2_000)
  assert.equal(all[0]?.up.told, ['close'])
})

test('a client that has to tell of a resource stays', async (t) => {
  const clock = fakeClock()
  const { all, entry } = starts(
    { lazy: true, idle: 1_000 },
    {
      capabilities: { resources: { subscribe: true } },
      answers: {
        'resources/list': () => ({ resources: [{ uri: 'note://1', name: 'n' }] }),
        'resources/templates/list': () => ({ resourceTemplates: [] }),
      },
    },
  )
  const { client } = await through(t, { up: entry }, { clock })
  await client.subscribe('note://1')
  await clock.advance(20_000)
  const told = all[0]?.up.told ?? []
  assert.equal(new Set(told), new Set(['subscribe note://1']))
  await client.unsubscribe('note://1')
  await until(() => told.includes('unsubscribe note://1'))
  await clock.advance(2_000)
  assert.is(told.at(-1), 'close')
})

test('each principal has a client of its own, and one more tells what there is', async (t) => {
  const { all, entry } = starts({ per: 'principal' })
  const pair = await through(t, { up: entry }, { principal: somebody('ada') })
  const other = startClient({ transport: pair.connectAs(somebody('bob')), logger: false })
  t.after(() => other.close())
  for (const client of [pair.client, other, pair.client]) await client.callTool('up__one')
  assert.equal(
    all.map(({ seat }) => seat.principal?.subject),
    [undefined, 'ada', 'bob'],
  )
  assert.equal(
    all.map(({ up }) => up.of('tools/call').length),
    [0, 2, 1],
  )
})

test('tokens of one person that are good for other things have clients each', async (t) => {
  const { all, entry } = starts({ per: 'principal' })
  const of = (claims: object) => ({ ...somebody('ada'), claims: { ...claims } })
  const pair = await through(t, { up: entry }, { principal: of({ org_id: 'A', iat: 1 }) })
  for (const claims of [{ org_id: 'B' }, { org_id: 'A', iat: 2, jti: 'x' }, {}]) {
    const other = startClient({ transport: pair.connectAs(of(claims)), logger: false })
    t.after(() => other.close())
    await other.callTool('up__one')
  }
  await pair.client.callTool('up__one')
  assert.equal(
    all.map(({ seat }) => seat.principal?.claims?.org_id),
    [undefined, 'B', 'A', undefined],
  )
})

test('a start that never ends holds a caller for a minute, and is given up after five', async (t) => {
  const clock = fakeClock()
  const asked = new Recording<true>('calls')
  let starts = 0
  const entry = {
    per: 'principal' as const,
    start({ principal }: Seat) {
      if (principal === undefined) return byHand({ tools: ['one'] }).client
      starts += 1
      return new Promise<never>(() => {})
    },
  }
  const permits = () => {
    asked.add(true)
    return true
  }
  const how = { clock, principal: somebody('ada'), options: { servers: { up: { permits } } } }
  const { client } = await through(t, { up: entry }, how)
  // somebody calls all the time
  for (let minute = 1; minute < 8; minute += 1) {
    const call = failure(client.callTool('up__one', {}, { retry: 'never', timeout: 1e7 }))
    await asked.next()
    await clock.advance(60_000)
    assert.is(Reflect.get(Object((await call).data), 'code'), 'NOT_STARTED')
    assert.is(starts, minute < 6 ? 1 : 2, `in minute ${minute}`)
  }
})

test('a caller without a principal gets no client where each principal has one', async (t) => {
  const { entry } = starts({ per: 'principal' })
  const { client } = await through(t, { up: entry })
  const error = await failure(client.callTool('up__one'))
  assert.is(error.code, -32_600)
  assert.match(error.message, /up has a client for each principal: the call needs a principal$/)
})

test('one caller has three quarters of the clients at most, and others the rest', async (t) => {
  const { begun, answers } = waiting()
  const { entry } = starts({ per: 'session', max: 4 }, { answers })
  const pair = await through(t, { up: entry }, { principal: somebody('ada') })
  const clientOf = (name: string) => {
    const client = startClient({ transport: pair.connectAs(somebody(name)), era: 'handshake', logger: false })
    t.after(() => client.close())
    return client
  }
  const call = async (name: string) => {
    const answer = clientOf(name).callTool('up__one', {}, { retry: 'never', timeout: 1e6 })
    return { answer, end: await begun.next() }
  }
  const calls = [await call('ada'), await call('ada'), await call('ada')]
  const error = await failure(clientOf('ada').callTool('up__one', {}, { retry: 'never' }))
  assert.match(error.message, /up has 3 clients at work already: try again/)
  for (const { answer, end } of [...calls, await call('bob')]) {
    end()
    await answer
  }
})

test('the client unused for longest makes room; where all work, the call is refused', async (t) => {
  const { begun, answers } = waiting()
  const { all, entry } = starts({ per: 'principal', max: 2 }, { answers })
  const clock = fakeClock()
  const pair = await through(t, { up: entry }, { principal: somebody('ada'), clock })
  const [bob, eve] = ['bob', 'eve'].map((name) => {
    const client = startClient({ transport: pair.connectAs(somebody(name)), logger: false })
    t.after(() => client.close())
    return client
  })
  assert.ok(bob && eve)
  const call = async (client: typeof bob) => {
    const answer = client.callTool('up__one', {}, { retry: 'never', timeout: 1e6 })
    return { answer, end: await begun.next() }
  }
  const first = await call(pair.client as typeof bob)
  const second = await call(bob)
  const error = await failure(eve.callTool('up__one', {}, { retry: 'never' }))
  assert.match(error.message, /up has 2 clients at work already: try again/)
  assert.equal(error.data, { retryable: true, sent: false })
  second.end()
  await second.answer
  await clock.advance(10)
  first.end()
  await first.answer
  const third = await call(eve)
  third.end()
  await third.answer
  assert.equal(
    all.map(({ seat, up }) => [seat.principal?.subject, up.told]),
    [
      [undefined, []],
      ['ada', []],
      ['bob', ['close']],
      ['eve', []],
    ],
  )
})

test('calls go to the client with the fewest, and one more starts up to max', async (t) => {
  const { begun, answers } = waiting()
  const { all, entry } = starts({ max: 2 }, { answers })
  const { client } = await through(t, { up: entry })
  const ends: (() => void)[] = []
  const calls = []
  for (let n = 0; n < 4; n += 1) {
    calls.push(client.callTool('up__one'))
    ends.push(await begun.next())
  }
  assert.equal(
    all.map(({ up }) => up.of('tools/call').length),
    [2, 2],
  )
  for (const end of ends) end()
  await Promise.all(calls)
})

test('a client that is away gets no calls while another one is there', async (t) => {
  const { begun, answers } = waiting()
  const { all, entry } = starts({ max: 2 }, { answers })
  const { client } = await through(t, { up: entry })
  const calls = [client.callTool('up__one')]
  const ends = [await begun.next()]
  all[0]?.up.turn({ phase: 'disconnected', reason: new Error('lost') })
  for (let n = 0; n < 2; n += 1) {
    calls.push(client.callTool('up__one'))
    ends.push(await begun.next())
  }
  assert.equal(
    all.map(({ up }) => up.of('tools/call').length),
    [1, 2],
  )
  for (const end of ends) end()
  await Promise.all(calls)
})

test('a client that does not start is started again, up to once a minute', async (t) => {
  const clock = fakeClock()
  const failures = record('server.gateway')
  let started = 0
  const start = (): never => {
    started += 1
    throw new Error('no such program')
  }
  const { client } = await through(t, { up: start }, { clock })
  const waits: number[] = []
  for (let n = 0; n < 6; n += 1) {
    const { type, upstream, problem } = await failures.next()
    assert.equal([type, upstream], ['not_started', 'up'])
    const wait = Number(/^no such program: it is started again in (\d+) ms$/.exec(problem)?.[1])
    waits.push(wait)
    await clock.advance(wait - 1)
    assert.is(started, n + 1)
    await clock.advance(1)
  }
  assert.equal(waits, [5_000, 10_000, 20_000, 40_000, 60_000, 60_000])
  const error = await failure(client.callTool('up__one', {}, { retry: 'never' }))
  assert.equal(error.data, { code: 'NOT_STARTED', retryable: true, sent: false })
})

test('a start that gives no client is told as one that fails, and costs nobody else', async (t) => {
  const failures = record('server.gateway')
  const other = byHand()
  const start = (() => ({ name: 'none' })) as never
  const { client } = await through(t, { up: { start, lazy: true }, other: other.client })
  const error = await failure(client.callTool('up__one', {}, { retry: 'never' }))
  assert.equal(error.data, { code: 'NOT_STARTED', retryable: true, sent: false })
  assert.match((await failures.next()).problem, /^start: expected a client, got an object/)
  assert.is((await client.callTool('other__one')).text, 'done')
})

test('a lazy client that does not start is started by the next call', async (t) => {
  const failures = record('server.gateway')
  const start = (): never => {
    throw new Error('no such program')
  }
  const { client } = await through(t, { up: { start, lazy: true } }, { options: { prefix: false } })
  const error = await failure(client.callTool('one', {}, { retry: 'never' }))
  assert.equal(error.data, { code: 'NOT_STARTED', retryable: true, sent: false })
  assert.is((await failures.next()).problem, 'no such program: it is started again by the next call')
})

test('one list that never comes holds up the news of another once, and not each time', async (t) => {
  const clock = fakeClock()
  let version = 0
  const up = byHand({
    capabilities: { tools: {}, prompts: {} },
    answers: {
      'tools/list': () => ({ tools: [{ name: `v${version}`, inputSchema: { type: 'object' } }] }),
      'prompts/list': () => new Promise(() => {}),
    },
  })
  const starting = through(t, { up: up.client }, { clock, options: { startTimeout: 1 } })
  await clock.advance(5_000)
  const { client } = await starting
  const isListed = async () => {
    await clock.advance(100)
    return (await client.listTools()).tools[0]?.name === `up__v${version}`
  }
  await until(isListed)
  for (const _ of [1, 2]) {
    const began = clock.now()
    version += 1
    up.tell('notifications/tools/list_changed')
    await clock.advance(200)
    // while it is asked for them
    version += 1
    up.tell('notifications/tools/list_changed')
    await until(isListed)
    assert.ok(clock.now() - began < 5_000, `${clock.now() - began} ms`)
  }
})

test('a lazy server is there for others, though the read that started it was given up', async (t) => {
  const started = new Recording<() => void>('starts')
  const up = byHand({
    capabilities: { resources: {}, tools: {} },
    answers: {
      'resources/list': () => ({ resources: [] }),
      'resources/templates/list': () => ({ resourceTemplates: [] }),
    },
  })
  const start = () => new Promise<typeof up.client>((resolve) => started.add(() => resolve(up.client)))
  const pair = await through(t, { up: { start, lazy: true } })
  const ada = startClient({ transport: pair.transport, logger: false })
  t.after(() => ada.close())
  const controller = new AbortController()
  const given = pair.client.readResource('x:1', { signal: controller.signal, retry: 'never' })
  const begin = await started.next()
  controller.abort()
  await given.catch(() => {})
  await pair.client.close()
  begin()
  await until(async () => (await ada.listTools()).tools.length === 1)
  assert.is((await ada.callTool('up__one')).text, 'done')
})

test('a start that never comes is made again once nobody waits for it', async (t) => {
  const clock = fakeClock()
  const up = byHand()
  let starts = 0
  const start = () => {
    starts += 1
    return starts === 1 ? new Promise<never>(() => {}) : up.client
  }
  const { client } = await through(t, { up: { start, lazy: true } }, { clock, options: { startTimeout: 1 } })
  const listed = client.listTools()
  await clock.advance(2_000)
  assert.is((await listed).tools.length, 0)
  await clock.advance(400_000)
  await until(async () => {
    const again = client.listTools()
    await clock.advance(10_000)
    return (await again).tools.length === 1
  })
  assert.is(starts, 2)
})

test('an address that no server lists waits for no lazy server that does not come', async (t) => {
  const clock = fakeClock()
  const other = byHand({
    capabilities: { resources: {} },
    answers: {
      'resources/list': () => ({ resources: [] }),
      'resources/templates/list': () => ({ resourceTemplates: [] }),
      'resources/read': () => {
        throw McpError.notFound('Resource not found', { uri: 'x:1' })
      },
    },
  })
  const away = { start: () => new Promise<never>(() => {}), lazy: true }
  const up = { away, other: other.client }
  const { client } = await through(t, up, { clock, options: { startTimeout: 2_000 } })
  let isOver = false
  const read = failure(client.readResource('x:1', { retry: 'never', timeout: 50_000 })).finally(() => {
    isOver = true
  })
  await until(async () => {
    await clock.advance(500)
    return isOver
  })
  assert.equal((await read).data, { code: 'NOT_STARTED', retryable: true, sent: false })
  assert.ok(clock.now() < 20_000)
})

for (const revision of ['2025-11-25', '2026-07-28'])
  test(`${revision}: what comes of a lost call is no other caller's, until a new connection`, async (t) => {
    const begun = new Recording<(outcome: Error | object) => void>('calls')
    const { all, entry } = starts(
      {},
      {
        revision,
        capabilities: { tools: {}, logging: {} },
        answers: {
          'tools/call': () =>
            new Promise((resolve, reject) =>
              begun.add((outcome) => (outcome instanceof Error ? reject(outcome) : resolve(outcome))),
            ),
        },
      },
    )
    const asked: unknown[] = []
    const onElicit = (question: unknown) => {
      asked.push(question)
      return { action: 'decline' as const }
    }
    const clock = fakeClock()
    const options = { servers: { up: { timeout: 1_000 } } }
    const pair = await through(t, { up: entry }, { principal: somebody('ada'), clock, options })
    const bob = startClient({ transport: pair.connectAs(somebody('bob')), onElicit, clock, logger: false })
    t.after(() => bob.close())
    const heard = new Recording<unknown>('logs')
    bob.onNotification('notifications/message', ({ data }) => heard.add(data))
    await bob.setLevel('info')
    const lost = failure(pair.client.callTool('up__one', {}, { retry: 'never' }))
    const lose = await begun.next()
    lose(new ClientError('CONNECTION_LOST', 'the stream was cut', { data: { sent: true } }))
    assert.equal((await lost).data, { code: 'CONNECTION_LOST', retryable: false, sent: true })
    // its server may take longer than its callers wait
    await clock.advance(2_000)
    const call = bob.callTool('up__one')
    const end = await begun.next()
    const [first] = all
    if (first === undefined) throw new Error('nothing was started')
    const { up, seat } = first
    const log = (data: string) => up.tell('notifications/message', { level: 'error', data })
    const ask = () =>
      seat
        .answers()
        .onElicit.form(
          { message: '?', requestedSchema: { type: 'object', properties: {} } },
          {
            signal: new AbortController().signal,
          },
        )
        .catch((error: Error) => error.message)
    log('of ada')
    if (revision === '2025-11-25') assert.match(String(await ask()), /calls of several clients/)
    // another connection has nothing of her
    Object.assign(up.client, { server: { ...up.client.server } })
    log('of bob')
    assert.is(await heard.next(), 'of bob')
    assert.equal(await ask(), { action: 'decline' })
    assert.is(asked.length, 1)
    end({ content: [] })
    await call
  })

test('lists that cannot be had are asked for again, up to once a minute', async (t) => {
  const clock = fakeClock()
  const failures = record('server.gateway')
  let isBroken = true
  const up = byHand({
    answers: {
      'tools/list': () => {
        if (isBroken) throw new Error('no')
        return { tools: [{ name: 'one', inputSchema: { type: 'object' } }] }
      },
    },
  })
  const { client } = await through(t, { up: up.client }, { clock, options: { startTimeout: 1 } })
  const waits: number[] = []
  for (let n = 0; n < 6; n += 1) {
    const { type, upstream, problem } = await failures.next()
    assert.equal([type, upstream], ['not_listed', 'up'])
    const wait = Number(
      /^its lists could not be had: no: they are asked for again in (\d+) ms$/.exec(problem)?.[1],
    )
    waits.push(wait)
    if (n === 5) isBroken = false
    await clock.advance(wait)
  }
  assert.equal(waits, [5_000, 10_000, 20_000, 40_000, 60_000, 60_000])
  await clock.advance(10)
  await until(async () => (await client.listTools({ fresh: true })).tools.length === 1)
})

test('a list that fails leaves the others in use, and comes once it can be had', async (t) => {
  const clock = fakeClock()
  const failures = record('server.gateway')
  let isBroken = true
  const up = byHand({
    capabilities: { tools: {}, prompts: {} },
    answers: {
      'tools/list': () => ({ tools: [{ name: 'one', inputSchema: { type: 'object' } }] }),
      'prompts/list': () => {
        if (isBroken) throw new Error('no')
        return { prompts: [{ name: 'two' }] }
      },
    },
  })
  const { client } = await through(t, { up: up.client }, { clock })
  assert.is((await failures.next()).problem, 'prompts/list: no: they are asked for again in 5000 ms')
  assert.equal(
    (await client.listTools()).tools.map(({ name }) => name),
    ['up__one'],
  )
  isBroken = false
  await clock.advance(5_000)
  await clock.advance(10)
  await until(async () => (await client.listPrompts({ fresh: true })).prompts.length === 1)
})

for (const how of ['fails', 'hangs'] as const)
  test(`a list that ${how} does not hold up what changes in another one`, async (t) => {
    const clock = fakeClock()
    const failures = record('server.gateway')
    const tools = ['one']
    const up = byHand({
      tools,
      capabilities: { tools: {}, prompts: {} },
      answers: {
        'prompts/list': () => {
          if (how === 'hangs') return new Promise(() => {})
          throw new Error('no')
        },
      },
    })
    const starting = through(t, { up: up.client }, { clock, options: { startTimeout: 1 } })
    if (how === 'hangs') await clock.advance(5_000)
    const { client } = await starting
    const count = async (): Promise<number> => (await client.listTools({ fresh: true })).tools.length
    if (how === 'hangs') await clock.advance(5_000)
    assert.match(
      (await failures.next()).problem,
      how === 'hangs' ? 'prompts/list: no answer' : 'prompts/list: no:',
    )
    await clock.advance(10)
    assert.is(await count(), 1)
    const asked = (): number => up.of('prompts/list').length
    for (let more = 1; more <= 3; more += 1) {
      tools.push(`more${more}`)
      for (let n = 0; n < 10; n += 1) up.tell('notifications/tools/list_changed')
      await clock.advance(how === 'hangs' ? 1_500 : 200)
      await until(async () => (await count()) === 1 + more)
      // of one that hangs, once more for what may have changed while it was asked
      assert.is(asked(), how === 'hangs' ? 1 + 2 * more : 1 + more)
    }
    // told once, not with each change
    assert.is(failures.all.length, 1)
  })

test('tools that cannot be had keep no other list back, and are not called unknown', async (t) => {
  const up = byHand({
    capabilities: { tools: {}, prompts: {} },
    answers: {
      'tools/list': () => {
        throw new McpError(-32603, 'no')
      },
      'prompts/list': () => ({ prompts: [{ name: 'two' }] }),
    },
  })
  const { client } = await through(t, { up: up.client })
  assert.equal(
    (await client.listPrompts()).prompts.map(({ name }) => name),
    ['up__two'],
  )
  const error = await failure(client.callTool('up__one', {}, { retry: 'never' }))
  assert.equal(error.data, { code: 'NOT_STARTED', retryable: true, sent: false })
})

test('a server that a person has to sign in to is told as such, not retryable', async (t) => {
  const cause = new ClientError('SIGN_IN_NEEDED', 'sign in at https://secret.example')
  const reason = new ClientError('CONNECT_FAILED', 'of no use', { cause })
  const up = byHand()
  up.turn({ phase: 'failed', reason })
  const start = (): never => {
    throw cause
  }
  const { client } = await through(t, { up: up.client, lazy: { start, lazy: true } })
  for (const name of ['up__one', 'lazy__one']) {
    const error = await failure(client.callTool(name, {}, { retry: 'never' }))
    assert.equal(error.data, { code: 'SIGN_IN_NEEDED', retryable: false, sent: false }, name)
    assert.not.match(error.message, 'secret')
  }
})

test('a broken entry is left out by name, and the others of its server are offered', async (t) => {
  const failures = record('server.gateway')
  const tools: unknown[] = [
    { name: 'bad', inputSchema: { type: 'object' }, annotations: { title: {} } },
    { name: 'one', inputSchema: { type: 'object' } },
    { name: 'none' },
    'text',
  ]
  const { transport } = near(() => ({ result: { tools } }), { tools: {} })
  const up = startClient({ transport, logger: false })
  t.after(() => up.close())
  const { client } = await through(t, { up })
  const names = async () => (await client.listTools({ fresh: true })).tools.map(({ name }) => name)
  assert.equal(await names(), ['up__one'])
  const { type, upstream, problem } = await failures.next()
  assert.equal([type, upstream], ['not_listed', 'up'])
  assert.is(
    problem,
    'left out: tools/list: tools[0].annotations.title of "bad": expected a string, got an object; ' +
      'tools/list: tools[2].inputSchema of "none": expected an object, got nothing; ' +
      'tools/list: tools[3]: expected an object, got a string',
  )
})

for (const whileAway of ['hide', 'keep'] as const)
  test(`while a server is away what it offers is there: ${whileAway}`, async (t) => {
    const up = byHand()
    const { client } = await through(t, { up: up.client }, { options: { servers: { up: { whileAway } } } })
    const count = async () => (await client.listTools({ fresh: true })).tools.length
    assert.is(await count(), 1)
    up.turn({ phase: 'disconnected', reason: new Error('lost') })
    await until(async () => (await count()) === (whileAway === 'hide' ? 0 : 1))
    up.turn({ phase: 'ready', reason: undefined })
    await until(async () => (await count()) === 1)
  })

test('a client that is ready again is asked for its lists and changes of resources', async (t) => {
  const tools = ['one']
  const up = byHand({
    tools,
    capabilities: { tools: {}, resources: { subscribe: true } },
    answers: {
      'resources/list': () => ({ resources: [{ uri: 'note://1', name: 'n' }] }),
      'resources/templates/list': () => ({ resourceTemplates: [] }),
    },
  })
  const { client } = await through(t, { up: up.client })
  const updates = new Recording<unknown>('updates')
  t.after(client.onNotification('notifications/resources/updated', ({ uri }) => updates.add(uri)))
  await client.subscribe('note://1')
  up.tell('notifications/resources/updated', { uri: 'note://1' })
  assert.is(await updates.next(), 'note://1')
  up.turn({ phase: 'disconnected', reason: new Error('lost') })
  tools.push('two')
  up.turn({ phase: 'ready', reason: undefined })
  await until(async () => (await client.listTools({ fresh: true })).tools.length === 2)
  assert.equal(up.told, ['subscribe note://1', 'subscribe note://1'])
})

test('a client that has failed is replaced after a while, or by the next call', async (t) => {
  const clock = fakeClock()
  const { all, entry } = starts()
  const { client } = await through(t, { up: entry }, { clock })
  await client.callTool('up__one')
  all[0]?.up.turn({ phase: 'failed', reason: new Error('for good') })
  await until(() => all[0]?.up.told.includes('close') === true)
  await clock.advance(4_999)
  assert.is(all.length, 1)
  await clock.advance(1)
  assert.is(all.length, 2)
  all[1]?.up.turn({ phase: 'closed', reason: undefined })
  await client.callTool('up__one')
  assert.is(all.length, 3)
})

test('a client of yours that has failed is asked to try again, up to once a minute', async (t) => {
  const clock = fakeClock()
  const up = byHand()
  const reconnect = async (): Promise<void> => {
    up.told.push('reconnect')
    up.turn({ phase: 'failed', reason: new Error('still') })
    throw new Error('still')
  }
  const { client } = await through(t, { up: Object.assign(up.client, { reconnect }) }, { clock })
  await client.callTool('up__one')
  up.turn({ phase: 'failed', reason: new Error('for good') })
  for (const [count, wait] of [5_000, 10_000, 20_000, 40_000, 60_000, 60_000].entries()) {
    await clock.advance(wait - 1)
    assert.is(up.told.length, count)
    await clock.advance(1)
    assert.is(up.told.length, count + 1)
  }
  up.turn({ phase: 'ready', reason: undefined })
  await client.callTool('up__one')
  up.turn({ phase: 'closed', reason: undefined })
  await clock.advance(120_000)
  assert.is(up.told.length, 6)
})

test('who starts clients may have words for callers; others are not told why', async (t) => {
  const start = ({ principal }: Seat) => {
    if (principal?.subject === 'ada') throw new McpError(-32_050, 'sign in first', { data: { at: 'x' } })
    if (principal !== undefined) throw new Error('canary')
    return byHand().client
  }
  const pair = await through(t, { up: { start, per: 'principal' } }, { principal: somebody('ada') })
  const told = await failure(pair.client.callTool('up__one', {}, { retry: 'never' }))
  assert.equal([told.code, told.message, told.data], [-32_050, 'sign in first', { at: 'x' }])
  const other = startClient({ transport: pair.connectAs(somebody('bob')), logger: false })
  t.after(() => other.close())
  const silent = await failure(other.callTool('up__one', {}, { retry: 'never' }))
  assert.is(silent.message, 'up: its client could not be started: try again')
  assert.equal(silent.data, { code: 'NOT_STARTED', retryable: true, sent: false })
})

test('a client that does not start in the time of a call ends that call alone', async (t) => {
  const clock = fakeClock()
  let give: (client: ReturnType<typeof byHand>['client']) => void = () => {}
  const begun = new Recording<Seat>('starts')
  const start = (seat: Seat) => {
    if (seat.principal === undefined) return byHand().client
    begun.add(seat)
    return new Promise<ReturnType<typeof byHand>['client']>((resolve) => {
      give = resolve
    })
  }
  const { client } = await through(
    t,
    { up: { start, per: 'principal' } },
    { clock, principal: somebody('ada'), options: { servers: { up: { timeout: 2_000 } } } },
  )
  const late = failure(client.callTool('up__one', {}, { retry: 'never', timeout: 60_000 }))
  await begun.next()
  await clock.advance(2_000)
  assert.equal((await late).data, { code: 'NOT_STARTED', retryable: true, sent: false })
  const next = client.callTool('up__one', {}, { timeout: 60_000 })
  give(byHand().client)
  await next
  assert.is(begun.all.length, 1)
})

test('a set of clients asks through its seat, for the servers that are known', async (t) => {
  const seats = new Recording<Seat>('seats')
  const up = byHand()
  const set = {
    names: ['up'],
    has: (name: string) => name === 'up',
    get: () => up.client,
    onState: () => () => {},
    close: async () => void up.told.push('set closed'),
  }
  const { close, client } = await through(t, (seat: Seat) => {
    seats.add(seat)
    return set
  })
  await client.callTool('up__one')
  const { answers, principal, session } = await seats.next()
  assert.equal([principal, session], [undefined, undefined])
  const { onSample } = answers('up')
  assert.equal([onSample.tools, onSample.context], [true, true])
  const question = { signal: new AbortController().signal }
  assert.equal(await answers('up').roots(question), [])
  assert.equal(await answers('other').roots(question), [])
  const early = await failure(onSample.run({ messages: [] }, question))
  assert.is(early.message, 'sampling/createMessage: no call is under way, so there is nobody to ask')
  const unknown = await answers('other')
    .onElicit.form({}, question)
    .catch((error: unknown) => error)
  assert.match(String(unknown), /other is not known yet/)
  await close()
  assert.ok(up.told.includes('set closed'))
})

test('a gateway that ends closes the clients that it has started, and no others', async () => {
  const { all, entry } = starts()
  const given = byHand({ name: 'given' })
  const { client, close } = await connect(gateway({ up: entry, given: given.client }), {})
  await client.listTools()
  await close()
  assert.equal([all[0]?.up.told, given.told], [['close'], []])
})

test.run()
