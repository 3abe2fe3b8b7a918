import { setTimeout as pause } from 'node:timers/promises'
import * as assert from 'uvu/assert'
import { definePeer, startActor, systemWorld } from 'caduceus/runtime'
import { Elsewhere, type Question } from '../../../runtime/watch/elsewhere.js'
import { TreeWatcher } from '../../../runtime/watch/tree-watcher.js'
import type { Row } from '../../../runtime/watch/row.js'
import { Timeline } from '../../../runtime/watch/timeline.js'
import { suite, type TestContext } from '../../support/suite.js'

const test = suite('trees elsewhere', { timeout: 30_000 })
const module = new URL('./_family.js', import.meta.url)

async function open(t: TestContext, kind: 'thread' | 'process', args: { deep?: boolean } = {}) {
  const leaveOut: ReadonlySet<number> = new Set()
  const timeline = new Timeline(systemWorld.date, leaveOut)
  t.after(() => timeline[Symbol.dispose]())
  const peer = await startActor(definePeer({ kind, module, args, name: 'far' }), undefined, {
    startTimeout: 30_000,
    logger: false,
  })
  t.after(() => peer.stop())
  const watcher = new TreeWatcher({
    world: systemWorld,
    timeline,
    leaveOut,
    most: 1_000,
    nodes: true,
  })
  const named = (id: string): Row | undefined => [...watcher.rows.values()].find((row) => row.id === id)
  // whoever looks does so again and again
  const seen = async (fits: () => boolean): Promise<void> => {
    for (watcher.look(); !fits(); watcher.look()) {
      if (t.signal.aborted) throw new Error(JSON.stringify([...watcher.rows.values()]))
      await pause(20)
    }
  }
  return { watcher, timeline, peer, named, seen }
}

for (const kind of ['thread', 'process'] as const) {
  test(`${kind}: actors of a peer appear below it, and their restarts are seen`, async (t) => {
    const { watcher, timeline, named, seen } = await open(t, kind)
    await seen(() => named('b') !== undefined)
    const [far, family, a] = [named('far'), named('family'), named('a')]
    assert.match(far?.about ?? '', new RegExp(`^${kind} \\d+, \\d+ MB, \\d+ % busy$`))
    assert.equal([family?.parent, a?.parent], [far?.key, family?.key])
    assert.is(family?.strategy, 'one_for_one')
    assert.not.equal(family?.tree, far?.tree)
    assert.ok(watcher.end(a?.key ?? 0, 'kill'))
    await seen(() => named('a')?.restarts === 1)
    assert.is(named('a')?.key, a?.key)
    const told = timeline.all.filter(({ tree }) => tree === family?.tree)
    assert.equal(
      told.map(({ what, name, process }) => [what, name, process === a?.process]),
      [
        ['end', 'a', true],
        ['restart', 'a', false],
      ],
    )
  })

  test(`${kind}: a past event is not repeated to later observers`, async (t) => {
    const { watcher, timeline, named, seen } = await open(t, kind)
    await seen(() => named('b') !== undefined)
    watcher.end(named('a')?.key ?? 0, 'restart')
    await seen(() => named('a')?.restarts === 1)
    const told = timeline.all.length
    assert.ok(told > 0)
    watcher.leave()
    assert.is(watcher.rows.size, 0)
    await seen(() => named('b') !== undefined)
    assert.is(named('a')?.restarts, 1)
    assert.is(timeline.all.length, told)
  })
}

test.slow('a peer of a peer is seen, too', async (t) => {
  const { named, seen } = await open(t, 'process', { deep: true })
  await seen(() => named('deep')?.about?.includes('busy') === true)
  await seen(() => named('counter') !== undefined)
  const [deep, top] = [named('deep'), named('counter')]
  assert.is(deep?.name, 'deep')
  assert.ok(deep?.tree !== top?.tree)
})

test('a silent peer is asked once, and its late answer is dropped', () => {
  const asked: Question['what'][] = []
  const there = new Elsewhere({ ask: ({ what }) => asked.push(what) > 0 })
  for (let now = 0; now < 10_000; now += 250) there.look(now)
  assert.equal(asked, ['look'])
  there.leave()
  const late = { id: 1, rows: [], gone: [], happened: [], memory: 1, busy: 0, took: 1 }
  there.take(late, 10_000)
  assert.is(there.health, undefined)
  there.look(10_000)
  assert.equal(asked, ['look', 'leave', 'look'])
  there.take(late, 10_000)
  assert.is(there.health, undefined)
  there.take({ ...late, id: 2 }, 10_000)
  assert.is(there.health, '0 MB, 0 % busy')
})

test('a slow peer is inspected less often', () => {
  let asked = 0
  const there = new Elsewhere({ ask: () => ++asked > 0 })
  there.look(0)
  there.take({ id: 1, rows: [], gone: [], happened: [], memory: 1, busy: 0, took: 100 }, 100)
  for (let now = 250; now < 1_100; now += 250) there.look(now)
  assert.is(asked, 1)
  there.look(1_100)
  assert.is(asked, 2)
})

test.run()
