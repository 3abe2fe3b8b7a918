import { setTimeout as pause } from 'node:timers/promises'
import { equal, is, ok } from 'uvu/assert'
import type { ClusterEngine } from 'caduceus/server'
import type { TransportError } from 'caduceus/transports'
import {
  type Bell,
  type ClaimRequest,
  type Claimed,
  type Engine,
  type Listed,
  type StreamLimits,
  taskMark,
} from '../../../server/engine/engine.js'
import { heard } from '../../support/heard.js'
import type { TestContext, TestOptions } from '../../support/suite.js'
import { openEngine } from './_open-engine.js'

/** An engine under test, empty, and the hand that breaks it. */
export interface EngineBench {
  /** It, as a node sees it: each call is another machine. */
  at(): ClusterEngine
  /** It ends; `start` has it begin with nothing of what it had. */
  stop(): Promise<void> | void
  start(): Promise<void> | void
  /** Connections stay, nothing is done. */
  freeze(): void
  thaw(): void
  /** All is deleted while it runs. */
  wipe(): Promise<void> | void
}

type Define = (promise: string, body: (t: TestContext) => unknown, options?: TestOptions) => void

const long = 60_000
const soon = 60
const limits: StreamLimits = { maxEntries: 100, ttl: long }
const stream = { session: 's', stream: 'x' }

