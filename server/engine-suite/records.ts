import { deepEqual, equal, ok } from 'node:assert/strict'
import {
  claim,
  claimed,
  type DefineTrial,
  eventually,
  limits,
  long,
  noteOf,
  saved,
  soon,
  stream,
  two,
} from './trial.js'

/** What is kept of a session, and for how long. */
export function recordTests(test: DefineTrial): void {
  // how long

  test('a session without a record is forgotten in time, with its place', async (t) => {
    const [a, b] = await two(t)
    const few = { maxSessions: 1, client: 'c', maxPerClient: 1 }
    await claimed(a, claim('a', 's', { ...few, ttl: soon }))
    await eventually(async () => (await b.claim(claim('b', 'other', few))).type === 'claimed')
  })

  test(
    'a record expires exactly after its time to live',
    async (t) => {
      const [a, b] = await two(t)
      const epoch = await claimed(a, claim('a', 's', { ttl: soon }))
      equal(await a.save('a', 's', epoch, { ...saved('s', 'text', 1), ttl: long }), true)
      const other = await claimed(a, claim('a', 'other'))
      equal(await a.save('a', 'other', other, { ...saved('other', 'text', 1), ttl: soon }), true)
      await eventually(async () => (await noteOf(b, 'other')) === undefined)
      equal(await noteOf(b, 's'), 'text')
      deepEqual(await b.claim(claim('b', 's')), { type: 'owned', node: 'a' })
      equal(await a.save('a', 'other', other, saved('other', 'late', 2)), false, 'it has ended')
      equal(await a.save('a', 's', epoch, saved('s', 'more', 2)), true)
    },
    'expiry',
  )

  test(
    'touched sessions do not expire',
    async (t) => {
      const [a, b] = await two(t)
      for (const id of ['s1', 's2', 's3']) {
        const epoch = await claimed(a, claim('a', id))
        await a.save('a', id, epoch, { ...saved(id, id, 1), ttl: 1_500 })
      }
      await a.touch(['s1', 's2', 'unknown'], long)
      await eventually(async () => (await noteOf(b, 's3')) === undefined)
      equal(await noteOf(b, 's1'), 's1')
      deepEqual(await b.claim(claim('b', 's2')), { type: 'owned', node: 'a' })
      equal(await noteOf(b, 'unknown'), undefined)
    },
    'expiry',
  )

  // records

  test('a record is read back as it was saved', async (t) => {
    const [a, b] = await two(t)
    equal(await noteOf(b, 's'), undefined)
    const epoch = await claimed(a, claim('a', 's'))
    equal(await noteOf(b, 's'), undefined)
    for (const [version, text] of ['', 'é\u2028"\n\0 🂡', 'x'.repeat(300_000)].entries()) {
      equal(await a.save('a', 's', epoch, saved('s', text, version + 1)), true)
      ok((await noteOf(b, 's')) === text)
    }
  })

  test('a delayed save does not restore a deleted session', async (t) => {
    const [a, b] = await two(t)
    const epoch = await claimed(a, claim('a', 's'))
    equal(await a.save('a', 's', epoch, saved('s', 'two', 2)), true)
    equal(await a.save('a', 's', epoch, saved('s', 'one', 1)), true)
    equal(await noteOf(b, 's'), 'two')
  })

  test('a node cannot save a session that another node owns, or claimed anew', async (t) => {
    const [a, b] = await two(t)
    equal(await a.save('a', 's', 1, saved('s', 'none', 1)), false)
    equal(await noteOf(a, 's'), undefined)
    const first = await claimed(a, claim('a', 's'))
    const second = await claimed(a, claim('a', 's'))
    equal(await a.save('a', 's', first, saved('s', 'old', 1)), false)
    equal(await b.save('b', 's', second, saved('s', 'other', 1)), false)
    equal(await noteOf(a, 's'), undefined)
    equal(await a.save('a', 's', second, saved('s', 'text', 1)), true)
    await a.leave('a')
    const third = await claimed(b, claim('b', 's'))
    equal(await a.save('a', 's', second, saved('s', 'fenced', 2)), false)
    equal(await a.save('a', 's', third, saved('s', 'fenced', 2)), false)
    equal(await noteOf(b, 's'), 'text')
  })

  test('only the owner can delete a session, with its streams and its place', async (t) => {
    const [a, b] = await two(t)
    const few = { maxSessions: 1, client: 'c', maxPerClient: 1 }
    const first = await claimed(a, claim('a', 's', few))
    const second = await claimed(a, claim('a', 's', few))
    await a.save('a', 's', second, saved('s', 'text', 1))
    await a.append(stream, [{ number: 1, text: 'one' }], limits)
    await a.append({ session: 's', stream: 'y' }, [{ number: 1, text: 'one' }], limits)
    equal(await b.delete('b', 's', second), false)
    equal(await a.delete('a', 's', first), false)
    equal(await noteOf(a, 's'), 'text')
    equal(await a.delete('a', 's', second), true)
    equal(await noteOf(b, 's'), undefined)
    equal(await a.delete('a', 's', second), false)
    equal(await a.save('a', 's', second, saved('s', 'late', 2)), false)
    deepEqual(await b.closeStream(stream), [])
    deepEqual(await b.closeStream({ session: 's', stream: 'y' }), [])
    await claimed(b, claim('b', 'other', few))
  })
}
