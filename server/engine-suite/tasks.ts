import { deepEqual, equal, ok } from 'node:assert/strict'
import { type Listed, taskMark } from '../engine/engine.js'
import {
  claim,
  claimed,
  type DefineTrial,
  eventually,
  facts,
  long,
  members,
  noteOf,
  saved,
  soon,
  two,
} from './trial.js'

/** Tasks, and lists of what was saved. */
export function taskTests(test: DefineTrial): void {
  test('tasks are claimed, saved and deleted like sessions, and do not count', async (t) => {
    const [a, b] = await two(t)
    const few = { maxSessions: 1 }
    const task = `${taskMark}x`
    const epoch = await claimed(a, claim('a', task))
    equal(await b.ownerOf(task), 'a')
    equal(await b.ownerOf('x'), undefined)
    deepEqual(await b.claim(claim('b', task)), { type: 'owned', node: 'a' })
    await claimed(a, claim('a', 's', few))
    deepEqual(await b.claim(claim('b', 'other', few)), { type: 'full', of: 'sessions' })
    equal(await a.save('a', task, epoch, saved(task, 'text', 1)), true)
    deepEqual(await b.versions([task, 'unknown', 's']), [1, undefined, undefined])
    equal(await b.save('b', task, epoch, saved(task, 'late', 2)), false)
    equal(await a.delete('a', task, epoch), true)
    equal(await b.ownerOf(task), undefined)
    deepEqual(await b.versions([task]), [undefined])
    deepEqual(await a.versions([]), [])
  })

  test('tasks of a node beyond its lease wait until another node claims them', async (t) => {
    const [a, b] = await two(t)
    const tasks = ['1', '2', '3'].map((id) => taskMark + id)
    const epochs: number[] = []
    for (const task of tasks) {
      const epoch = await claimed(a, claim('a', task))
      await a.save('a', task, epoch, saved(task, 'text', 1))
      epochs.push(epoch)
    }
    await claimed(a, claim('a', 's'))
    await a.release('a', tasks[2] as string, epochs[2] as number)
    deepEqual(await b.orphans(10), [])
    await a.beat('a', soon, facts())
    await eventually(async () => !(await members(b, 'b')).includes('a'))
    deepEqual([...(await b.orphans(10))].sort(), tasks.slice(0, 2))
    equal((await b.orphans(1)).length, 1)
    const [first] = tasks as [string]
    await claimed(b, claim('b', first))
    deepEqual(await b.orphans(10), tasks.slice(1, 2))
    equal(await a.save('a', first, epochs[0] as number, saved(first, 'fenced', 2)), false)
    await a.beat('a', long, facts())
    deepEqual(await b.orphans(10), [])
  })

  test('tasks of a node that left wait until another node claims them', async (t) => {
    const [a, b] = await two(t)
    const [task, ended, empty] = ['1', '2', '3'].map((id) => taskMark + id) as [string, string, string]
    await a.save('a', task, await claimed(a, claim('a', task)), saved(task, 'text', 1))
    const epoch = await claimed(a, claim('a', ended))
    await a.save('a', ended, epoch, saved(ended, 'end', 1))
    await a.release('a', ended, epoch)
    await claimed(a, claim('a', empty))
    await a.leave('a')
    deepEqual(await b.orphans(10), [task])
    equal(await noteOf(b, ended), 'end')
    const again = await claimed(b, claim('b', task))
    deepEqual(await b.orphans(10), [])
    equal(await noteOf(b, task), 'text')
    await b.release('b', task, again)
    deepEqual(await b.orphans(10), [], 'it has ended')
  })

  test('records saved in a list are found there by page until they expire', async (t) => {
    const [a, b] = await two(t)
    for (let at = 0; at < 5; at += 1) {
      const task = `${taskMark}${at}`
      const epoch = await claimed(a, claim('a', task))
      await a.save('a', task, epoch, { ...saved(task, 'text', 1), ttl: long + at * 1_000, list: 'mine' })
      await a.save('a', task, epoch, { ...saved(task, 'more', 2), ttl: long * 2, list: 'mine' })
    }
    const names: string[] = []
    let after: Listed | undefined
    for (;;) {
      const page = await b.listed('mine', after, 2)
      ok(page.length <= 2)
      if (page.length === 0) break
      names.push(...page.map(({ session }) => session))
      after = page.at(-1)
    }
    deepEqual(
      names,
      [0, 1, 2, 3, 4].map((at) => `${taskMark}${at}`),
    )
    deepEqual(await b.listed('other', undefined, 10), [])
    const brief = `${taskMark}brief`
    const epoch = await claimed(a, claim('a', brief, { ttl: soon }))
    await a.save('a', brief, epoch, { ...saved(brief, 'text', 1), ttl: soon, list: 'brief' })
    await eventually(async () => (await b.listed('brief', undefined, 10)).length === 0)
  })
}
