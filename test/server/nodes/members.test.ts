import { equal, is, match, not, ok } from 'uvu/assert'
import { subscribeServer } from 'caduceus/server'
import { suite, type TestContext } from '../../support/suite.js'
import { askOf, type Member, type Members, members, recordOf, type Told } from './_members.js'

const test = suite('members of a cluster', { timeout: 20_000 })
const lease = 2_500

async function two(t: TestContext, settings = {}): Promise<Members & { one: Member; other: Member }> {
  const all = members(t, settings)
  const one = await all.start('one')
  const other = await all.start('other')
  await all.pass(600)
  equal(one.cluster.view.nodes.map(({ name }) => name).sort(), ['one', 'other'])
  return { ...all, one, other }
}

async function claimed(all: Members, { cluster }: Member, session: string, version = 1): Promise<void> {
  is(await all.during(cluster.claim(session, undefined)), cluster.node)
  await all.during(Promise.resolve(cluster.sessions.save(recordOf(session, version))))
}

function problemOf(error: unknown): unknown {
  return (error as { code?: unknown }).code
}

function refused(all: Members, promise: unknown): Promise<unknown> {
  return all.during(
    Promise.resolve(promise).then(
      () => 'not refused',
      (error) => problemOf(error),
    ),
  )
}

test('messages arrive once and in order, those of one turn in one batch', async (t) => {
  const all = await two(t)
  const { one, other } = all
  const ids = Array.from({ length: 1_000 }, (_, index) => `${index}`)
  for (const id of ids) ok(one.cluster.send('other', askOf(id)))
  is(one.cluster.view.waiting, 1_000)
  await all.pass(100)
  equal(
    other.told().map((told) => (told as { id: string }).id),
    ids,
  )
  is(one.cluster.view.waiting, 0)
})

test('a newly started node takes over from the dead like the older ones', async (t) => {
  const all = await two(t)
  const { one, engine } = all
  await claimed(all, one, 'a')
  await all.pass(lease)
  engine.cut('one')
  await all.pass(lease + 500)
  const third = await all.start('third')
  is(await all.during(third.cluster.claim('a', undefined)), 'third')
})

test('a session whose owner leaves while it is asked for is served at once', async (t) => {
  const all = await two(t)
  const { one, other, engine } = all
  await claimed(all, one, 'a')
  const { state } = engine
  const claim = state.claim.bind(state)
  const owner = { type: 'owned', node: 'one' } as const
  // that the owner has left is heard before the answer is read, and nobody may take over yet
  engine.cut('one')
  state.leave('one')
  await all.pass(700)
  state.claim = () => {
    state.claim = claim
    return owner
  }
  is(await all.during(other.cluster.claim('a', undefined)), 'other')
})

test('a node that starts alone waits for earlier nodes to return', async (t) => {
  const all = await two(t)
  const { one, engine } = all
  await claimed(all, one, 'a')
  for (const name of ['one', 'other']) engine.cut(name)
  await all.pass(lease + 500)
  const third = await all.start('third')
  is(await refused(all, third.cluster.claim('a', undefined)), 'CLUSTER_UNAVAILABLE')
  await all.pass(lease)
  is(await all.during(third.cluster.claim('a', undefined)), 'third')
})

test('in a flood of news each node gets every one, or is told that anything changed', async (t) => {
  for (const count of [90, 101, 350]) {
    const all = await two(t)
    const { one, other } = all
    other.told()
    for (let number = 0; number < count; number += 1) {
      one.cluster.publish({ type: 'resource', uri: `test:${number}` })
    }
    await all.pass(5_000)
    const heard = other.told().flatMap((told) => (told.type === 'hear' ? [told.news] : []))
    if (!heard.some(({ type }) => type === 'anything')) is(heard.length, count)
    equal(heard.at(-1), { type: 'resource', uri: `test:${count - 1}` })
  }
})

test('a node queues no more than an inbox may hold', async (t) => {
  const all = await two(t, { maxInbox: 10 })
  const { one } = all
  const taken = Array.from({ length: 12 }, (_, index) => one.cluster.send('other', askOf(`${index}`)))
  equal(taken.filter(Boolean).length, 10)
})

