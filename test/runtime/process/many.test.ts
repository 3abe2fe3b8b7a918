import * as assert from 'uvu/assert'
import {
  childSpec,
  defineActor,
  multiCall,
  multiCast,
  partitionFor,
  partitionOf,
  partitionsOf,
  partitionSupervisorSpec,
  Registry,
  type RegistryEvent,
  type RuntimeError,
  startActor,
  startSupervisor,
  TopicRegistry,
} from 'caduceus/runtime'
import { suite } from '../../support/suite.js'

const test = suite('many processes')

const counter = defineActor({
  name: 'counter',
  init: (start: number) => ({ count: start }),
  call: { read: (state) => state.count },
  cast: {
    add: (state, by: number) => {
      state.count += by
    },
  },
})

async function startCounters(t: { after(undo: () => unknown): void }, ...starts: number[]) {
  const refs = await Promise.all(starts.map((start) => startActor(counter, start, { logger: false })))
  t.after(() => {
    for (const ref of refs) ref.kill()
  })
  return refs
}

test('OTP-100 multiCall collects replies and lists those that are gone', async (t) => {
  const [a, b, c] = await startCounters(t, 1, 2, 3)
  if (a === undefined || b === undefined || c === undefined) throw new Error('three were started')
  b.kill()
  const { replies, failures } = await multiCall([a, b, c], 'read')
  assert.equal(
    replies.map(({ reply }) => reply),
    [1, 3],
  )
  assert.equal(
    failures.map(({ ref, error }) => [ref === b, (error as RuntimeError).code]),
    [[true, 'NOPROC']],
  )
})

test('OTP-100 multiCast tells how many took the message', async (t) => {
  const refs = await startCounters(t, 1, 2)
  refs[0]?.kill()
  assert.is(multiCast(refs, 'add', 5), 1)
  assert.is(await refs[1]?.call('read'), 7)
})

test('OTP-77 a partition supervisor maps a key to the same one of equal children', async (t) => {
  const registry = new Registry()
  const spec = partitionSupervisorSpec({
    name: 'counters',
    partitions: 3,
    child: (i, name) => childSpec(counter, i, { name }),
  })
  const tree = await startSupervisor({ strategy: 'one_for_one', registry, logger: false, children: [spec] })
  t.after(() => tree.stop())
  assert.is(partitionsOf(registry, 'counters', 3).size, 3)
  assert.equal([...partitionsOf(registry, 'counters', 2).keys()], [0, 1])
  assert.is(partitionFor(registry, 'counters', 4, 3), registry.whereis('counters/1'))
  assert.is(
    partitionFor(registry, 'counters', 'user-17', 3),
    partitionFor(registry, 'counters', 'user-17', 3),
  )
  assert.is(await registry.named<typeof counter>('counters/2').call('read'), 2)
})

test('OTP-77 a partition that crashes comes back under its number', async (t) => {
  const registry = new Registry()
  const spec = partitionSupervisorSpec({
    name: 'p',
    partitions: 2,
    child: (i, name) => childSpec(counter, i, { name }),
  })
  const tree = await startSupervisor({ strategy: 'one_for_one', registry, logger: false, children: [spec] })
  t.after(() => tree.stop())
  const before = registry.whereis('p/1')
  before?.kill()
  assert.is(await registry.named<typeof counter>('p/1').call('read'), 1)
  assert.is.not(registry.whereis('p/1'), before)
})

test('OTP-77 integers are taken modulo, text is hashed evenly', () => {
  assert.equal(
    [0, 1, 5, -5].map((key) => partitionOf(key, 4)),
    [0, 1, 1, 1],
  )
  const hits = [0, 0, 0, 0]
  for (let i = 0; i < 4_000; i++) {
    const partition = partitionOf(`key ${i}`, 4)
    hits[partition] = (hits[partition] ?? 0) + 1
  }
  assert.ok(
    hits.every((count) => count > 800),
    String(hits),
  )
  assert.throws(() => partitionOf('x', 0), /partitions: expected an integer above 0/)
})

test('OTP-103 a topic registry holds many under a key, and one several times', async (t) => {
  const [a, b] = await startCounters(t, 1, 2)
  if (a === undefined || b === undefined) throw new Error('two were started')
  const topics = new TopicRegistry<string>()
  topics.register('news', a, 'first')
  const undo = topics.register('news', a, 'second')
  topics.register('news', b, 'other')
  assert.equal(topics.values('news', a), ['first', 'second'])
  assert.is(topics.count('news'), 3)
  undo()
  assert.equal(
    topics.lookup('news').map(({ value }) => value),
    ['first', 'other'],
  )
  assert.equal(topics.keys(a), ['news'])
})

