import * as assert from 'uvu/assert'
import { McpError, type Message, type RequestId, type SubscriptionFilter } from 'caduceus/protocol'
import { type Sink, type Peer, TransportError } from 'caduceus/transports'
import { type Listen, Listens } from '../../../server/subscriptions/listens.js'
import { textOf } from '../../../transports/base/encoded.js'
import { suite } from '../../support/suite.js'

const test = suite('listens')

const everything = {
  tools: { listChanged: true },
  prompts: { listChanged: true },
  resources: { subscribe: true, listChanged: true },
}
const subscriptionId = 'io.modelcontextprotocol/subscriptionId'

test('a stream starts with the honoured filter, under its id in its own type', () => {
  const wanted = {
    toolsListChanged: true,
    promptsListChanged: true,
    resourcesListChanged: false,
    resourceSubscriptions: ['a:1', 'a:1', 'a:2'],
  }
  const cases: [RequestId, object, SubscriptionFilter][] = [
    [
      7,
      everything,
      { toolsListChanged: true, promptsListChanged: true, resourceSubscriptions: ['a:1', 'a:2'] },
    ],
    ['7', { tools: { listChanged: true } }, { toolsListChanged: true }],
    [0, { tools: {}, resources: { listChanged: true } }, {}],
    ['', { resources: { subscribe: true } }, { resourceSubscriptions: ['a:1', 'a:2'] }],
  ]
  for (const [id, capabilities, notifications] of cases) {
    const { open } = start()
    const reader = open(wanted, { id, capabilities })
    assert.equal(reader.sent, [
      {
        jsonrpc: '2.0',
        method: 'notifications/subscriptions/acknowledged',
        params: { notifications, _meta: { [subscriptionId]: id } },
      },
    ])
  }
})

test('one client has a share of what is listened for, and others the rest', () => {
  const { listens, open } = start()
  const from = (remoteAddress: string): Peer => ({ transport: 'http', headers: {}, remoteAddress })
  const heavy = (name: string) => ({
    resourceSubscriptions: Array.from({ length: 64 }, (_, n) => `${name}:${n} `.padEnd(8_000, 'x')),
  })
  const first = open(heavy('a'), { peer: from('203.0.113.1') })
  open(heavy('b'), { peer: from('203.0.113.1') })
  assert.throws(() => open(heavy('c'), { peer: from('203.0.113.1') }), /one client may listen/)
  open(heavy('c'), { peer: from('203.0.113.2') })
  if (first.listen !== undefined) listens.close(first.listen)
  open(heavy('d'), { peer: from('203.0.113.1') })
})

test('each stream gets what its filter names, once, with its id', () => {
  const { listens, open } = start()
  const tools = open({ toolsListChanged: true }, { id: 1 })
  const files = open({ resourcesListChanged: true, resourceSubscriptions: ['x:"ü"'] }, { id: 'two' })
  const both = open({ toolsListChanged: true, resourceSubscriptions: ['x:"ü"', 'other:'] }, { id: '1' })
  listens.noteChanged('tools')
  listens.noteChanged('prompts')
  listens.noteChanged('tools')
  listens.noteUpdated('x:"ü"')
  listens.noteUpdated('nobody:')
  assert.is(listens.tell(), false)
  const updated = (id: RequestId) => ({
    jsonrpc: '2.0',
    method: 'notifications/resources/updated',
    params: { uri: 'x:"ü"', _meta: { [subscriptionId]: id } },
  })
  const changed = (id: RequestId) => ({
    jsonrpc: '2.0',
    method: 'notifications/tools/list_changed',
    params: { _meta: { [subscriptionId]: id } },
  })
  assert.equal(tools.news(), [changed(1)])
  assert.equal(files.news(), [updated('two')])
  assert.equal(both.news(), [changed('1'), updated('1')])
  assert.equal([listens.hasNews, listens.hasBehind], [false, false])
})