test('messages with a lost answer still arrive once', async (t) => {
  const all = await two(t)
  const { one, other, engine } = all
  engine.cut('one', ['answers'])
  one.cluster.send('other', askOf('a'))
  await all.pass(100)
  engine.heal('one')
  one.cluster.send('other', askOf('b'))
  await all.pass(2_000)
  equal(
    other.told().flatMap((told) => (told.type === 'receive' ? [told.id] : [])),
    ['a', 'b'],
  )
  is(one.cluster.problem, undefined)
})

test('a lost bell delays delivery by two seconds', async (t) => {
  const all = await two(t)
  const { one, other, engine } = all
  engine.quality = { ...engine.quality, losesBells: 1 }
  one.cluster.send('other', askOf('a'))
  await all.pass(2_100)
  is(other.told().length, 1)
})

test('an ended node returns undelivered messages', async (t) => {
  const all = await two(t)
  const { one, other } = all
  other.freeze()
  one.cluster.send('other', askOf('a'))
  await all.pass(50)
  equal(one.told(), [])
  await all.pass(lease + 700)
  equal(one.told(), [
    { type: 'receive', from: 'other', id: 'a', what: 'undelivered' },
    { type: 'gone', node: 'other' },
  ])
  // it is known to have ended
  one.cluster.send('other', askOf('b'))
  await all.pass(10)
  equal(one.told(), [{ type: 'receive', from: 'other', id: 'b', what: 'undelivered' }])
  // it has begun anew: neither knows of what was under way
  await other.thaw()
  await all.pass(700)
  equal(other.told(), [{ type: 'gone', node: 'one' }])
  one.cluster.send('other', askOf('c'))
  other.cluster.send('one', askOf('d'))
  await all.pass(100)
  equal(other.told(), [{ type: 'receive', from: 'one', id: 'c', what: 'close' }])
  equal(one.told(), [{ type: 'receive', from: 'other', id: 'd', what: 'close' }])
})

test('a node stopped beyond its lease serves and writes nothing on return', async (t) => {
  const all = await two(t)
  const { one, other } = all
  await claimed(all, one, 'a')
  other.cluster.send('one', askOf('a'))
  one.freeze()
  await all.pass(lease + 100)
  // its first turn: no beat has been answered, no timer has told it
  match(String(one.cluster.problem), /was not reached in time/)
  is(await refused(all, one.cluster.sessions.save(recordOf('a', 2))), 'CLUSTER_UNAVAILABLE')
  not(one.cluster.send('other', askOf('b')))
  await one.thaw()
  await all.pass(1_000)
  is(one.told().filter(({ type }) => type === 'receive').length, 0)
  is(one.cluster.problem, undefined)
})

test('a session of an expired lease moves within 3 s, and its first node is told', async (t) => {
  const all = await two(t)
  const { one, other, clock } = all
  await claimed(all, one, 'a')
  await all.pass(lease)
  one.freeze()
  const frozen = clock.now()
  is(await all.during(other.cluster.claim('a', undefined)), 'one')
  while ((await all.during(other.cluster.claim('a', undefined))) !== 'other') await all.pass(50)
  ok(clock.now() - frozen <= 3_000)
  await all.during(Promise.resolve(other.cluster.sessions.save(recordOf('a', 2))))
  await one.thaw()
  await all.pass(700)
  equal(
    one.told().filter(({ type }) => type === 'lost'),
    [{ type: 'lost', ids: ['a'] }],
  )
  is(await refused(all, one.cluster.sessions.save(recordOf('a', 3))), 'SEND_FAILED')
  is((await all.during(Promise.resolve(other.cluster.sessions.load('a'))))?.version, 2)
})

test('a late node keeps sessions that nobody claimed', async (t) => {
  const all = await two(t)
  const { one } = all
  await claimed(all, one, 'a')
  one.freeze()
  await all.pass(2 * lease)
  await one.thaw()
  await all.pass(700)
  equal(
    one.told().filter(({ type }) => type === 'lost'),
    [],
  )
  await all.during(Promise.resolve(one.cluster.sessions.save(recordOf('a', 2))))
})

test('a node takes over nothing during its first lease after a return', async (t) => {
  const all = await two(t)
  const { one, other, engine } = all
  await claimed(all, one, 'a')
  engine.stop()
  await all.pass(2 * lease)
  one.freeze()
  engine.start()
  await all.pass(700)
  is(other.cluster.problem, undefined)
  is(await refused(all, other.cluster.claim('a', undefined)), 'CLUSTER_UNAVAILABLE')
  await all.pass(lease)
  is(await all.during(other.cluster.claim('a', undefined)), 'other')
  await one.thaw()
})