/** What every engine of a cluster keeps to. */
export function engineSuite(
  test: Define,
  start: (t: TestContext) => EngineBench | Promise<EngineBench>,
): void {
  /** Nodes `a`, `b` and so on, whose leases hold. */
  const begin = async (t: TestContext, count = 2): Promise<{ bench: EngineBench; nodes: Engine[] }> => {
    const bench = await start(t)
    const nodes: Engine[] = []
    for (const name of ['a', 'b', 'c'].slice(0, count)) {
      const { engine } = await openEngine(t, bench.at(), name)
      await engine.beat(name, long, facts())
      nodes.push(engine)
    }
    return { bench, nodes }
  }
  const two = async (t: TestContext): Promise<[Engine, Engine]> => {
    const { nodes } = await begin(t)
    return nodes as [Engine, Engine]
  }

  // nodes and leases

  test('a beat returns the present nodes and their facts', async (t) => {
    const [a, b] = await two(t)
    await a.beat('a', long, { isRetiring: true, isSettled: false, sessions: 7, incarnation: 3, marks: [] })
    const { nodes, news } = await b.beat('b', long, {
      isRetiring: false,
      isSettled: false,
      sessions: 2,
      incarnation: 1,
      marks: [],
    })
    equal(sorted(nodes), [
      { name: 'a', isRetiring: true, isSettled: false, sessions: 7, incarnation: 3, marks: [] },
      { name: 'b', isRetiring: false, isSettled: false, sessions: 2, incarnation: 1, marks: [] },
    ])
    is(news, 0)
  })

  test('the run id is the same for all nodes, and stays', async (t) => {
    const [a, b] = await two(t)
    const { run } = await a.beat('a', long, facts())
    is((await b.beat('b', long, facts())).run, run)
    is((await a.beat('a', long, facts())).run, run)
  })

  test('a node beyond its lease is absent until its next beat', async (t) => {
    const [a, b] = await two(t)
    await b.beat('b', soon, facts())
    await eventually(async () => !(await members(a, 'a')).includes('b'))
    is(await a.send('b', 'a', ['text'], 10), 'gone')
    equal(await members(b, 'b'), ['a', 'b'])
    is(await a.send('b', 'a', ['text'], 10), 'taken')
  })

  test('a node without a listener has a lease of one second', async (t) => {
    const bench = await start(t)
    const a = (await openEngine(t, bench.at(), 'a')).engine
    const b = await openEngine(t, bench.at(), 'b')
    equal(await members(b.engine, 'b'), ['b'])
    await b.close()
    await eventually(async () => !(await members(a, 'a')).includes('b'), 4_000)
  })

  test('a leaving node is absent, its sessions are free, and its inbox stays', async (t) => {
    const [a, b] = await two(t)
    const epoch = await claimed(a, claim('a', 's'))
    await a.save('a', 's', epoch, saved('text', 1))
    await b.send('a', 'b', ['one'], 10)
    await a.leave('a')
    equal(await members(b, 'b'), ['b'])
    is(await b.send('a', 'b', ['two'], 10), 'gone')
    is(await a.save('a', 's', epoch, saved('late', 2)), false)
    ok((await claimed(b, claim('b', 's', { mayTakeOver: false }))) > epoch)
    is(await b.load('s'), 'text')
    equal(await b.takeBack('a', 'b'), ['one'])
  })

  // whose a session is

  test('a session has one owner, which others are told', async (t) => {
    const [a, b] = await two(t)
    const epoch = await claimed(a, claim('a', 's'))
    equal(await b.claim(claim('b', 's')), { type: 'owned', node: 'a' })
    ok((await claimed(a, claim('a', 's'))) > epoch)
    equal(await b.claim(claim('b', 's')), { type: 'owned', node: 'a' })
  })

  test('of nodes that claim a session at the same time one gets it', async (t) => {
    const { nodes } = await begin(t, 3)
    for (let round = 0; round < 10; round += 1) {
      const answers = await Promise.all(nodes.map((node, at) => node.claim(claim(nameOf(at), `s${round}`))))
      const owner = answers.findIndex(({ type }) => type === 'claimed')
      const others = answers.filter((_, at) => at !== owner)
      equal(others, Array(2).fill({ type: 'owned', node: nameOf(owner) }))
    }
  })

  test('a session beyond the lease of its node passes only to a node that may take it', async (t) => {
    const [a, b] = await two(t)
    const epoch = await claimed(a, claim('a', 's'))
    await a.save('a', 's', epoch, saved('text', 1))
    await a.beat('a', soon, facts())
    await eventually(async () => !(await members(b, 'b')).includes('a'))
    equal(await b.claim(claim('b', 's', { mayTakeOver: false })), { type: 'owned', node: 'a' })
    is(await a.save('a', 's', epoch, saved('later', 2)), true, 'it is the owner until somebody else is')
    ok((await claimed(b, claim('b', 's'))) > epoch)
    is(await b.load('s'), 'later')
    await a.beat('a', long, facts())
    equal(await a.claim(claim('a', 's')), { type: 'owned', node: 'b' })
  })

  test('a node that claims is there, also where its lease was lost', async (t) => {
    const { bench, nodes } = await begin(t)
    const [a, b] = nodes as [Engine, Engine]
    await bench.wipe()
    const epoch = await claimed(a, claim('a', 's', { lease: long }))
    await a.save('a', 's', epoch, saved('text', 1))
    equal(await b.claim(claim('b', 's')), { type: 'owned', node: 'a' })
    is(await b.send('a', 'b', ['text'], 10), 'taken')
    equal(await members(b, 'b'), ['b'], 'nobody knows what it says of itself')
    equal(await members(a, 'a'), ['a', 'b'])
  })

  test('a node that claims and is not heard of again loses its sessions', async (t) => {
    const { bench, nodes } = await begin(t)
    const [a, b] = nodes as [Engine, Engine]
    await bench.wipe()
    await claimed(a, claim('a', 's', { lease: soon }))
    await eventually(async () => (await b.claim(claim('b', 's'))).type === 'claimed')
  })

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
    await b.save('b', 's', epoch, saved('text', 1))
    await b.release('b', 's', epoch)
    is(await a.delete('a', 's', await next(a, 'a')), true)
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
    equal(await b.claim(claim('b', 's')), { type: 'owned', node: 'a' }, 'it was claimed since')
    await b.release('b', 's', second)
    await b.release('b', 's', Number.MAX_SAFE_INTEGER)
    equal(await b.claim(claim('b', 's')), { type: 'owned', node: 'a' })
    await a.release('a', 's', second)
    await claimed(b, claim('b', 's'))
    await b.release('b', 's', Number.MAX_SAFE_INTEGER)
    await claimed(a, claim('a', 's'))
  })

  test('a session without an owner keeps its record', async (t) => {
    const [a, b] = await two(t)
    const epoch = await claimed(a, claim('a', 's'))
    is(await a.save('a', 's', epoch, saved('text', 1)), true)
    await a.release('a', 's', epoch)
    is(await b.load('s'), 'text')
    is(await a.save('a', 's', epoch, saved('late', 2)), false)
    await claimed(b, claim('b', 's'))
    is(await b.load('s'), 'text')
  })

  // how many there are

  test('sessions of all nodes count together', async (t) => {
    const [a, b] = await two(t)
    const few = { maxSessions: 2 }
    const epoch = await claimed(a, claim('a', 's1', few))
    await claimed(b, claim('b', 's2', few))
    equal(await a.claim(claim('a', 's3', few)), { type: 'full', of: 'sessions' })
    await claimed(b, claim('b', 's2', few))
    equal(await b.claim(claim('b', 's1', few)), { type: 'owned', node: 'a' }, 'it is there already')
    await a.release('a', 's1', epoch)
    await claimed(b, claim('b', 's3', few))
    equal(await a.claim(claim('a', 's1', few)), { type: 'full', of: 'sessions' })
  })

  test('a session that is taken over counts once', async (t) => {
    const [a, b] = await two(t)
    const few = { maxSessions: 1, client: 'c', maxPerClient: 1 }
    await claimed(a, claim('a', 's', few))
    await a.beat('a', soon, facts())
    await eventually(async () => !(await members(b, 'b')).includes('a'))
    equal(await b.claim(claim('b', 'other', few)), { type: 'full', of: 'sessions' })
    const epoch = await claimed(b, claim('b', 's', few))
    equal(await b.claim(claim('b', 'other', few)), { type: 'full', of: 'sessions' })
    is(await b.delete('b', 's', epoch), true)
    await claimed(b, claim('b', 'other', few))
  })

  test('at the session limit a node still learns who owns a session', async (t) => {
    const [a, b] = await two(t)
    const none = { maxSessions: 0 }
    const epoch = await claimed(a, claim('a', 's'))
    equal(await b.claim(claim('b', 's', none)), { type: 'owned', node: 'a' })
    equal(await b.claim(claim('b', 'other', none)), { type: 'full', of: 'sessions' })
    await a.save('a', 's', epoch, saved('text', 1))
    await a.release('a', 's', epoch)
    equal(await b.claim(claim('b', 's', none)), { type: 'full', of: 'sessions' })
  })

  test('the sessions of a client count together, on all nodes', async (t) => {
    const [a, b] = await two(t)
    const one = { client: 'one', maxPerClient: 2 }
    const epoch = await claimed(a, claim('a', 's1', one))
    await claimed(b, claim('b', 's2', one))
    equal(await a.claim(claim('a', 's3', one)), { type: 'full', of: 'client' })
    await claimed(a, claim('a', 's3', { client: 'two', maxPerClient: 2 }))
    await claimed(a, claim('a', 's4', { client: undefined, maxPerClient: 0 }))
    await a.release('a', 's1', epoch)
    const again = await claimed(b, claim('b', 's5', one))
    equal(await a.claim(claim('a', 's6', one)), { type: 'full', of: 'client' })
    is(await b.delete('b', 's5', again), true)
    await claimed(a, claim('a', 's6', one))
  })

  test('a session counts for the client it was claimed for', async (t) => {
    const [a] = await two(t)
    await claimed(a, claim('a', 's1', { client: 'one', maxPerClient: 1 }))
    await claimed(a, claim('a', 's1', { client: 'two', maxPerClient: 1 }))
    equal(await a.claim(claim('a', 's2', { client: 'one', maxPerClient: 1 })), { type: 'full', of: 'client' })
    await claimed(a, claim('a', 's2', { client: 'two', maxPerClient: 1 }))
  })

  test('sessions of a node that left no longer count', async (t) => {
    const [a, b] = await two(t)
    const few = { maxSessions: 2, client: 'c', maxPerClient: 2 }
    const epoch = await claimed(a, claim('a', 's1', few))
    await a.save('a', 's1', epoch, saved('text', 1))
    await claimed(a, claim('a', 's2', few))
    await a.leave('a')
    await claimed(b, claim('b', 's3', few))
    await claimed(b, claim('b', 's4', few))
  })

  // how long

  test('a session without a record is forgotten in time, with its place', async (t) => {
    const [a, b] = await two(t)
    const few = { maxSessions: 1, client: 'c', maxPerClient: 1 }
    await claimed(a, claim('a', 's', { ...few, ttl: soon }))
    await eventually(async () => (await b.claim(claim('b', 'other', few))).type === 'claimed')
  })

  test('a record expires exactly after its time to live', async (t) => {
    const [a, b] = await two(t)
    const epoch = await claimed(a, claim('a', 's', { ttl: soon }))
    is(await a.save('a', 's', epoch, { ...saved('text', 1), ttl: long }), true)
    const other = await claimed(a, claim('a', 'other'))
    is(await a.save('a', 'other', other, { ...saved('text', 1), ttl: soon }), true)
    await eventually(async () => (await b.load('other')) === undefined)
    is(await b.load('s'), 'text')
    equal(await b.claim(claim('b', 's')), { type: 'owned', node: 'a' })
    is(await a.save('a', 'other', other, saved('late', 2)), false, 'it has ended')
    is(await a.save('a', 's', epoch, saved('more', 2)), true)
  })

  test('touched sessions do not expire', async (t) => {
    const [a, b] = await two(t)
    for (const id of ['s1', 's2', 's3']) {
      const epoch = await claimed(a, claim('a', id))
      await a.save('a', id, epoch, { ...saved(id, 1), ttl: 1_500 })
    }
    await a.touch(['s1', 's2', 'unknown'], long)
    await eventually(async () => (await b.load('s3')) === undefined, 4_000)
    is(await b.load('s1'), 's1')
    equal(await b.claim(claim('b', 's2')), { type: 'owned', node: 'a' })
    is(await b.load('unknown'), undefined)
  })

  // records

  test('a record is read back as it was saved', async (t) => {
    const [a, b] = await two(t)
    is(await b.load('s'), undefined)
    const epoch = await claimed(a, claim('a', 's'))
    is(await b.load('s'), undefined)
    for (const [version, text] of ['', 'é\u2028"\n\0 🂡', 'x'.repeat(300_000)].entries()) {
      is(await a.save('a', 's', epoch, saved(text, version + 1)), true)
      ok((await b.load('s')) === text)
    }
  })

  test('a delayed save does not restore a deleted session', async (t) => {
    const [a, b] = await two(t)
    const epoch = await claimed(a, claim('a', 's'))
    is(await a.save('a', 's', epoch, saved('two', 2)), true)
    is(await a.save('a', 's', epoch, saved('one', 1)), true)
    is(await b.load('s'), 'two')
  })

  test('a node cannot save a session that another node owns, or claimed anew', async (t) => {
    const [a, b] = await two(t)
    is(await a.save('a', 's', 1, saved('none', 1)), false)
    is(await a.load('s'), undefined)
    const first = await claimed(a, claim('a', 's'))
    const second = await claimed(a, claim('a', 's'))
    is(await a.save('a', 's', first, saved('old', 1)), false)
    is(await b.save('b', 's', second, saved('other', 1)), false)
    is(await a.load('s'), undefined)
    is(await a.save('a', 's', second, saved('text', 1)), true)
    await a.leave('a')
    const third = await claimed(b, claim('b', 's'))
    is(await a.save('a', 's', second, saved('fenced', 2)), false)
    is(await a.save('a', 's', third, saved('fenced', 2)), false)
    is(await b.load('s'), 'text')
  })

  test('only the owner can delete a session, with its streams and its place', async (t) => {
    const [a, b] = await two(t)
    const few = { maxSessions: 1, client: 'c', maxPerClient: 1 }
    const first = await claimed(a, claim('a', 's', few))
    const second = await claimed(a, claim('a', 's', few))
    await a.save('a', 's', second, saved('text', 1))
    await a.append(stream, [{ number: 1, text: 'one' }], limits)
    await a.append({ session: 's', stream: 'y' }, [{ number: 1, text: 'one' }], limits)
    is(await b.delete('b', 's', second), false)
    is(await a.delete('a', 's', first), false)
    is(await a.load('s'), 'text')
    is(await a.delete('a', 's', second), true)
    is(await b.load('s'), undefined)
    is(await a.delete('a', 's', second), false)
    is(await a.save('a', 's', second, saved('late', 2)), false)
    equal(await b.closeStream(stream), [])
    equal(await b.closeStream({ session: 's', stream: 'y' }), [])
    await claimed(b, claim('b', 'other', few))
  })

  // tasks

  test('tasks are claimed, saved and deleted like sessions, and do not count', async (t) => {
    const [a, b] = await two(t)
    const few = { maxSessions: 1 }
    const task = `${taskMark}x`
    const epoch = await claimed(a, claim('a', task))
    is(await b.ownerOf(task), 'a')
    is(await b.ownerOf('x'), undefined)
    equal(await b.claim(claim('b', task)), { type: 'owned', node: 'a' })
    await claimed(a, claim('a', 's', few))
    equal(await b.claim(claim('b', 'other', few)), { type: 'full', of: 'sessions' })
    is(await a.save('a', task, epoch, saved('text', 1)), true)
    equal(await b.versions([task, 'unknown', 's']), [1, undefined, undefined])
    is(await b.save('b', task, epoch, saved('late', 2)), false)
    is(await a.delete('a', task, epoch), true)
    is(await b.ownerOf(task), undefined)
    equal(await b.versions([task]), [undefined])
    equal(await a.versions([]), [])
  })

  test('tasks of a node beyond its lease wait until another node claims them', async (t) => {
    const [a, b] = await two(t)
    const tasks = ['1', '2', '3'].map((id) => taskMark + id)
    const epochs: number[] = []
    for (const task of tasks) {
      const epoch = await claimed(a, claim('a', task))
      await a.save('a', task, epoch, saved('text', 1))
      epochs.push(epoch)
    }
    await claimed(a, claim('a', 's'))
    await a.release('a', tasks[2] as string, epochs[2] as number)
    equal(await b.orphans(10), [])
    await a.beat('a', soon, facts())
    await eventually(async () => !(await members(b, 'b')).includes('a'))
    equal([...(await b.orphans(10))].sort(), tasks.slice(0, 2))
    is((await b.orphans(1)).length, 1)
    const [first] = tasks as [string]
    await claimed(b, claim('b', first))
    equal(await b.orphans(10), tasks.slice(1, 2))
    is(await a.save('a', first, epochs[0] as number, saved('fenced', 2)), false)
    await a.beat('a', long, facts())
    equal(await b.orphans(10), [])
  })

  test('tasks of a node that left wait until another node claims them', async (t) => {
    const [a, b] = await two(t)
    const [task, ended, empty] = ['1', '2', '3'].map((id) => taskMark + id) as [string, string, string]
    await a.save('a', task, await claimed(a, claim('a', task)), saved('text', 1))
    const epoch = await claimed(a, claim('a', ended))
    await a.save('a', ended, epoch, saved('end', 1))
    await a.release('a', ended, epoch)
    await claimed(a, claim('a', empty))
    await a.leave('a')
    equal(await b.orphans(10), [task])
    is(await b.load(ended), 'end')
    const again = await claimed(b, claim('b', task))
    equal(await b.orphans(10), [])
    is(await b.load(task), 'text')
    await b.release('b', task, again)
    equal(await b.orphans(10), [], 'it has ended')
  })

  test('records saved in a list are found there by page until they expire', async (t) => {
    const [a, b] = await two(t)
    for (let at = 0; at < 5; at += 1) {
      const task = `${taskMark}${at}`
      const epoch = await claimed(a, claim('a', task))
      await a.save('a', task, epoch, { ...saved('text', 1), ttl: long + at * 1_000, list: 'mine' })
      await a.save('a', task, epoch, { ...saved('more', 2), ttl: long * 2, list: 'mine' })
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
    equal(
      names,
      [0, 1, 2, 3, 4].map((at) => `${taskMark}${at}`),
    )
    equal(await b.listed('other', undefined, 10), [])
    const brief = `${taskMark}brief`
    const epoch = await claimed(a, claim('a', brief, { ttl: soon }))
    await a.save('a', brief, epoch, { ...saved('text', 1), ttl: soon, list: 'brief' })
    await eventually(async () => (await b.listed('brief', undefined, 10)).length === 0)
  })

  // claims that may be lost

  test('a claim holds until another one follows', async (t) => {
    const [a, b] = await two(t)
    const first = await claimed(a, claim('a', 's'))
    const epoch = await claimed(a, claim('a', 's'))
    for (const mayRestore of [false, true]) {
      is(await a.reclaim(claim('a', 's'), { epoch, mayRestore, saved: undefined }), true)
      is(await a.reclaim(claim('a', 's'), { epoch: first, mayRestore, saved: undefined }), false)
    }
    await a.save('a', 's', epoch, saved('text', 1))
    await a.leave('a')
    const other = await claimed(b, claim('b', 's'))
    for (const mayRestore of [false, true])
      is(await a.reclaim(claim('a', 's'), { epoch, mayRestore, saved: saved('mine', 9) }), false)
    is(await b.reclaim(claim('b', 's'), { epoch: other, mayRestore: false, saved: undefined }), true)
    is(await b.load('s'), 'text')
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
    is(await a.reclaim(claim('a', 'kept'), { epoch: kept, ...held }), true)
    is(await a.reclaim(claim('a', 'taken'), { epoch: taken, ...held }), false)
    equal(await b.claim(claim('b', 'kept')), { type: 'owned', node: 'a' })
  })

  test('a lost session is not reclaimed, unless it may be restored', async (t) => {
    const [a, b] = await two(t)
    const held = { epoch: 7, saved: saved('text', 3) }
    is(await a.reclaim(claim('a', 's'), { ...held, mayRestore: false }), false)
    is(await a.load('s'), undefined)
    is(await a.reclaim(claim('a', 's'), { ...held, mayRestore: true }), true)
    is(await b.load('s'), 'text')
    equal(await b.claim(claim('b', 's')), { type: 'owned', node: 'a' })
    is(await a.save('a', 's', 7, saved('more', 4)), true)
    is(await a.reclaim(claim('a', 'empty'), { epoch: 8, mayRestore: true, saved: undefined }), true)
    is(await b.load('empty'), undefined)
    equal(await b.claim(claim('b', 'empty')), { type: 'owned', node: 'a' })
  })

  test('a restored session counts', async (t) => {
    const [a, b] = await two(t)
    const few = { maxSessions: 2, client: 'c', maxPerClient: 1 }
    is(await a.reclaim(claim('a', 's', few), { epoch: 7, mayRestore: true, saved: undefined }), true)
    equal(await b.claim(claim('b', 'other', few)), { type: 'full', of: 'client' })
    await claimed(b, claim('b', 's2', { maxSessions: 2 }))
    equal(await b.claim(claim('b', 's3', { maxSessions: 2 })), { type: 'full', of: 'sessions' })
    is(await a.delete('a', 's', 7), true)
    await claimed(b, claim('b', 'other', few))
  })

  test('of restored claims the one with the highest epoch holds', async (t) => {
    const [a, b] = await two(t)
    const held = (epoch: number, text: string, version: number) => ({
      epoch,
      mayRestore: true,
      saved: saved(text, version),
    })
    is(await a.reclaim(claim('a', 's'), held(7, 'a', 3)), true)
    is(await b.reclaim(claim('b', 's'), held(5, 'b', 2)), false)
    is(await b.reclaim(claim('b', 's'), held(7, 'b', 9)), false)
    is(await b.load('s'), 'a')
    is(await b.reclaim(claim('b', 's'), held(9, 'b', 4)), true)
    is(await a.load('s'), 'b')
    is(await a.save('a', 's', 7, saved('late', 5)), false)
    equal(await a.claim(claim('a', 's')), { type: 'owned', node: 'b' })
  })

  test('a record is restored unless a higher version is stored', async (t) => {
    const [a, b] = await two(t)
    const epoch = await claimed(a, claim('a', 's'))
    await a.save('a', 's', epoch, saved('three', 3))
    const held = (version: number) => ({ epoch, mayRestore: true, saved: saved(`back ${version}`, version) })
    is(await a.reclaim(claim('a', 's'), held(2)), true)
    is(await b.load('s'), 'three')
    is(await a.reclaim(claim('a', 's'), held(4)), true)
    is(await b.load('s'), 'back 4')
    await a.release('a', 's', epoch)
    is(await b.reclaim(claim('b', 's'), { ...held(2), epoch: epoch + 5 }), true)
    is(await b.load('s'), 'back 4')
  })

  // what nodes say to each other

  test('messages are taken in order, once, up to the wanted number', async (t) => {
    const { nodes } = await begin(t, 3)
    const [a, b, c] = nodes as [Engine, Engine, Engine]
    equal(await b.take('b', 10), [])
    is(await a.send('b', 'a', ['1', '2'], 10), 'taken')
    is(await c.send('b', 'c', ['3'], 10), 'taken')
    is(await a.send('b', 'a', ['4', ''], 10), 'taken')
    equal(await b.take('b', 3), ['1', '2', '3'])
    equal(await b.take('b', 10), ['4', ''])
    equal(await b.take('b', 10), [])
    equal(await a.take('a', 10), [])
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
    equal(taken, texts, 'commands of a connection are done in order')
    equal(await b.take('b', 100), [])
  })

  test('messages without room are refused together', async (t) => {
    const [a, b] = await two(t)
    is(await a.send('b', 'a', ['1', '2'], 3), 'taken')
    is(await a.send('b', 'a', ['3', '4'], 3), 'full')
    is(await a.send('b', 'a', ['3'], 3), 'taken')
    is(await a.send('b', 'a', ['4'], 3), 'full')
    equal(await b.take('b', 1), ['1'])
    is(await a.send('b', 'a', ['4'], 3), 'taken')
    equal(await b.take('b', 10), ['2', '3', '4'])
  })

  test('nothing is sent to an absent node', async (t) => {
    const [a] = await two(t)
    is(await a.send('nobody', 'a', ['text'], 10), 'gone')
    equal(await a.takeBack('nobody', 'a'), [])
  })

  test('a sender gets undelivered messages back', async (t) => {
    const { nodes } = await begin(t, 3)
    const [a, b, c] = nodes as [Engine, Engine, Engine]
    await a.send('b', 'a', ['1', '2'], 10)
    await c.send('b', 'c', ['3', '4'], 10)
    await a.send('b', 'a', ['5'], 10)
    equal(await b.take('b', 1), ['1'])
    equal(await a.takeBack('b', 'a'), ['2', '5'])
    equal(await a.takeBack('b', 'a'), [])
    equal(await b.take('b', 10), ['3', '4'])
    equal(await c.takeBack('b', 'c'), [])
    await b.leave('b')
    equal(await a.takeBack('b', 'a'), [])
  })

  test('messages sent before the end of a lease are returned', async (t) => {
    const [a, b] = await two(t)
    await b.beat('b', 300, facts())
    is(await a.send('b', 'a', ['1', '2'], 10), 'taken')
    await eventually(async () => !(await members(a, 'a')).includes('b'))
    equal(await a.takeBack('b', 'a'), ['1', '2'])
  })

  test('a bell rings for a node that gets a message', async (t) => {
    const [a, b] = await two(t)
    const bells = heard<Bell>()
    const undo = b.onBell(bells.add)
    await rings(() => a.send('b', 'a', ['text'], 1_000), bells, 'inbox')
    undo()
    const count = bells.all.length
    await a.send('b', 'a', ['text'], 1_000)
    await b.beat('b', long, facts())
    is(bells.all.length, count)
  })

  // news

  test('news is numbered and reaches all nodes, late ones too', async (t) => {
    const [a, b] = await two(t)
    equal(await a.news(0), { texts: [], last: 0, isGap: false })
    is(await a.publish('one'), 1)
    is(await b.publish('two'), 2)
    is(await a.publish('three'), 3)
    equal(await b.news(0), { texts: ['one', 'two', 'three'], last: 3, isGap: false })
    equal(await a.news(2), { texts: ['three'], last: 3, isGap: false })
    equal(await a.news(3), { texts: [], last: 3, isGap: false })
    is((await b.beat('b', long, facts())).news, 3)
  })

  test(
    'news that expired leaves a gap',
    async (t) => {
      const [a, b] = await two(t)
      let last = 0
      const flood = async (): Promise<boolean> => {
        const numbers = await Promise.all(
          Array.from({ length: 500 }, (_, at) => a.publish(`${last + at + 1}`)),
        )
        last = Math.max(...numbers)
        return (await b.news(0)).isGap
      }
      await eventually(flood, 10_000)
      const { texts, last: told } = await b.news(0)
      is(told, last)
      ok(texts.length > 0 && texts.length < last)
      is(texts.at(-1), String(last))
      const first = last - texts.length + 1
      is(texts[0], String(first))
      equal(await b.news(first - 1), { texts, last, isGap: false })
      is((await b.news(first - 2)).isGap, true)
    },
    { timeout: 20_000 },
  )

  test('a bell rings for all nodes when there is news', async (t) => {
    const [a, b] = await two(t)
    const bells = heard<Bell>()
    b.onBell(bells.add)
    await rings(() => a.publish('news'), bells, 'news')
  })

  test('all nodes agree on the first proposal while one of them asks', async (t) => {
    const [a, b] = await two(t)
    is(await a.agree('one', long), 'one')
    is(await b.agree('two', long), 'one')
    is(await b.agree('two', soon), 'one')
    await a.placeLog('log', 'a', soon + 1)
    await eventually(async () => (await a.placeOfLog('log')) === undefined)
    is(await a.agree('three', long), 'three')
  })

  // event streams

  test('an event log is found at its last place until it expires', async (t) => {
    const [a, b] = await two(t)
    is(await a.placeOfLog('log'), undefined)
    await a.placeLog('log', 'a', long)
    is(await b.placeOfLog('log'), 'a')
    await b.placeLog('log', 'b', long)
    is(await a.placeOfLog('log'), 'b')
    await b.placeLog('log', 'b', soon)
    await eventually(async () => (await a.placeOfLog('log')) === undefined)
  })

  test('a stream returns its entries in order when it is closed', async (t) => {
    const [a, b] = await two(t)
    const first = [
      { number: 1, text: 'one' },
      { number: 2, text: 'two é\0' },
    ]
    is(await a.append(stream, first, limits), true)
    is(await a.append(stream, [{ number: 7, text: '' }], limits), true)
    const kept = [...first, { number: 7, text: '' }]
    equal(await b.closeStream(stream), kept)
    is(await a.append(stream, [{ number: 8, text: 'late' }], limits), false)
    equal(await b.closeStream(stream), kept, 'it is asked again when the answer was lost')
  })

  test('an empty stream can be closed as well', async (t) => {
    const [a, b] = await two(t)
    equal(await b.closeStream(stream), [])
    is(await a.append(stream, [{ number: 1, text: 'late' }], limits), false)
    equal(await b.closeStream(stream), [])
  })

  test('a stream keeps its last entries only', async (t) => {
    const [a] = await two(t)
    const entries = Array.from({ length: 5 }, (_, at) => ({ number: at + 1, text: String(at + 1) }))
    await a.append(stream, entries, { ...limits, maxEntries: 3 })
    await a.append(stream, [{ number: 6, text: '6' }], { ...limits, maxEntries: 3 })
    equal(
      (await a.closeStream(stream)).map(({ number }) => number),
      [4, 5, 6],
    )
  })

  test('a stream expires some time after its last entry', async (t) => {
    const [a] = await two(t)
    const other = { session: 's', stream: 'y' }
    await a.append(stream, [{ number: 1, text: 'one' }], { ...limits, ttl: soon })
    await a.append(stream, [{ number: 2, text: 'two' }], limits)
    await a.append(other, [{ number: 1, text: 'one' }], limits)
    await a.append(other, [{ number: 2, text: 'two' }], { ...limits, ttl: soon })
    await a.placeLog('log', 'a', soon + 1)
    await eventually(async () => (await a.placeOfLog('log')) === undefined)
    is((await a.closeStream(stream)).length, 2)
    equal(await a.closeStream(other), [])
  })

  test('an append without entries keeps a stream alive', async (t) => {
    const [a] = await two(t)
    await a.append(stream, [{ number: 1, text: 'one' }], { ...limits, ttl: soon })
    is(await a.append(stream, [], limits), true)
    await a.placeLog('log', 'a', soon + 1)
    await eventually(async () => (await a.placeOfLog('log')) === undefined)
    is((await a.closeStream(stream)).length, 1)
    is(await a.append(stream, [], limits), false)
  })

  test('a stream accepts a repeated append', async (t) => {
    const [a] = await two(t)
    const entries = [1, 2].map((number) => ({ number, text: String(number) }))
    is(await a.append(stream, entries, limits), true)
    is(await a.append(stream, [...entries, { number: 3, text: '3' }], limits), true)
    const numbers = (await a.closeStream(stream)).map(({ number }) => number)
    equal([...new Set(numbers)], [1, 2, 3])
  })

  test('a dropped stream is forgotten, and no other one', async (t) => {
    const [a, b] = await two(t)
    const others = [
      { session: 's', stream: 'y' },
      { session: 't', stream: 'x' },
    ]
    for (const place of [stream, ...others]) await a.append(place, [{ number: 1, text: 'one' }], limits)
    await b.dropStream(stream)
    equal(await b.closeStream(stream), [])
    for (const place of others) is((await b.closeStream(place)).length, 1)
    await b.dropStream({ session: 'unknown', stream: 'unknown' })
  })

  // how it is gone

  test('an engine closes with its opener', async (t) => {
    const bench = await start(t)
    const { engine, close } = await openEngine(t, bench.at(), 'a')
    is(engine.isUp, true)
    await close()
    is(engine.isUp, false)
    await refused(() => engine.load('s'))
  })

  test(
    'during an outage all is refused at once, and a new run follows',
    async (t) => {
      const { bench, nodes } = await begin(t)
      const [a] = nodes as [Engine]
      const health = heard<boolean>()
      const undo = a.onHealth(health.add)
      const { run } = await a.beat('a', long, facts())
      await claimed(a, claim('a', 's'))
      await bench.stop()
      is(await health.next(), false)
      is(a.isUp, false)
      for (const ask of everything(a)) await refused(ask, 100)
      await bench.start()
      is(await health.next(), true)
      is(a.isUp, true)
      const members = await a.beat('a', long, facts())
      ok(members.run !== run)
      equal(health.all, [false, true])
      undo()
      await bench.stop()
      await eventually(() => !a.isUp)
      is(health.all.length, 2)
    },
    { timeout: 20_000 },
  )

  test(
    'an unreachable engine fails to open',
    async (t) => {
      const bench = await start(t)
      await bench.stop()
      const began = performance.now()
      await refused(() => openEngine(t, bench.at(), 'a'), 8_000)
      ok(performance.now() - began < 8_000)
    },
    { timeout: 12_000 },
  )

  test(
    'a silent engine delays a second, then not at all',
    async (t) => {
      const { bench, nodes } = await begin(t)
      const [a] = nodes as [Engine]
      bench.freeze()
      t.after(() => bench.thaw())
      await Promise.all(everything(a).map((ask) => refused(ask, 1_500)))
      await eventually(() => !a.isUp)
      await refused(() => a.load('s'), 100)
      bench.thaw()
      await eventually(() => a.isUp, 5_000)
      await a.beat('a', long, facts())
    },
    { timeout: 20_000 },
  )

  test('a wiped engine has a new run and accepts restored state', async (t) => {
    const { bench, nodes } = await begin(t)
    const [a, b] = nodes as [Engine, Engine]
    const { run } = await a.beat('a', long, facts())
    const epoch = await claimed(a, claim('a', 's'))
    await a.save('a', 's', epoch, saved('text', 1))
    await a.send('b', 'a', ['text'], 10)
    await bench.wipe()
    const members = await a.beat('a', long, facts())
    ok(members.run !== run)
    equal(
      members.nodes.map(({ name }) => name),
      ['a'],
    )
    is((await b.beat('b', long, facts())).run, members.run)
    is(await b.load('s'), undefined)
    equal(await b.take('b', 10), [])
    is(await a.save('a', 's', epoch, saved('more', 2)), false)
    is(await a.reclaim(claim('a', 's'), { epoch, mayRestore: true, saved: saved('text', 1) }), true)
    is(await a.save('a', 's', epoch, saved('more', 2)), true)
    is(await b.load('s'), 'more')
    const bells = heard<Bell>()
    b.onBell(bells.add)
    await rings(() => a.send('b', 'a', ['text'], 1_000), bells, 'inbox')
  })
}