test('the prebuilt text equals the encoded message', () => {
  const { listens, open } = start()
  const reader = open({ toolsListChanged: true, resourceSubscriptions: ['q:"\\'] }, { id: 'a"b' })
  listens.noteChanged('tools')
  listens.noteUpdated('q:"\\')
  listens.tell()
  assert.is(reader.sent.length, 3)
  for (const message of reader.sent) assert.equal(JSON.parse(textOf(message)), message)
})

test('changes before the acknowledgement are sent after it', () => {
  const { listens, open } = start()
  const reader = open({ toolsListChanged: true }, { stalled: true })
  listens.noteChanged('tools')
  listens.tell()
  assert.equal([reader.methods(), listens.hasBehind], [[], true])
  reader.stalled = false
  assert.is(listens.retry(), false)
  assert.equal(reader.methods(), [
    'notifications/subscriptions/acknowledged',
    'notifications/tools/list_changed',
  ])
})

test('a slow reader gets each change once, however often it came', () => {
  const { listens, open } = start()
  const reader = open({ toolsListChanged: true, resourceSubscriptions: ['a:'] })
  const other = open({ toolsListChanged: true })
  reader.stalled = true
  for (let round = 0; round < 100; round++) {
    listens.noteChanged('tools')
    listens.noteUpdated('a:')
    listens.tell()
  }
  assert.is(other.news().length, 100)
  assert.is(listens.retry(), true)
  reader.stalled = false
  assert.is(listens.retry(), false)
  assert.equal(reader.methods(), [
    'notifications/subscriptions/acknowledged',
    'notifications/tools/list_changed',
    'notifications/resources/updated',
  ])
  listens.noteChanged('tools')
  listens.tell()
  assert.is(reader.methods().length, 4)
})

test('a stream whose reader stalls for 30 s ends', () => {
  const { listens, open, clock } = start()
  const reader = open({ toolsListChanged: true })
  reader.stalled = true
  listens.noteChanged('tools')
  listens.tell()
  clock.now += 29_999
  assert.equal([listens.retry(), reader.ends], [true, []])
  clock.now += 1
  assert.equal([listens.retry(), reader.ends, listens.size], [false, [undefined], 0])
})

test('a throwing sink ends its own stream only', () => {
  const { listens, open } = start()
  const broken = open({ toolsListChanged: true })
  const fine = open({ toolsListChanged: true })
  const problem = new Error('broken')
  broken.throws = problem
  listens.noteChanged('tools')
  listens.tell()
  assert.equal([broken.ends, fine.news().length, listens.size], [[problem], 1, 1])
})

test('a closed stream gets nothing more and no end', () => {
  const { listens, open } = start()
  const reader = open({ toolsListChanged: true, resourceSubscriptions: ['a:'] })
  listens.noteChanged('tools')
  reader.close()
  reader.close()
  listens.tell()
  listens.noteUpdated('a:')
  listens.endAll()
  assert.equal([reader.news(), reader.ends, listens.size], [[], [], 0])
})

test('a reader that left while stalled is not retried', () => {
  const { listens, open } = start()
  const reader = open({ toolsListChanged: true }, { stalled: true })
  assert.ok(listens.hasBehind)
  reader.close()
  assert.not(listens.hasBehind)
})

test('many streams are notified in slices', () => {
  const { listens, open } = start()
  const readers = Array.from({ length: 40 }, () => open({ toolsListChanged: true }))
  listens.noteChanged('tools')
  const told = () => readers.filter(({ sent }) => sent.length === 2).length
  const rounds: [boolean, number][] = [1, 2, 3].map(() => [listens.tell(), told()])
  assert.equal(rounds, [
    [true, 16],
    [true, 32],
    [false, 40],
  ])
})