test('sessions of a node that left in order are free at once', async (t) => {
  const all = await two(t)
  const { one, other } = all
  await claimed(all, one, 'a')
  await all.during(one.supervisor.stop())
  is(await all.during(other.cluster.claim('a', undefined)), 'other')
  await all.pass(600)
  equal(
    other.cluster.view.nodes.map(({ name }) => name),
    ['other'],
  )
})

test('a lost engine is noticed at once, and a restored one is used again', async (t) => {
  const all = await two(t)
  const { one, engine, clock } = all
  await claimed(all, one, 'a')
  engine.stop()
  await all.pass(20)
  match(String(one.cluster.problem), /cannot be reached/)
  const before = clock.now()
  is(await refused(all, one.cluster.claim('b', undefined)), 'CLUSTER_UNAVAILABLE')
  ok(clock.now() - before < 50)
  engine.start()
  await all.pass(1_000)
  is(one.cluster.problem, undefined)
  await all.during(Promise.resolve(one.cluster.sessions.save(recordOf('a', 2))))
  equal(lostOf(one), [])
})

test('state that the engine lost is written again before anyone is told it is gone', async (t) => {
  const all = await two(t)
  const { one, other, engine } = all
  await claimed(all, one, 'a', 7)
  engine.wipe()
  // nobody has noticed: the session is not there, but it may come back
  is(await refused(all, other.cluster.sessions.load('a')), 'CLUSTER_UNAVAILABLE')
  await all.pass(700)
  is((await all.during(Promise.resolve(other.cluster.sessions.load('a'))))?.version, 7)
  is(await all.during(other.cluster.claim('a', undefined)), 'one')
  await all.pass(lease)
  is(await all.during(Promise.resolve(other.cluster.sessions.load('b'))), undefined)
})

test('a failover that loses the last second loses no owned session', async (t) => {
  const all = await two(t)
  const { one, other, engine } = all
  await claimed(all, one, 'a')
  engine.fallBehind()
  await claimed(all, one, 'b', 3)
  await all.during(Promise.resolve(one.cluster.sessions.save(recordOf('a', 2))))
  engine.failOver()
  await all.pass(1_000)
  is((await all.during(Promise.resolve(other.cluster.sessions.load('a'))))?.version, 2)
  is((await all.during(Promise.resolve(other.cluster.sessions.load('b'))))?.version, 3)
  for (const id of ['a', 'b']) is(await all.during(other.cluster.claim(id, undefined)), 'one')
})

test('messages in flight are lost both ways if delivery is unknown', async (t) => {
  const all = await two(t)
  const { one, other, engine } = all
  engine.cut('other', ['answers'])
  one.cluster.send('other', askOf('a'))
  // whatever is still held comes too late
  await all.pass(1_300)
  engine.heal('other')
  await all.pass(1_700)
  equal(other.told(), [{ type: 'gone', node: 'one' }])
  equal(one.told(), [{ type: 'gone', node: 'other' }])
  one.cluster.send('other', askOf('b'))
  other.cluster.send('one', askOf('c'))
  await all.pass(100)
  equal(other.told().length, 1)
  equal(one.told().length, 1)
})

test('a node wrongly reported as gone starts anew with the others', async (t) => {
  const all = await two(t)
  const { one, other, engine } = all
  // the clock of the engine's machine was set
  engine.state.leave('other')
  await all.pass(700)
  equal(
    one.told().map(({ type }) => type),
    ['gone'],
  )
  await all.pass(700)
  equal(
    other.told().map(({ type }) => type),
    ['gone'],
  )
  one.told()
  one.cluster.send('other', askOf('b'))
  other.cluster.send('one', askOf('c'))
  await all.pass(100)
  equal(
    [...one.told(), ...other.told()].map(({ type }) => type),
    ['receive', 'receive'],
  )
})

test('a batch that may be duplicated is not reported as undelivered', async (t) => {
  const all = await two(t)
  const { one, other, engine } = all
  other.freeze()
  engine.cut('one', ['answers'])
  one.cluster.send('other', askOf('a'))
  await all.pass(1_100)
  engine.heal('one')
  await all.pass(800)
  is(engine.state.waiting, 2)
  await all.pass(2_500)
  equal(one.told(), [{ type: 'gone', node: 'other' }])
  await other.thaw()
})