/** Asks again and again: by an engine nobody hears when a time is over. */
export async function eventually(holds: () => boolean | Promise<boolean>, within = 3_000): Promise<void> {
  const deadline = performance.now() + within
  while (!(await holds())) {
    if (performance.now() > deadline) throw new Error(`it did not hold within ${within} ms`)
    await pause(10)
  }
}

function facts() {
  return { isRetiring: false, isSettled: false, sessions: 0, incarnation: 1, marks: [] }
}

function claim(node: string, session: string, more: Partial<ClaimRequest> = {}): ClaimRequest {
  const free = {
    lease: 2_500,
    client: undefined,
    ttl: long,
    maxSessions: 1_000,
    maxPerClient: 1_000,
    mayTakeOver: true,
  }
  return { node, session, ...free, ...more }
}

async function claimed(engine: Engine, request: ClaimRequest): Promise<number> {
  const answer: Claimed = await engine.claim(request)
  if (answer.type !== 'claimed') throw new Error(`not claimed: ${JSON.stringify(answer)}`)
  return answer.epoch
}

function saved(text: string, version: number) {
  return { text, version, ttl: long }
}

async function members(engine: Engine, name: string): Promise<string[]> {
  const { nodes } = await engine.beat(name, long, facts())
  return sorted(nodes).map((node) => node.name)
}

