import { deepEqual, equal, ok } from 'node:assert/strict'
import type { Bell, Engine } from '../engine/engine.js'
import {
  claim,
  claimed,
  type DefineTrial,
  eventually,
  facts,
  hand,
  limits,
  long,
  noteOf,
  open,
  refused,
  rings,
  saved,
  stream,
  two,
} from './trial.js'

/** How an engine is gone, and comes back. */
export function outageTests(test: DefineTrial): void {
  test('an engine closes with its opener', async (t) => {
    const { engine, close } = await open(t, 'a')
    equal(engine.isUp, true)
    await close()
    equal(engine.isUp, false)
    await refused(() => engine.load('s'))
  })

  test(
    'during an outage all is refused at once, and a new run follows',
    async (t) => {
      const [a] = await two(t)
      const health: boolean[] = []
      const undo = a.onHealth((isUp) => health.push(isUp))
      const { run } = await a.beat('a', long, facts())
      await claimed(a, claim('a', 's'))
      await hand(t, 'stop')
      await noticed(a)
      deepEqual(health, [false])
      for (const ask of everything(a)) await refused(ask)
      await hand(t, 'start')
      await eventually(() => health.length === 2)
      equal(a.isUp, true)
      ok((await a.beat('a', long, facts())).run !== run)
      deepEqual(health, [false, true])
      undo()
      await hand(t, 'stop')
      await noticed(a)
      equal(health.length, 2)
    },
    'outage',
  )

  test(
    'an unreachable engine fails to open',
    async (t) => {
      await hand(t, 'stop')
      await refused(() => open(t, 'a'), 8_000)
    },
    'outage',
  )

  test(
    'a silent engine delays a second, then not at all',
    async (t) => {
      const [a] = await two(t)
      await hand(t, 'freeze')
      t.undo.push(() => hand(t, 'thaw'))
      await Promise.all(everything(a).map((ask) => refused(ask, 1_500)))
      await eventually(() => !a.isUp)
      await refused(() => a.load('s'))
      await hand(t, 'thaw')
      await eventually(() => a.isUp)
      await a.beat('a', long, facts())
    },
    'silence',
  )

  test(
    'a wiped engine has a new run and accepts restored state',
    async (t) => {
      const [a, b] = await two(t)
      const { run } = await a.beat('a', long, facts())
      const epoch = await claimed(a, claim('a', 's'))
      await a.save('a', 's', epoch, saved('s', 'text', 1))
      await a.send('b', 'a', ['text'], 10)
      await hand(t, 'wipe')
      const members = await a.beat('a', long, facts())
      ok(members.run !== run)
      deepEqual(
        members.nodes.map(({ name }) => name),
        ['a'],
      )
      equal((await b.beat('b', long, facts())).run, members.run)
      equal(await noteOf(b, 's'), undefined)
      deepEqual(await b.take('b', 10), [])
      equal(await a.save('a', 's', epoch, saved('s', 'more', 2)), false)
      equal(await a.reclaim(claim('a', 's'), { epoch, mayRestore: true, saved: saved('s', 'text', 1) }), true)
      equal(await a.save('a', 's', epoch, saved('s', 'more', 2)), true)
      equal(await noteOf(b, 's'), 'more')
      const bells: Bell[] = []
      b.onBell((bell) => bells.push(bell))
      await rings(() => a.send('b', 'a', ['text'], 1_000), bells, 'inbox')
    },
    'loss',
  )
}

/** That it is away shows when it is asked at the latest. */
async function noticed(engine: Engine): Promise<void> {
  await eventually(async () => {
    await engine.load('s').catch(() => {})
    return !engine.isUp
  })
}

/** Each method, once. */
function everything(engine: Engine): (() => Promise<unknown>)[] {
  return [
    () => engine.beat('a', long, facts()),
    () => engine.claim(claim('a', 's')),
    () => engine.reclaim(claim('a', 's'), { epoch: 1, mayRestore: true, saved: undefined }),
    () => engine.release('a', 's', 1),
    () => engine.load('s'),
    () => engine.ownerOf('s'),
    () => engine.orphans(10),
    () => engine.versions(['s']),
    () => engine.listed('list', undefined, 10),
    () => engine.save('a', 's', 1, saved('s', 'text', 1)),
    () => engine.delete('a', 's', 1),
    () => engine.touch(['s'], 1),
    () => engine.send('b', 'a', ['text'], 10),
    () => engine.take('a', 10),
    () => engine.takeBack('b', 'a'),
    () => engine.publish('text'),
    () => engine.news(0),
    () => engine.agree('secret', 1),
    () => engine.value('key'),
    () => engine.setValue('key', undefined, 'text', 1),
    () => engine.placeLog('log', 'a', 1),
    () => engine.placeOfLog('log'),
    () => engine.append(stream, [{ number: 1, text: '' }], limits),
    () => engine.closeStream(stream),
    () => engine.dropStream(stream),
    () => engine.leave('a'),
  ]
}