test('an engine that forgot a delivery does not deliver it again', async (t) => {
  const all = await two(t)
  const { one, other, engine } = all
  other.freeze()
  one.cluster.send('other', askOf('a'))
  await all.pass(20)
  const kept = engine.state.snapshot()
  await other.thaw()
  await all.pass(20)
  is(other.told().length, 1)
  // the one that takes its place has not heard of it, and not of that node
  engine.state.restore(kept)
  engine.state.run = 'another run'
  engine.state.leave('other')
  one.cluster.send('other', askOf('b'))
  await all.pass(40)
  await all.pass(3_000)
  equal(
    one.told().filter((told) => told.type === 'receive' && told.id === 'a'),
    [],
  )
})

test('looking up unknown sessions costs one command each and one beat for all', async (t) => {
  const all = await two(t)
  const { one, engine } = all
  const { state } = engine
  const beat = state.beat.bind(state)
  let beats = 0
  state.beat = (node, ...rest) => {
    if (node === 'one') beats += 1
    return beat(node, ...rest)
  }
  const ids = Array.from({ length: 100 }, (_, index) => `${index}`)
  const loaded = await all.during(Promise.all(ids.map((id) => one.cluster.sessions.load(id))))
  ok(loaded.every((record) => record === undefined))
  ok(beats <= 3, `${beats} beats`)
})

test('messages of a leaving node arrive before its departure is reported', async (t) => {
  const all = await two(t)
  const { one, other, engine } = all
  engine.quality = { ...engine.quality, losesBells: 1 }
  other.cluster.send('one', askOf('last words'))
  await all.pass(20)
  equal(one.told(), [])
  await all.during(other.supervisor.stop())
  await all.pass(lease)
  equal(
    one.told().map((told) => (told.type === 'receive' ? told.id : told.type)),
    ['last words', 'gone'],
  )
})

for (const [ms, arrives] of [
  [600, true],
  [2_000, false],
] as const) {
  const how = arrives ? 'leaves before it does' : 'is given up with it'
  test(`a message without room ${how}: room ${ms} ms after leaving`, async (t) => {
    const all = await two(t, { maxInbox: 1 })
    const { one, other, clock } = all
    other.freeze()
    one.cluster.send('other', askOf('a'))
    await all.pass(20)
    one.cluster.send('other', askOf('b'))
    const since = clock.now()
    const stopped = one.supervisor.stop().then(() => clock.now() - since)
    await all.pass(ms)
    await other.thaw()
    ok((await all.during(stopped)) <= 1_100)
    await all.pass(500)
    const came = other.told().flatMap((told) => (told.type === 'receive' ? [told.id] : []))
    equal(came, arrives ? ['a', 'b'] : ['a'])
  })
}

test('an ended session, or one of another node, is not held', async (t) => {
  const all = await two(t)
  const { one, other } = all
  for (const id of ['ended', 'taken', 'kept']) await claimed(all, one, id)
  is(one.cluster.view.sessions, 3)
  await all.during(Promise.resolve(one.cluster.sessions.delete('ended')))
  is(one.cluster.view.sessions, 2)
  // another one has it by now, and the first finds out when it saves
  all.engine.state.leave('one')
  await all.during(other.cluster.claim('taken', undefined))
  await all.during(Promise.resolve(one.cluster.sessions.save(recordOf('taken', 2))).catch(() => {}))
  is(one.cluster.view.sessions, 1)
})

test('a message for a node without port waits or is returned', async (t) => {
  const all = await two(t)
  const { one, other } = all
  const ignore = (): void => {}
  const none = { receive: ignore, gone: ignore, hear: ignore, lost: ignore }
  const waiting: string[] = []
  const port = { ...none, settled: async () => {}, retire: async () => {} }
  other.cluster.listen(port)()
  one.cluster.send('other', askOf('a'))
  await all.pass(100)
  const unlisten = other.cluster.listen({ ...port, receive: (_from, { id }) => void waiting.push(id) })
  await all.pass(100)
  equal(waiting, ['a'])
  unlisten()
  one.cluster.send('other', askOf('b'))
  await all.pass(100)
  await all.during(other.supervisor.stop())
  await all.pass(lease)
  equal(waiting, ['a'])
  equal(one.told(), [
    { type: 'receive', from: 'other', id: 'b', what: 'undelivered' },
    { type: 'gone', node: 'other' },
  ])
})