test('OTP-104 entries vanish with their process', async (t) => {
  const [a, b] = await startCounters(t, 1, 2)
  if (a === undefined || b === undefined) throw new Error('two were started')
  const topics = new TopicRegistry()
  topics.register('news', a)
  topics.register('news', b)
  a.kill()
  assert.equal(
    topics.lookup('news').map(({ ref }) => ref),
    [b],
  )
  assert.is(topics.count(), 1)
  assert.throws(
    () => topics.register('news', a),
    (error: RuntimeError) => error.code === 'NOPROC',
  )
})

test('OTP-105 match, unregister by value and meta', async (t) => {
  const [a] = await startCounters(t, 1)
  if (a === undefined) throw new Error('one was started')
  const topics = new TopicRegistry<number>()
  for (const value of [1, 2, 3]) topics.register('n', a, value)
  assert.equal(
    topics.match('n', (value) => value > 1).map(({ value }) => value),
    [2, 3],
  )
  topics.unregister('n', a, (value) => value === 2)
  assert.equal(topics.values('n', a), [1, 3])
  topics.putMeta('owner', 'ops')
  assert.is(topics.getMeta('owner'), 'ops')
})

test('OTP-109 topics are not found by the registry of names', async (t) => {
  const [a] = await startCounters(t, 1)
  if (a === undefined) throw new Error('one was started')
  const registry = new Registry()
  const topics = new TopicRegistry()
  topics.register('news', a)
  assert.equal(registry.state('news'), { state: 'unknown' })
  for (const way of ['named', 'send', 'cast', 'call', 'whereis']) assert.not(way in topics, way)
})

test('OTP-106 dispatch gives all members at once and skips an empty topic', async (t) => {
  const [a, b] = await startCounters(t, 1, 2)
  if (a === undefined || b === undefined) throw new Error('two were started')
  const topics = new TopicRegistry()
  topics.register('news', a)
  topics.register('news', b)
  const sizes: number[] = []
  topics.dispatch('news', (entries) => sizes.push(entries.length))
  topics.dispatch('nothing', (entries) => sizes.push(entries.length))
  assert.equal(sizes, [2])
})

test('OTP-107 listeners hear of registrations and of deaths', async (t) => {
  const [a] = await startCounters(t, 1)
  if (a === undefined) throw new Error('one was started')
  const topics = new TopicRegistry()
  const heard: RegistryEvent<undefined>['type'][] = []
  const undo = topics.onChange(({ type }) => heard.push(type))
  topics.register('news', a)
  a.kill()
  undo()
  assert.equal(heard, ['register', 'unregister'])
})

test('OTP-108 a lock admits one at a time and is released on throw and death', async (t) => {
  const [a, b] = await startCounters(t, 1, 2)
  if (a === undefined || b === undefined) throw new Error('two were started')
  const topics = new TopicRegistry()
  const steps: string[] = []
  const failed = topics.lock('l', a, async () => {
    steps.push('first in')
    await null
    steps.push('first out')
    throw new Error('first failed')
  })
  const held = topics.lock('l', b, () => {
    steps.push('second in')
    return new Promise<never>(() => {})
  })
  const third = topics.lock('l', a, () => 'third')
  assert.is(await failed.catch((error) => error.message), 'first failed')
  await new Promise((resolve) => setImmediate(resolve))
  assert.equal(steps, ['first in', 'first out', 'second in'])
  b.kill()
  assert.is(await third, 'third')
  held.catch(() => {})
  assert.is((await topics.lock('l', b, () => 1).catch((error) => error)).code, 'NOPROC')
})

test('OTP-77 a partition supervisor has four children unless told otherwise', async (t) => {
  const registry = new Registry()
  const spec = partitionSupervisorSpec({ name: 'four', child: (i, name) => childSpec(counter, i, { name }) })
  const tree = await startSupervisor({ strategy: 'one_for_one', registry, logger: false, children: [spec] })
  t.after(() => tree.stop())
  assert.ok(registry.whereis('four/3'))
  assert.is(registry.whereis('four/4'), undefined)
})

test.run()
