// second tier: time
import { equal, is } from 'uvu/assert'
import { type EngineBench, engineSuite } from 'caduceus/testing'
import { type FakeEngine, fakeEngine, goodEngine } from '../../../scripts/sim/store/engine.js'
import { heard } from '../../support/heard.js'
import { suite } from '../../support/suite.js'
import { eventually } from './_eventually.js'
import { openEngine } from './_open-engine.js'

const test = suite('fake engine', { timeout: 20_000 })
const long = 60_000
const facts = { isRetiring: false, isSettled: false, sessions: 0, incarnation: 1, marks: [] }
const limits = {
  lease: 2_500,
  client: undefined,
  ttl: long,
  maxSessions: 10,
  maxPerClient: 10,
  mayTakeOver: true,
}

engineSuite(
  (name, fn) => test(name, fn),
  () => benchOf(fakeEngine()),
)

test(
  'a cut rejects pending requests, which may still run later',
  async (t) => {
    const shared = fakeEngine()
    const { engine } = await openEngine(t, shared.at('m'), 'a')
    const other = (await openEngine(t, shared.at('n'), 'b')).engine
    const outcomes = new Set<boolean>()
    for (let round = 0; outcomes.size < 2 && round < 20; round += 1) {
      const { last } = await other.news(0)
      shared.cut('m', ['commands'])
      is(await codeOf(engine.publish('text')), 'CLUSTER_UNAVAILABLE')
      is(engine.isUp, false)
      is((await other.news(0)).last, last)
      shared.heal('m')
      outcomes.add((await other.news(0)).last > last)
      await eventually(() => engine.isUp)
    }
    equal([...outcomes].sort(), [false, true])
  },
  { timeout: 40_000 },
)

test('the fake engine may lose the answer of a command it ran', async (t) => {
  const shared = fakeEngine()
  const { engine } = await openEngine(t, shared.at('m'), 'a')
  shared.quality = { ...goodEngine, loses: 1 }
  is(await codeOf(engine.publish('text')), 'CLUSTER_UNAVAILABLE')
  shared.quality = goodEngine
  await eventually(() => engine.isUp)
  is((await engine.news(0)).last, 1)
  shared.cut('m', ['answers'])
  is(await codeOf(engine.publish('text')), 'CLUSTER_UNAVAILABLE')
  shared.heal('m')
  await eventually(() => engine.isUp)
  is((await engine.news(0)).last, 2)
})

test('bells may be lost or in vain; without any the connection is dropped', async (t) => {
  const shared = fakeEngine()
  const { engine } = await openEngine(t, shared.at('m'), 'a')
  const bells = heard<string>()
  engine.onBell(bells.add)
  await engine.beat('a', long, facts)
  shared.quality = { ...goodEngine, losesBells: 1 }
  await engine.publish('text')
  await engine.beat('a', long, facts)
  shared.quality = { ...goodEngine, ringsInVain: 1 }
  await engine.beat('a', long, facts)
  await bells.next()
  shared.quality = goodEngine
  shared.cut('m', ['bells'])
  await eventually(() => !engine.isUp)
  const other = (await openEngine(t, shared.at('n'), 'b')).engine
  await eventually(async () => (await other.beat('b', long, facts)).nodes.length === 1)
  is(engine.isUp, false)
  shared.heal('m')
  await eventually(() => engine.isUp)
})

test('a frozen engine carries out its requests after the thaw, though nobody waits', async (t) => {
  const shared = fakeEngine()
  const { engine } = await openEngine(t, shared.at('m'), 'a')
  shared.freeze()
  is(await codeOf(engine.publish('text')), 'CLUSTER_UNAVAILABLE')
  shared.thaw()
  await eventually(() => engine.isUp)
  is((await engine.news(0)).last, 1)
})

test('a failover loses unreplicated writes, and a restart loses nothing', async (t) => {
  const shared = fakeEngine()
  const { engine } = await openEngine(t, shared.at('m'), 'a')
  const { run } = await engine.beat('a', long, facts)
  const answer = await engine.claim({ node: 'a', session: 's', ...limits })
  const epoch = answer.type === 'claimed' ? answer.epoch : 0
  await engine.save('a', 's', epoch, { text: 'one', version: 1, ttl: long })
  shared.fallBehind()
  await engine.save('a', 's', epoch, { text: 'two', version: 2, ttl: long })
  shared.failOver()
  await eventually(async () => (await codeOf(engine.load('s'))) === undefined)
  is(await engine.load('s'), 'one')
  const since = (await engine.beat('a', long, facts)).run
  is(since === run, false)
  shared.stop()
  shared.start()
  await eventually(async () => (await codeOf(engine.load('s'))) === undefined)
  is(await engine.load('s'), 'one')
  is((await engine.beat('a', long, facts)).run === since, false)
})

test('an ended program has no listener', async (t) => {
  const shared = fakeEngine()
  await openEngine(t, shared.at('m'), 'a')
  is(shared.isHeard('a'), true)
  shared.hangUp('m')
  is(shared.isHeard('a'), false)
})

test.run()

async function codeOf(asked: Promise<unknown>): Promise<unknown> {
  try {
    await asked
  } catch (error) {
    return (error as { readonly code?: unknown }).code
  }
  return undefined
}

function benchOf(engine: FakeEngine): EngineBench {
  let places = 0
  return {
    at: () => {
      places += 1
      return engine.at(`machine ${places}`)
    },
    stop: () => engine.stop(),
    start: () => engine.start({ wiped: true }),
    freeze: () => engine.freeze(),
    thaw: () => engine.thaw(),
    wipe: () => engine.wipe(),
  }
}