const [ours, theirs] = ['a key of this cluster, which is long', 'another key, which is as long as it']

test('nodes with different keys report each other and refuse sessions', async (t) => {
  const all = members(t)
  const told: unknown[] = []
  t.after(subscribeServer('node', ({ node, type, problem }) => void told.push([node, type, problem])))
  const one = await all.start('one', {}, { keys: [ours] })
  const other = await all.start('other', {}, { keys: [theirs] })
  const none = await all.start('none')
  await all.pass(1_000)
  const views = [one, other, none].map(({ cluster }) => cluster.view)
  equal(
    views.map(({ nodes, strangers }) => [nodes.map(({ name }) => name), [...strangers].sort()]),
    [
      [['one'], ['none', 'other']],
      [['other'], ['none', 'one']],
      [['none'], ['one', 'other']],
    ],
  )
  is(told.filter((each) => (each as unknown[])[1] === 'stranger').length, 6)
  match(JSON.stringify(told), /"one","stranger","node other has other keys/)
  match(JSON.stringify(told), /"none","unsafe","[^"]*nothing is signed/)
  await claimed(all, one, 'a')
  for (const { cluster } of [other, none])
    is(await refused(all, cluster.claim('a', undefined)), 'CLUSTER_UNAVAILABLE')
})

test('a node with wrong keys leaves sessions to the others and says why', async (t) => {
  const all = members(t)
  const nodes = [await all.start('one', {}, { keys: [ours] }), await all.start('two', {}, { keys: [ours] })]
  const wrong = await all.start('a wrong one', {}, { keys: [theirs] })
  const problems = (): unknown[] => [...nodes, wrong].map(({ cluster }) => cluster.problem?.message)
  const why = /other keys, or another edition of this library, that were there before this one: one, two$/
  await all.pass(400)
  equal(problems().slice(0, 2), [undefined, undefined])
  match(String(problems()[2]), why)
  is(await refused(all, wrong.cluster.claim('a', undefined)), 'CLUSTER_UNAVAILABLE')
  // settled as it is by now, it still is the stranger
  await all.pass(lease * 2)
  equal(problems().slice(0, 2), [undefined, undefined])
  match(String(problems()[2]), why)
  // those that came before are replaced one by one
  for (const index of [0, 1]) {
    await all.during(nodes[index]?.supervisor.stop() as Promise<unknown>)
    nodes[index] = await all.start(`next ${index}`, {}, { keys: [ours] })
    await all.pass(lease * 2)
    equal(problems().slice(0, 2), [undefined, undefined])
    match(String(problems()[2]), /that were there before this one/)
  }
  // an engine that forgets everything changes nothing
  all.engine.wipe()
  await all.pass(lease * 3)
  equal(problems().slice(0, 2), [undefined, undefined])
  match(String(problems()[2]), /that were there before this one/)
  // without them it serves
  for (const { supervisor } of nodes) await all.during(supervisor.stop())
  await all.pass(lease)
  is(wrong.cluster.problem, undefined)
})

test('of nodes with different keys started together, one side serves', async (t) => {
  const all = members(t)
  const one = await all.start('one', {}, { keys: [ours] })
  const wrong = await all.start('a wrong one', {}, { keys: [theirs] })
  const another = await all.start('another', {}, { keys: [ours] })
  await all.pass(lease * 2)
  equal(
    [one, wrong, another].map(({ cluster }) => cluster.problem === undefined),
    [true, false, true],
  )
})

test('a node reports when and why it refuses sessions, and when it ends', async (t) => {
  const all = await two(t)
  const told: string[] = []
  t.after(
    subscribeServer('node', ({ node, type, problem = '' }) => {
      if (node === 'one') told.push(`${type} ${problem}`.trim())
    }),
  )
  all.engine.stop()
  await all.pass(2_000)
  all.engine.start()
  await all.pass(4_000)
  match(told[0] ?? '', /^refusing sessions are refused: /)
  is(told.at(-1), 'serving')
})

