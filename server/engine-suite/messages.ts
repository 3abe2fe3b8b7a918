import { deepEqual, equal, ok } from 'node:assert/strict'
import type { Bell, Engine } from '../engine/engine.js'
import { begin, type DefineTrial, eventually, facts, long, members, rings, soon, two } from './trial.js'

/** What nodes say to each other. */
export function messageTests(test: DefineTrial): void {
  // what nodes say to each other

  test('messages are taken in order, once, up to the wanted number', async (t) => {
    const [a, b, c] = (await begin(t, 3)) as [Engine, Engine, Engine]
    deepEqual(await b.take('b', 10), [])
    equal(await a.send('b', 'a', ['1', '2'], 10), 'taken')
    equal(await c.send('b', 'c', ['3'], 10), 'taken')
    equal(await a.send('b', 'a', ['4', ''], 10), 'taken')
    deepEqual(await b.take('b', 3), ['1', '2', '3'])
    deepEqual(await b.take('b', 10), ['4', ''])
    deepEqual(await b.take('b', 10), [])
    deepEqual(await a.take('a', 10), [])
  })

  test('concurrent takes share the waiting messages', async (t) => {
    const [a, b] = await two(t)
    const texts = Array.from({ length: 40 }, (_, at) => String(at))
    const sent = Promise.all(texts.map((text) => a.send('b', 'a', [text], 100)))
    const taken: string[] = []
    await eventually(async () => {
      const parts = await Promise.all([b.take('b', 3), b.take('b', 3), b.take('b', 3)])
      taken.push(...parts.flat())
      return taken.length >= 40
    })
    await sent
    deepEqual(taken, texts, 'commands of a connection are done in order')
    deepEqual(await b.take('b', 100), [])
  })

  test('messages without room are refused together', async (t) => {
    const [a, b] = await two(t)
    equal(await a.send('b', 'a', ['1', '2'], 3), 'taken')
    equal(await a.send('b', 'a', ['3', '4'], 3), 'full')
    equal(await a.send('b', 'a', ['3'], 3), 'taken')
    equal(await a.send('b', 'a', ['4'], 3), 'full')
    deepEqual(await b.take('b', 1), ['1'])
    equal(await a.send('b', 'a', ['4'], 3), 'taken')
    deepEqual(await b.take('b', 10), ['2', '3', '4'])
  })

  test('nothing is sent to an absent node', async (t) => {
    const [a] = await two(t)
    equal(await a.send('nobody', 'a', ['text'], 10), 'gone')
    deepEqual(await a.takeBack('nobody', 'a'), [])
  })

  test('a sender gets undelivered messages back', async (t) => {
    const [a, b, c] = (await begin(t, 3)) as [Engine, Engine, Engine]
    await a.send('b', 'a', ['1', '2'], 10)
    await c.send('b', 'c', ['3', '4'], 10)
    await a.send('b', 'a', ['5'], 10)
    deepEqual(await b.take('b', 1), ['1'])
    deepEqual(await a.takeBack('b', 'a'), ['2', '5'])
    deepEqual(await a.takeBack('b', 'a'), [])
    deepEqual(await b.take('b', 10), ['3', '4'])
    deepEqual(await c.takeBack('b', 'c'), [])
    await b.leave('b')
    deepEqual(await a.takeBack('b', 'a'), [])
  })

  test('messages sent before the end of a lease are returned', async (t) => {
    const [a, b] = await two(t)
    await b.beat('b', 300, facts())
    equal(await a.send('b', 'a', ['1', '2'], 10), 'taken')
    await eventually(async () => !(await members(a, 'a')).includes('b'))
    deepEqual(await a.takeBack('b', 'a'), ['1', '2'])
  })

  test('a bell rings for a node that gets a message', async (t) => {
    const [a, b] = await two(t)
    const bells: Bell[] = []
    const undo = b.onBell((bell) => bells.push(bell))
    await rings(() => a.send('b', 'a', ['text'], 1_000), bells, 'inbox')
    undo()
    const count = bells.length
    await a.send('b', 'a', ['text'], 1_000)
    await b.beat('b', long, facts())
    equal(bells.length, count)
  })

  // news

  test('news is numbered and reaches all nodes, late ones too', async (t) => {
    const [a, b] = await two(t)
    deepEqual(await a.news(0), { texts: [], last: 0, isGap: false })
    equal(await a.publish('one'), 1)
    equal(await b.publish('two'), 2)
    equal(await a.publish('three'), 3)
    deepEqual(await b.news(0), { texts: ['one', 'two', 'three'], last: 3, isGap: false })
    deepEqual(await a.news(2), { texts: ['three'], last: 3, isGap: false })
    deepEqual(await a.news(3), { texts: [], last: 3, isGap: false })
    equal((await b.beat('b', long, facts())).news, 3)
  })

  test('news that expired leaves a gap', async (t) => {
    const [a, b] = await two(t)
    let last = 0
    const flood = async (): Promise<boolean> => {
      const numbers = await Promise.all(Array.from({ length: 50 }, (_, at) => a.publish(`${last + at + 1}`)))
      last = Math.max(...numbers)
      return (await b.news(0)).isGap
    }
    await eventually(flood)
    const { texts, last: told } = await b.news(0)
    equal(told, last)
    ok(texts.length >= 100 && texts.length < last)
    equal(texts.at(-1), String(last))
    const first = last - texts.length + 1
    equal(texts[0], String(first))
    deepEqual(await b.news(first - 1), { texts, last, isGap: false })
    equal((await b.news(first - 2)).isGap, true)
  })

  test('a bell rings for all nodes when there is news', async (t) => {
    const [a, b] = await two(t)
    const bells: Bell[] = []
    b.onBell((bell) => bells.push(bell))
    await rings(() => a.publish('news'), bells, 'news')
  })

  test('all nodes agree on the first proposal while one of them asks', async (t) => {
    const [a, b] = await two(t)
    equal(await a.agree('one', long), 'one')
    equal(await b.agree('two', long), 'one')
    equal(await b.agree('two', soon), 'one')
    await a.placeLog('log', 'a', soon + 1)
    await eventually(async () => (await a.placeOfLog('log')) === undefined)
    equal(await a.agree('three', long), 'three')
  })
}
