import { EventEmitter } from 'node:events'
import * as assert from 'uvu/assert'
import { formatTree, inspect } from 'caduceus/runtime'
import { suite } from '../../support/suite.js'
import { ending, gather, Recorder, startTree, turn, worker } from '../_family.js'
import { contextInV8, scene, straysInTask, turns } from '../_strays.js'

const test = suite('containment across owners')
const error = new Error('stray')
const never = new Promise<never>(() => {})

function throws(): never {
  throw error
}

test('a shared listener fails the emitter, unless ctx.bind carries its owner', async (t) => {
  t.expectStray(1)
  const at = await scene(t)
  const shared = new EventEmitter()
  const bound = at.tasks.start(
    (ctx) => {
      shared.on('event', ctx.bind(throws))
      return never
    },
    { name: 'bound' },
  )
  const emitting = at.tasks.start(
    () => {
      shared.emit('event')
      return 'emitted all'
    },
    { name: 'emitting' },
  )
  assert.is(await emitting.result, 'emitted all')
  assert.is(await bound.result.catch((reason: unknown) => reason), error)
  shared.removeAllListeners()
  const plain = at.tasks.start(
    () => {
      shared.on('event', throws)
      return never
    },
    { name: 'plain' },
  )
  assert.is(await straysInTask(at, () => setTimeout(() => shared.emit('event'), 1), 'emitting'), error)
  assert.ok(plain.ref.alive)
  assert.equal(
    at.strays.map(({ owner }) => owner),
    ['bound', 'emitting'],
  )
  await at.untouched()
})

test('an unawaited rejection of a bound listener crashes its owner', async (t) => {
  t.expectStray(1)
  const at = await scene(t)
  const shared = new EventEmitter()
  const rejects = async (): Promise<void> => {
    await null
    throw error
  }
  const bound = at.tasks.start(
    (ctx) => {
      shared.on('event', ctx.bind(rejects))
      return never
    },
    { name: 'bound' },
  )
  const emitting = at.tasks.start(
    () => {
      shared.emit('event')
      return never
    },
    { name: 'emitting' },
  )
  assert.is(await bound.result.catch((reason: unknown) => reason), error)
  assert.ok(emitting.ref.alive)
  await at.untouched()
})

test('a throw of a bound listener of an ended owner is reported only', async (t) => {
  const at = await scene(t)
  const shared = new EventEmitter()
  await at.tasks.start((ctx) => void shared.on('event', ctx.bind(throws)), { name: 'gone' }).result
  shared.emit('event')
  assert.equal(
    at.strays.map(({ owner, outcome }) => [owner, outcome]),
    [['gone', 'reported']],
  )
  await at.untouched()
})

test('a throwing abort listener is reported and crashes nobody', async (t) => {
  t.expectStray(2)
  const at = await scene(t)
  const heard: string[] = []
  const parts: { signal?: AbortSignal } = {}
  const task = at.tasks.start(
    ({ signal }) => {
      parts.signal = signal
      signal.addEventListener('abort', throws)
      signal.addEventListener('abort', () => heard.push('the others hear of it'))
      return never
    },
    { name: 'aborted' },
  )
  // A listener of somebody else on the same signal: its throw belongs to the signal's owner as well.
  const listening = at.tasks.start(
    () => {
      parts.signal?.addEventListener('abort', () => throws())
      return never
    },
    {
      name: 'other',
    },
  )
  task.cancel()
  await turns()
  assert.equal(heard, ['the others hear of it'])
  assert.equal(
    at.strays.map(({ owner, outcome }) => [owner, outcome]),
    [
      ['aborted', 'reported'],
      ['aborted', 'reported'],
    ],
  )
  assert.ok(listening.ref.alive)
  await at.untouched()
})

test('a promise of A rejected by B crashes A, or B since Node 24', async (t) => {
  t.expectStray(1)
  const at = await scene(t)
  const parts: { reject?: (error: unknown) => void } = {}
  const make = (): Promise<never> => {
    void new Promise((_, reject) => {
      parts.reject = reject
    })
    return never
  }
  const a = at.tasks.start(make, { name: 'a' })
  const b = at.tasks.start(
    () => {
      parts.reject?.(error)
      return never
    },
    { name: 'b' },
  )
  const [blamed, spared] = contextInV8 ? [b, a] : [a, b]
  assert.is(await blamed.result.catch((reason: unknown) => reason), error)
  assert.ok(spared.ref.alive)
  await at.untouched()
})