test('a missing batch ends everything in flight, both ways', async (t) => {
  const all = await two(t)
  const { one, other, engine } = all
  other.freeze()
  one.cluster.send('other', askOf('a'))
  await all.pass(20)
  equal(engine.state.take('other', 1).length, 1)
  await other.thaw()
  one.cluster.send('other', askOf('b'))
  await all.pass(700)
  equal(other.told(), [{ type: 'gone', node: 'one' }])
  equal(one.told(), [{ type: 'gone', node: 'other' }])
})

test('a request to a silent node waits 5 s at most', async (t) => {
  const all = await two(t, { maxInbox: 1 })
  const { one, engine } = all
  // it beats, and its inbox is full
  const fill = (): unknown => engine.state.send('other', 'one', ['x'], 1)
  engine.state.take = () => []
  fill()
  one.cluster.send('other', askOf('a'))
  await all.pass(4_900)
  equal(one.told(), [])
  await all.pass(200)
  equal(one.told(), [{ type: 'receive', from: 'other', id: 'a', what: 'failed' }])
  engine.state.takeBack('other', 'one')
})

test('keys rotate one node after the other', async (t) => {
  const all = members(t)
  const [first, second] = ['the first of two keys, which is old', 'the second of two keys: it is new']
  const keyed = async (name: string, ...keys: string[]): Promise<Member> => all.start(name, {}, { keys })
  const nodes = [await keyed('a', first), await keyed('b', first, second), await keyed('c', second, first)]
  await all.pass(600)
  const d = await keyed('d', second)
  await all.pass(600)
  const send = (from: Member | undefined, to: string): unknown => from?.cluster.send(to, askOf('x'))
  const [a, b, c] = nodes
  for (const [from, to] of [
    [a, 'b'],
    [b, 'a'],
    [c, 'b'],
    [b, 'c'],
    [d, 'c'],
    [c, 'd'],
    [a, 'd'],
  ] as const)
    send(from, to)
  await all.pass(500)
  const told = [...nodes, d].map((node) => node?.told().map(({ type }) => type))
  // the first cannot talk to the last: to it that one is gone
  equal(told, [['receive', 'gone'], ['receive', 'receive'], ['receive', 'receive'], ['receive']])
  equal([...d.cluster.view.refused], [['messages', 1]])
})

test('messages written before a node started anew are void', async (t) => {
  const all = await two(t)
  const { one, other, engine } = all
  engine.cut('other', ['answers'])
  one.cluster.send('other', askOf('a'))
  await all.pass(100)
  one.cluster.send('other', askOf('b'))
  await all.pass(1_100)
  engine.heal('other')
  await all.pass(700)
  equal(
    [...other.told(), ...one.told()].map(({ type }) => type),
    ['gone', 'gone'],
  )
})

test('messages in flight at a wipe of the engine are lost, both ways', async (t) => {
  const all = await two(t)
  const { one, other, engine } = all
  other.freeze()
  one.cluster.send('other', askOf('a'))
  await all.pass(20)
  engine.wipe()
  await other.thaw()
  await all.pass(700)
  const gone = (told: Told[]): Told[] => told.filter(({ type }) => type !== 'hear')
  equal(gone(one.told()), [{ type: 'gone', node: 'other' }])
  equal(gone(other.told()), [{ type: 'gone', node: 'one' }])
})

test('a node beyond its lease waits for nobody', async (t) => {
  const all = await two(t)
  const { one, engine } = all
  one.cluster.send('other', askOf('a'))
  await all.pass(20)
  engine.freeze()
  await all.pass(900)
  equal(one.told(), [])
  await all.pass(2_200)
  equal(one.told(), [{ type: 'gone', node: 'other' }])
  engine.thaw()
})

test('a node without news of others has a second left', async (t) => {
  const all = await two(t)
  const { one, engine } = all
  engine.stop()
  await all.pass(20)
  ok(one.cluster.view.lease > 900 && one.cluster.view.lease <= 1_000)
  await all.pass(1_000)
  is(one.cluster.view.lease, 0)
})

test('the lease is counted from when the beat was sent', async (t) => {
  const all = await two(t)
  const { one, engine } = all
  engine.quality = { ...engine.quality, delay: [800, 800] }
  let longest = 0
  for (let step = 0; step < 500; step += 1) {
    await all.pass(5)
    if (step > 300) longest = Math.max(longest, one.cluster.view.lease)
  }
  ok(longest <= lease - 800, String(longest))
  ok(longest > 0)
})