test('at the stop each stream gets its pending changes, then its end', () => {
  const { listens, open } = start()
  const readers = [open({ toolsListChanged: true }), open({ toolsListChanged: true }), open({})]
  listens.noteChanged('tools')
  listens.endAll()
  assert.equal(
    readers.map((reader) => reader.news().length),
    [1, 1, 0],
  )
  assert.ok(readers.every(({ ends }) => ends.length === 1 && ends[0] === undefined))
  assert.equal([listens.size, listens.hasNews, listens.tell()], [0, false, false])
})

test('filters, connections and servers have limits', () => {
  const { listens, open } = start(150)
  const uris = (count: number, length = 10) =>
    Array.from({ length: count }, (_, n) => `a:${n}`.padEnd(length, '_'))
  open({ resourceSubscriptions: uris(1_000) }).close()
  for (const refused of [uris(1_001), [`a:${'_'.repeat(8_191)}`]])
    assert.is(
      codeOf(() => open({ resourceSubscriptions: refused })),
      -32602,
    )
  const connection = peer()
  const readers = Array.from({ length: 100 }, () => open({}, { peer: connection }))
  assert.is(
    codeOf(() => open({}, { peer: connection })),
    'EXCHANGE_LIMIT',
  )
  readers[0]?.close()
  open({}, { peer: connection })
  for (let n = 0; n < 50; n++) open({})
  assert.equal([codeOf(() => open({})), listens.size], ['EXCHANGE_LIMIT', 150])
})

test('filters have a total limit, which excludes closed streams', () => {
  const { open } = start()
  const long = { resourceSubscriptions: Array.from({ length: 1_000 }, (_, n) => `${n}`.padEnd(8_192, '_')) }
  const readers = [open(long), open(long)]
  assert.is(
    codeOf(() => open(long)),
    'EXCHANGE_LIMIT',
  )
  for (const reader of readers) reader.close()
  open(long)
})

/** Streams of a server that has everything, and time that stands still. */
function start(maxListens = 1_000) {
  const clock = { now: 0 }
  const listens = new Listens(maxListens, () => clock.now)
  const open = (
    filter: SubscriptionFilter,
    { id = 1, capabilities = everything, stalled = false, peer: from = peer() }: OpenOptions = {},
  ): Reader => {
    const reader = new Reader(listens, stalled)
    const ended = (error?: unknown) => void reader.ends.push(error)
    reader.listen = listens.open({ id, filter, sink: reader, peer: from, ended }, capabilities)
    return reader
  }
  return { listens, open, clock }
}

interface OpenOptions {
  readonly id?: RequestId
  readonly capabilities?: object
  readonly stalled?: boolean
  readonly peer?: Peer
}

/** A client's end of a stream. */
class Reader implements Sink {
  readonly sent: Message[] = []
  readonly ends: unknown[] = []
  readonly #listens: Listens
  listen: Listen | undefined
  stalled: boolean
  throws: Error | undefined
  #seen = 1

  constructor(listens: Listens, stalled: boolean) {
    this.#listens = listens
    this.stalled = stalled
  }

  send(message: Message): boolean {
    if (this.throws !== undefined) throw this.throws
    if (!this.stalled) this.sent.push(message)
    return !this.stalled
  }

  /** What has come since the last look, without the acknowledgement; without what only carries texts. */
  news(): object[] {
    const news = this.sent.slice(this.#seen)
    this.#seen = this.sent.length
    return news.map((message) => JSON.parse(textOf(message)))
  }

  methods(): string[] {
    return this.sent.flatMap((message) => ('method' in message ? [message.method] : []))
  }

  close(): void {
    if (this.listen !== undefined) this.#listens.close(this.listen)
  }
}

function peer(): Peer {
  return { transport: 'test', headers: {}, remoteAddress: undefined }
}

function codeOf(fn: () => unknown): number | string | undefined {
  try {
    fn()
  } catch (error) {
    if (error instanceof McpError || error instanceof TransportError) return error.code
    throw error
  }
  return undefined
}

test.run()