test('a promise of A that B awaits is no stray when A rejects it', async (t) => {
  const at = await scene(t)
  const parts: { reject?: (error: unknown) => void; promise?: Promise<never> } = {}
  const a = at.tasks.start(() => {
    parts.promise = new Promise((_, reject) => {
      parts.reject = reject
    })
    return never
  })
  const b = at.tasks.start(async () => (await parts.promise?.catch(() => 'handled')) as string)
  parts.reject?.(error)
  assert.is(await b.result, 'handled')
  assert.ok(a.ref.alive)
  assert.equal(at.strays, [])
})

test('an error of an ended owner or a cancelled task is only reported', async (t) => {
  t.expectStray(2)
  const at = await scene(t)
  await at.tasks.start(() => void setTimeout(throws, 1), { name: 'done' }).result
  const cancelled = at.tasks.start(
    () => {
      setTimeout(throws, 1)
      return never
    },
    { name: 'cancelled' },
  )
  cancelled.cancel()
  while (at.strays.length < 2) await turn()
  assert.equal(
    at.strays.map(({ owner, outcome }) => [owner, outcome]),
    [
      ['done', 'reported'],
      ['cancelled', 'reported'],
    ],
  )
  await at.untouched()
})

test('two trees in one process: an error affects its owner in its own tree only', async (t) => {
  t.expectStray(1)
  const started = gather(t, 'progress')
  const one = await scene(t)
  const own = new Set(started.map(({ tree }) => tree))
  const other = await scene(t)
  assert.is(await straysInTask(one, () => Promise.reject(error)), error)
  const trees = new Set(one.strays.map(({ tree }) => tree))
  assert.is(own.size, 1)
  assert.equal(trees, own)
  await one.untouched()
  await other.untouched()
})

test('an actor that awaits the answer of another tree keeps its own scope', async (t) => {
  t.expectStray(1)
  const [one, other] = [await scene(t), await scene(t)]
  const failed = straysInTask(one, () => {
    void other.neighbour.call('id').then(throws)
  })
  assert.is(await failed, error)
  await one.untouched()
  await other.untouched()
})

test('an unowned error is reported to every tree, marks it degraded, and ends nothing', async (t) => {
  t.expectStray(2)
  const [one, other] = [await scene(t), await scene(t)]
  void Promise.reject(error)
  setTimeout(throws, 1)
  while (one.strays.length < 4) await turn()
  assert.ok(one.strays.every(({ owner, outcome }) => owner === undefined && outcome === 'reported'))
  for (const { tree, neighbour } of [one, other]) {
    assert.is(await neighbour.call('id'), 'neighbour')
    assert.is(inspect(tree.ref).degraded, 2)
    assert.match(
      formatTree(inspect(tree.ref)),
      /^supervisor {2}degraded: 2 stray errors of nobody, one_for_one/,
    )
    assert.ok(inspect(tree.ref).children.every((child) => child.degraded === undefined))
  }
})

test("unowned: 'stop' ends the tree in order, with the error as the reason", async (t) => {
  t.expectStray(1)
  const log = new Recorder()
  const strays = gather(t, 'stray')
  const stopping = await startTree(t, {
    strategy: 'one_for_one',
    unowned: 'stop',
    children: [worker(log, 'a'), worker(log, 'b')],
  })
  const staying = await scene(t)
  const ended = ending(stopping.ref)
  void Promise.reject(error)
  assert.equal(await ended, { type: 'crash', error })
  assert.equal(log.rest(), ['start a', 'start b', 'end b', 'end a'])
  assert.equal(strays.map(({ outcome }) => outcome).sort(), ['reported', 'stopped'])
  assert.is(await staying.neighbour.call('id'), 'neighbour')
})

test("unowned: 'stop' does not stop the tree for an owned error", async (t) => {
  t.expectStray(1)
  const at = await scene(t, { unowned: 'stop' })
  assert.is(await straysInTask(at, () => Promise.reject(error)), error)
  await at.untouched()
})

test.run()
