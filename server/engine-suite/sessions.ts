import { deepEqual, equal, ok } from 'node:assert/strict'
import type { Engine } from '../engine/engine.js'
import {
  begin,
  claim,
  claimed,
  type DefineTrial,
  eventually,
  facts,
  hand,
  long,
  members,
  nameOf,
  noteOf,
  saved,
  soon,
  two,
} from './trial.js'

export function sessionTests(test: DefineTrial): void {
  // whose a session is

  test('a session has one owner, which others are told', async (t) => {
    const [a, b] = await two(t)
    const epoch = await claimed(a, claim('a', 's'))
    deepEqual(await b.claim(claim('b', 's')), { type: 'owned', node: 'a' })
    ok((await claimed(a, claim('a', 's'))) > epoch)
    deepEqual(await b.claim(claim('b', 's')), { type: 'owned', node: 'a' })
  })

  test('of nodes that claim a session at the same time one gets it', async (t) => {
    const nodes = await begin(t, 3)
    for (let round = 0; round < 10; round += 1) {
      const answers = await Promise.all(nodes.map((node, at) => node.claim(claim(nameOf(at), `s${round}`))))
      const owner = answers.findIndex(({ type }) => type === 'claimed')
      const others = answers.filter((_, at) => at !== owner)
      deepEqual(others, Array(2).fill({ type: 'owned', node: nameOf(owner) }))
    }
  })

  test('a session beyond the lease of its node passes only to a node that may take it', async (t) => {
    const [a, b] = await two(t)
    const epoch = await claimed(a, claim('a', 's'))
    await a.save('a', 's', epoch, saved('s', 'text', 1))
    await a.beat('a', soon, facts())
    await eventually(async () => !(await members(b, 'b')).includes('a'))
    deepEqual(await b.claim(claim('b', 's', { mayTakeOver: false })), { type: 'owned', node: 'a' })
    equal(
      await a.save('a', 's', epoch, saved('s', 'later', 2)),
      true,
      'it is the owner until somebody else is',
    )
    ok((await claimed(b, claim('b', 's'))) > epoch)
    equal(await noteOf(b, 's'), 'later')
    await a.beat('a', long, facts())
    deepEqual(await a.claim(claim('a', 's')), { type: 'owned', node: 'b' })
  })

  test('a node that claims after its lease is over has one again', async (t) => {
    const [a, b] = await two(t)
    await a.beat('a', soon, facts())
    await eventually(async () => !(await members(b, 'b')).includes('a'))
    await claimed(a, claim('a', 's', { lease: long }))
    deepEqual(await b.claim(claim('b', 's')), { type: 'owned', node: 'a' })
    equal(await b.send('a', 'b', ['text'], 10), 'taken')
  })

  test(
    'a node that claims is there, also where its lease was lost',
    async (t) => {
      const [a, b] = await two(t)
      await hand(t, 'wipe')
      const epoch = await claimed(a, claim('a', 's', { lease: long }))
      await a.save('a', 's', epoch, saved('s', 'text', 1))
      deepEqual(await b.claim(claim('b', 's')), { type: 'owned', node: 'a' })
      equal(await b.send('a', 'b', ['text'], 10), 'taken')
      deepEqual(await members(b, 'b'), ['b'], 'nobody knows what it says of itself')
      deepEqual(await members(a, 'a'), ['a', 'b'])
    },
    'loss',
  )

  test(
    'a node that claims and is not heard of again loses its sessions',
    async (t) => {
      const [a, b] = await two(t)
      await hand(t, 'wipe')
      await claimed(a, claim('a', 's', { lease: soon }))
      await eventually(async () => (await b.claim(claim('b', 's'))).type === 'claimed')
    },
    'loss',
  )

  test('epochs of a session only grow', async (t) => {
    const [a, b] = await two(t)
    const epochs = [await claimed(a, claim('a', 's'))]
    const next = async (node: Engine, name: string): Promise<number> => {
      const epoch = await claimed(node, claim(name, 's'))
      ok(epoch > (epochs.at(-1) ?? 0), `${epoch} after ${epochs}`)
      epochs.push(epoch)
      return epoch
    }
    await a.release('a', 's', await next(a, 'a'))
    const epoch = await next(b, 'b')
    await b.save('b', 's', epoch, saved('s', 'text', 1))
    await b.release('b', 's', epoch)
    equal(await a.delete('a', 's', await next(a, 'a')), true)
    await b.release('b', 's', await next(b, 'b'))
    await a.reclaim(claim('a', 's'), { epoch: 1_000_000_000_000_000, mayRestore: true, saved: undefined })
    epochs.push(1_000_000_000_000_000)
    await next(a, 'a')
    ok(Number.isSafeInteger(epochs.at(-1)))
  })

  test('only the owner can release a session, with this epoch or an older one', async (t) => {
    const [a, b] = await two(t)
    const first = await claimed(a, claim('a', 's'))
    const second = await claimed(a, claim('a', 's'))
    await a.release('a', 's', first)
    deepEqual(await b.claim(claim('b', 's')), { type: 'owned', node: 'a' }, 'it was claimed since')
    await b.release('b', 's', second)
    await b.release('b', 's', Number.MAX_SAFE_INTEGER)
    deepEqual(await b.claim(claim('b', 's')), { type: 'owned', node: 'a' })
    await a.release('a', 's', second)
    await claimed(b, claim('b', 's'))
    await b.release('b', 's', Number.MAX_SAFE_INTEGER)
    await claimed(a, claim('a', 's'))
  })

  test('a session without an owner keeps its record', async (t) => {
    const [a, b] = await two(t)
    const epoch = await claimed(a, claim('a', 's'))
    equal(await a.save('a', 's', epoch, saved('s', 'text', 1)), true)
    await a.release('a', 's', epoch)
    equal(await noteOf(b, 's'), 'text')
    equal(await a.save('a', 's', epoch, saved('s', 'late', 2)), false)
    await claimed(b, claim('b', 's'))
    equal(await noteOf(b, 's'), 'text')
  })

  // how many there are

  test('sessions of all nodes count together', async (t) => {
    const [a, b] = await two(t)
    const few = { maxSessions: 2 }
    const epoch = await claimed(a, claim('a', 's1', few))
    await claimed(b, claim('b', 's2', few))
    deepEqual(await a.claim(claim('a', 's3', few)), { type: 'full', of: 'sessions' })
    await claimed(b, claim('b', 's2', few))
    deepEqual(await b.claim(claim('b', 's1', few)), { type: 'owned', node: 'a' }, 'it is there already')
    await a.release('a', 's1', epoch)
    await claimed(b, claim('b', 's3', few))
    deepEqual(await a.claim(claim('a', 's1', few)), { type: 'full', of: 'sessions' })
  })

  test('a session that is taken over counts once', async (t) => {
    const [a, b] = await two(t)
    const few = { maxSessions: 1, client: 'c', maxPerClient: 1 }
    await claimed(a, claim('a', 's', few))
    await a.beat('a', soon, facts())
    await eventually(async () => !(await members(b, 'b')).includes('a'))
    deepEqual(await b.claim(claim('b', 'other', few)), { type: 'full', of: 'sessions' })
    const epoch = await claimed(b, claim('b', 's', few))
    deepEqual(await b.claim(claim('b', 'other', few)), { type: 'full', of: 'sessions' })
    equal(await b.delete('b', 's', epoch), true)
    await claimed(b, claim('b', 'other', few))
  })

  test('at the session limit a node still learns who owns a session', async (t) => {
    const [a, b] = await two(t)
    const none = { maxSessions: 0 }
    const epoch = await claimed(a, claim('a', 's'))
    deepEqual(await b.claim(claim('b', 's', none)), { type: 'owned', node: 'a' })
    deepEqual(await b.claim(claim('b', 'other', none)), { type: 'full', of: 'sessions' })
    await a.save('a', 's', epoch, saved('s', 'text', 1))
    await a.release('a', 's', epoch)
    deepEqual(await b.claim(claim('b', 's', none)), { type: 'full', of: 'sessions' })
  })

  test('the sessions of a client count together, on all nodes', async (t) => {
    const [a, b] = await two(t)
    const one = { client: 'one', maxPerClient: 2 }
    const epoch = await claimed(a, claim('a', 's1', one))
    await claimed(b, claim('b', 's2', one))
    deepEqual(await a.claim(claim('a', 's3', one)), { type: 'full', of: 'client' })
    await claimed(a, claim('a', 's3', { client: 'two', maxPerClient: 2 }))
    await claimed(a, claim('a', 's4', { client: undefined, maxPerClient: 0 }))
    await a.release('a', 's1', epoch)
    const again = await claimed(b, claim('b', 's5', one))
    deepEqual(await a.claim(claim('a', 's6', one)), { type: 'full', of: 'client' })
    equal(await b.delete('b', 's5', again), true)
    await claimed(a, claim('a', 's6', one))
  })

  test('a session counts for the client it was claimed for', async (t) => {
    const [a] = await two(t)
    await claimed(a, claim('a', 's1', { client: 'one', maxPerClient: 1 }))
    await claimed(a, claim('a', 's1', { client: 'two', maxPerClient: 1 }))
    deepEqual(await a.claim(claim('a', 's2', { client: 'one', maxPerClient: 1 })), {
      type: 'full',
      of: 'client',
    })
    await claimed(a, claim('a', 's2', { client: 'two', maxPerClient: 1 }))
  })

  test('sessions of a node that left no longer count', async (t) => {
    const [a, b] = await two(t)
    const few = { maxSessions: 2, client: 'c', maxPerClient: 2 }
    const epoch = await claimed(a, claim('a', 's1', few))
    await a.save('a', 's1', epoch, saved('s1', 'text', 1))
    await claimed(a, claim('a', 's2', few))
    await a.leave('a')
    await claimed(b, claim('b', 's3', few))
    await claimed(b, claim('b', 's4', few))
  })

  test('limits and times may be endless, and times fractions of a ms', async (t) => {
    const [a, b] = await two(t)
    const endless = Number.POSITIVE_INFINITY
    const limits = { client: 'c', maxSessions: endless, maxPerClient: endless }
    const epoch = await claimed(a, claim('a', 's', { ...limits, ttl: endless }))
    equal(await a.save('a', 's', epoch, { ...saved('s', 'text', 1), ttl: endless }), true)
    await a.touch(['s'], endless)
    await claimed(a, claim('a', 's1', { ...limits, ttl: 60_000.25 }))
    await a.touch(['s1'], 60_000.75)
    equal(await noteOf(b, 's'), 'text')
    deepEqual(await b.claim(claim('b', 's1')), { type: 'owned', node: 'a' })
  })
}
