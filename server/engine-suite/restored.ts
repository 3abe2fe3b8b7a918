import { deepEqual, equal } from 'node:assert/strict'
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

/** Claims after the engine, or a node, was away. */
export function restoringTests(test: DefineTrial): void {
  test('a claim holds until another one follows', async (t) => {
    const [a, b] = await two(t)
    const first = await claimed(a, claim('a', 's'))
    const epoch = await claimed(a, claim('a', 's'))
    for (const mayRestore of [false, true]) {
      equal(await a.reclaim(claim('a', 's'), { epoch, mayRestore, saved: undefined }), true)
      equal(await a.reclaim(claim('a', 's'), { epoch: first, mayRestore, saved: undefined }), false)
    }
    await a.save('a', 's', epoch, saved('s', 'text', 1))
    await a.leave('a')
    const other = await claimed(b, claim('b', 's'))
    for (const mayRestore of [false, true])
      equal(await a.reclaim(claim('a', 's'), { epoch, mayRestore, saved: saved('s', 'mine', 9) }), false)
    equal(await b.reclaim(claim('b', 's'), { epoch: other, mayRestore: false, saved: undefined }), true)
    equal(await noteOf(b, 's'), 'text')
  })

  test('a valid claim can be reclaimed after the lease, unless the session was taken', async (t) => {
    const [a, b] = await two(t)
    const kept = await claimed(a, claim('a', 'kept'))
    const taken = await claimed(a, claim('a', 'taken'))
    await a.beat('a', soon, facts())
    await eventually(async () => !(await members(b, 'b')).includes('a'))
    await claimed(b, claim('b', 'taken'))
    await a.beat('a', long, facts())
    const held = { mayRestore: false, saved: undefined }
    equal(await a.reclaim(claim('a', 'kept'), { epoch: kept, ...held }), true)
    equal(await a.reclaim(claim('a', 'taken'), { epoch: taken, ...held }), false)
    deepEqual(await b.claim(claim('b', 'kept')), { type: 'owned', node: 'a' })
  })

  test(
    'a lost session is not reclaimed, unless it may be restored',
    async (t) => {
      const [a, b] = await two(t)
      const held = { epoch: 7, saved: saved('s', 'text', 3) }
      equal(await a.reclaim(claim('a', 's'), { ...held, mayRestore: false }), false)
      equal(await noteOf(a, 's'), undefined)
      equal(await a.reclaim(claim('a', 's'), { ...held, mayRestore: true }), true)
      equal(await noteOf(b, 's'), 'text')
      deepEqual(await b.claim(claim('b', 's')), { type: 'owned', node: 'a' })
      equal(await a.save('a', 's', 7, saved('s', 'more', 4)), true)
      equal(await a.reclaim(claim('a', 'empty'), { epoch: 8, mayRestore: true, saved: undefined }), true)
      equal(await noteOf(b, 'empty'), undefined)
      deepEqual(await b.claim(claim('b', 'empty')), { type: 'owned', node: 'a' })
    },
    'loss',
  )

  test(
    'a restored session counts',
    async (t) => {
      const [a, b] = await two(t)
      const few = { maxSessions: 2, client: 'c', maxPerClient: 1 }
      equal(await a.reclaim(claim('a', 's', few), { epoch: 7, mayRestore: true, saved: undefined }), true)
      deepEqual(await b.claim(claim('b', 'other', few)), { type: 'full', of: 'client' })
      await claimed(b, claim('b', 's2', { maxSessions: 2 }))
      deepEqual(await b.claim(claim('b', 's3', { maxSessions: 2 })), { type: 'full', of: 'sessions' })
      equal(await a.delete('a', 's', 7), true)
      await claimed(b, claim('b', 'other', few))
    },
    'loss',
  )

  test(
    'of restored claims the one with the highest epoch holds',
    async (t) => {
      const [a, b] = await two(t)
      const held = (epoch: number, text: string, version: number) => ({
        epoch,
        mayRestore: true,
        saved: saved('s', text, version),
      })
      equal(await a.reclaim(claim('a', 's'), held(7, 'a', 3)), true)
      equal(await b.reclaim(claim('b', 's'), held(5, 'b', 2)), false)
      equal(await b.reclaim(claim('b', 's'), held(7, 'b', 9)), false)
      equal(await noteOf(b, 's'), 'a')
      equal(await b.reclaim(claim('b', 's'), held(9, 'b', 4)), true)
      equal(await noteOf(a, 's'), 'b')
      equal(await a.save('a', 's', 7, saved('s', 'late', 5)), false)
      deepEqual(await a.claim(claim('a', 's')), { type: 'owned', node: 'b' })
    },
    'loss',
  )

  test(
    'a record is restored unless a higher version is stored',
    async (t) => {
      const [a, b] = await two(t)
      const epoch = await claimed(a, claim('a', 's'))
      await a.save('a', 's', epoch, saved('s', 'three', 3))
      const held = (version: number) => ({
        epoch,
        mayRestore: true,
        saved: saved('s', `back ${version}`, version),
      })
      equal(await a.reclaim(claim('a', 's'), held(2)), true)
      equal(await noteOf(b, 's'), 'three')
      equal(await a.reclaim(claim('a', 's'), held(4)), true)
      equal(await noteOf(b, 's'), 'back 4')
      await a.release('a', 's', epoch)
      equal(await b.reclaim(claim('b', 's'), { ...held(2), epoch: epoch + 5 }), true)
      equal(await noteOf(b, 's'), 'back 4')
    },
    'loss',
  )
}