function sorted<Node extends { readonly name: string }>(nodes: readonly Node[]): Node[] {
  return [...nodes].sort((one, other) => (one.name < other.name ? -1 : 1))
}

function nameOf(at: number): string {
  return 'abc'[at] ?? ''
}

/** A bell may be lost: it is rung until it is heard. */
async function rings(
  ring: () => Promise<unknown>,
  bells: { readonly all: readonly string[] },
  bell: string,
): Promise<void> {
  await eventually(async () => {
    if (!bells.all.includes(bell)) await ring()
    return bells.all.includes(bell)
  })
}

async function refused(ask: () => Promise<unknown>, within = 100): Promise<void> {
  const began = performance.now()
  try {
    await ask()
  } catch (error) {
    is((error as TransportError).code, 'CLUSTER_UNAVAILABLE')
    is((error as TransportError).retryable, true)
    ok(performance.now() - began < within, `it took ${performance.now() - began} ms`)
    return
  }
  throw new Error('it was done')
}

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
    () => engine.save('a', 's', 1, saved('text', 1)),
    () => engine.delete('a', 's', 1),
    () => engine.touch(['s'], 1),
    () => engine.send('b', 'a', ['text'], 10),
    () => engine.take('a', 10),
    () => engine.takeBack('b', 'a'),
    () => engine.publish('text'),
    () => engine.news(0),
    () => engine.placeLog('log', 'a', 1),
    () => engine.placeOfLog('log'),
    () => engine.append(stream, [{ number: 1, text: '' }], limits),
    () => engine.closeStream(stream),
    () => engine.dropStream(stream),
    () => engine.leave('a'),
  ]
}