test('a node stopped at any moment and resumed executes no earlier command', async (t) => {
  const all = await two(t)
  const { one, other } = all
  for (let moment = 0; moment < 4; moment += 0.5) {
    other.cluster.send('one', askOf('a'))
    const claimed = one.cluster.claim(`${moment}`, undefined).catch((error: unknown) => problemOf(error))
    await all.pass(moment)
    const before = one.told().length
    const isClaimed = await Promise.race([claimed, Promise.resolve('under way')])
    one.freeze()
    await all.pass(lease + 700)
    is(await all.during(other.cluster.claim(`${moment}`, undefined)), 'other')
    await one.thaw()
    await all.pass(700)
    const received = one.told().filter(({ type }) => type === 'receive')
    ok(before === 0 || received.length === 0)
    equal(received, [], `${moment}`)
    if (isClaimed === 'under way') is(await claimed, 'CLUSTER_UNAVAILABLE', `${moment}`)
    other.told()
  }
})

test('a node ends a session that another node owns', async (t) => {
  const all = await two(t)
  const { one, other, engine } = all
  await claimed(all, one, 'a')
  engine.state.release('one', 'a', Number.MAX_SAFE_INTEGER)
  is(await all.during(other.cluster.claim('a', undefined)), 'other')
  is(await refused(all, one.cluster.sessions.save(recordOf('a', 2))), 'SEND_FAILED')
  equal(one.told(), [{ type: 'lost', ids: ['a'] }])
  one.cluster.release('a')
  await all.pass(50)
  is(await all.during(one.cluster.claim('a', undefined)), 'other')
})

test('an unanswered claim is released, and later claims stay', async (t) => {
  const all = await two(t)
  const { one, other, engine } = all
  engine.cut('one', ['answers'])
  is(await refused(all, one.cluster.claim('a', undefined)), 'CLUSTER_UNAVAILABLE')
  is(
    await refused(
      all,
      other.cluster.claim('a', undefined).then((node) => void is(node, 'one')),
    ),
    'not refused',
  )
  one.cluster.release('a')
  engine.heal('one')
  while (one.cluster.problem !== undefined) await all.pass(1)
  is(await all.during(one.cluster.claim('a', undefined)), 'one')
  await all.pass(1_000)
  await all.during(Promise.resolve(one.cluster.sessions.save(recordOf('a', 1))))
  one.cluster.release('a')
  await all.pass(50)
  is(await all.during(other.cluster.claim('a', undefined)), 'other')
})

test('news reaches all others once, and a gap counts as any change', async (t) => {
  const all = await two(t)
  const { one, other, engine } = all
  one.cluster.publish({ type: 'list', list: 'tools' })
  await all.pass(50)
  equal(other.told(), [{ type: 'hear', news: { type: 'list', list: 'tools' } }])
  equal(one.told(), [])
  engine.quality = { ...engine.quality, losesBells: 1 }
  one.cluster.publish({ type: 'resource', uri: 'a:b' })
  await all.pass(600)
  equal(other.told(), [{ type: 'hear', news: { type: 'resource', uri: 'a:b' } }])
  other.freeze()
  for (let index = 0; index < 1_100; index += 1) engine.state.publish('\n["three",{"type":"anything"}]')
  await other.thaw()
  await all.pass(600)
  equal(other.told(), [{ type: 'hear', news: { type: 'anything' } }])
})

test('a change during an engine outage is published afterwards', async (t) => {
  const all = await two(t)
  const { one, other, engine } = all
  engine.stop()
  await all.pass(20)
  one.cluster.publish({ type: 'list', list: 'tools' })
  engine.start()
  await all.pass(1_500)
  const heard = other.told().filter(({ type }) => type === 'hear')
  equal(heard.at(-1), { type: 'hear', news: { type: 'list', list: 'tools' } })
})

test('a message not signed by the cluster is refused', async (t) => {
  const keys = ['a secret that nobody knows but we do']
  const all = await two(t, { keys })
  const { one, other, engine } = all
  one.cluster.send('other', askOf('a'))
  await all.pass(50)
  equal(other.told().length, 1)
  const forged = '\n["one",1,"other",1,2]\n["port",{"type":"over","id":"x"}]'
  engine.state.send('other', 'one', [forged, `AAAA${forged}`, 'nothing'], 10)
  engine.state.publish('\n["one",{"type":"anything"}]')
  await all.pass(2_100)
  equal(other.told(), [])
  equal([...other.cluster.view.refused].sort(), [
    ['messages', 3],
    ['news', 1],
  ])
})

