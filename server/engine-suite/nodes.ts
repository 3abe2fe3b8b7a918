import { deepEqual, equal, ok } from 'node:assert/strict'
import {
  claim,
  claimed,
  type DefineTrial,
  eventually,
  facts,
  long,
  members,
  noteOf,
  open,
  saved,
  soon,
  two,
} from './trial.js'

/** What nodes know of each other. */
export function nodeTests(test: DefineTrial): void {
  test('a beat returns the present nodes and their facts', async (t) => {
    const [a, b] = await two(t)
    const one = facts({ isRetiring: true, sessions: 7, incarnation: 3, marks: ['mark'] })
    const other = facts({ isSettled: true, joinedAt: 1, defers: true, sessions: 2 })
    await a.beat('a', long, one)
    const { nodes, news } = await b.beat('b', long, other)
    const sorted = [...nodes].sort((first, second) => (first.name < second.name ? -1 : 1))
    deepEqual(sorted, [
      { ...one, name: 'a' },
      { ...other, name: 'b' },
    ])
    equal(news, 0)
  })

  test('the run id is the same for all nodes, and stays', async (t) => {
    const [a, b] = await two(t)
    const { run } = await a.beat('a', long, facts())
    equal((await b.beat('b', long, facts())).run, run)
    equal((await a.beat('a', long, facts())).run, run)
  })

  test('a node beyond its lease is absent until its next beat', async (t) => {
    const [a, b] = await two(t)
    await b.beat('b', soon, facts())
    await eventually(async () => !(await members(a, 'a')).includes('b'))
    equal(await a.send('b', 'a', ['text'], 10), 'gone')
    deepEqual(await members(b, 'b'), ['a', 'b'])
    equal(await a.send('b', 'a', ['text'], 10), 'taken')
  })

  test(
    'a node without a listener has a lease of one second',
    async (t) => {
      const a = (await open(t, 'a')).engine
      const b = await open(t, 'b')
      deepEqual(await members(b.engine, 'b'), ['b'])
      await b.close()
      await eventually(async () => !(await members(a, 'a')).includes('b'))
    },
    'listeners',
  )

  test('a leaving node is absent, its sessions are free, and its inbox stays', async (t) => {
    const [a, b] = await two(t)
    const epoch = await claimed(a, claim('a', 's'))
    await a.save('a', 's', epoch, saved('s', 'text', 1))
    await b.send('a', 'b', ['one'], 10)
    await a.leave('a')
    deepEqual(await members(b, 'b'), ['b'])
    equal(await b.send('a', 'b', ['two'], 10), 'gone')
    equal(await a.save('a', 's', epoch, saved('s', 'late', 2)), false)
    ok((await claimed(b, claim('b', 's', { mayTakeOver: false }))) > epoch)
    equal(await noteOf(b, 's'), 'text')
    deepEqual(await b.takeBack('a', 'b'), ['one'])
  })
}