for (const actor of ['engine', 'member'] as const)
  test(`a node whose ${actor} actor crashes keeps its sessions, and goes on`, async (t) => {
    const all = await two(t)
    const { one, other } = all
    await claimed(all, one, 'a')
    for (const moment of [0, 1, 2, 3, 5, 8]) {
      one.cluster.send('other', askOf(`to ${moment}`))
      other.cluster.send('one', askOf(`from ${moment}`))
      await all.pass(moment)
      const ref = await one.actor(actor)
      ref.kill()
      await all.pass(6_000)
      is(one.cluster.problem, undefined)
      is(one.cluster.view.sessions, 1)
      await all.during(Promise.resolve(one.cluster.sessions.save(recordOf('a', 10 + moment))))
      assertToldOf(other.told(), one.told(), moment)
    }
    equal(lostOf(one), [])
  })

/** Each ask has arrived, or its node was told of as gone. */
function assertToldOf(other: readonly Told[], one: readonly Told[], moment: number): void {
  const heard = (told: readonly Told[], id: string): boolean =>
    told.some((each) => each.type === 'gone' || (each.type === 'receive' && each.id === id))
  ok(heard(other, `to ${moment}`) || heard(one, ''), `to ${moment}`)
  ok(heard(one, `from ${moment}`) || heard(other, ''), `from ${moment}`)
}

test('a program started without the engine says so; a running one waits for it', async (t) => {
  const all = members(t)
  all.engine.stop()
  const error = await all.during(all.start('one').catch((reason: unknown) => reason))
  match(JSON.stringify(causes(error)), /CLUSTER_UNAVAILABLE/)
  all.engine.start()
  const one = await all.start('one')
  all.engine.stop()
  ;(await one.actor('engine')).kill()
  await all.pass(20_000)
  ok(one.supervisor.ref.alive)
  all.engine.start()
  await all.pass(2_000)
  is(one.cluster.problem, undefined)
})

function causes(error: unknown): unknown[] {
  return error instanceof Error ? [problemOf(error), ...causes(error.cause)] : []
}

function lostOf(member: Member): Told[] {
  return member.told().filter(({ type }) => type === 'lost')
}

test('session limits count over all nodes, per client too', async (t) => {
  const all = members(t)
  const limits = { maxSessions: 3, maxSessionsPerClient: 2 }
  const one = await all.start('one', limits)
  const other = await all.start('other', limits)
  const peer = { transport: 'http', headers: {}, remoteAddress: '10.0.0.1' }
  await all.during(one.cluster.claim('a', peer))
  await all.during(other.cluster.claim('b', peer))
  is(await refused(all, other.cluster.claim('c', peer)), 'CLIENT_LIMIT')
  await all.during(other.cluster.claim('d', undefined))
  is(await refused(all, one.cluster.claim('e', undefined)), 'SESSION_LIMIT')
  for (const id of ['a', 'c', 'e']) one.cluster.release(id)
  await all.pass(20)
  is(await all.during(other.cluster.claim('e', undefined)), 'other')
})

test('a session ended during an engine outage is still released', async (t) => {
  const all = await two(t)
  const { one, other, engine } = all
  await claimed(all, one, 'a')
  engine.stop()
  await all.pass(20)
  one.cluster.release('a')
  engine.start()
  await all.pass(1_500)
  is(await all.during(other.cluster.claim('a', undefined)), 'other')
})

test('a retiring node forwards sessions that it does not own', async (t) => {
  const all = await two(t)
  const { one, other } = all
  await claimed(all, one, 'a')
  await claimed(all, other, 'b')
  one.cluster.retire()
  await all.pass(100)
  is(await all.during(one.cluster.claim('a', undefined)), 'one')
  is(await all.during(one.cluster.claim('b', undefined)), 'other')
  is(await all.during(one.cluster.claim('c', undefined)), 'other')
  other.cluster.retire()
  await all.pass(700)
  is(await all.during(one.cluster.claim('d', undefined)), 'one')
})

test.run()
