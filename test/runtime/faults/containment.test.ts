import { EventEmitter } from 'node:events'
import { createReadStream, stat } from 'node:fs'
import { Readable } from 'node:stream'
import * as assert from 'uvu/assert'
import { childSpec, crash, defineActor, type RefOf, type TaskContext } from 'caduceus/runtime'
import { suite } from '../../support/suite.js'
import { ending, failure, gather } from '../_family.js'
import { contextInV8, scene, straysInTask, turns } from '../_strays.js'

const test = suite('containment in a request task')
const error = new Error('stray')

function throws(): never {
  throw error
}

async function rejectsLater(): Promise<void> {
  await null
  throw error
}

const cases: Record<string, ['throw' | 'rejection', (ctx: TaskContext) => unknown]> = {
  'a floating rejection': ['rejection', () => Promise.reject(error)],
  'a floating async function': ['rejection', rejectsLater],
  'a then of a resolved promise': ['rejection', () => Promise.resolve().then(throws)],
  'a throw from setTimeout': ['throw', () => setTimeout(throws, 1)],
  'a throw from setImmediate': ['throw', () => setImmediate(throws)],
  'a throw from an interval': [
    'throw',
    (ctx) => {
      const timer = setInterval(throws, 1)
      ctx.own(() => clearInterval(timer))
    },
  ],
  'a throw from nextTick': ['throw', () => process.nextTick(throws)],
  'a throw from a timer in a timer': ['throw', () => setTimeout(() => setTimeout(throws, 1), 1)],
  'a throw from the callback of a system call': ['throw', () => stat('.', throws)],
  "a stream's error that nobody listens to": ['throw', () => new Readable({ read: () => {} }).destroy(error)],
  'a throw from a stream callback': ['throw', () => Readable.from(['data']).on('data', throws)],
  'a throw from an emitter callback': [
    'throw',
    () => {
      const emitter = new EventEmitter().on('event', throws)
      setTimeout(() => emitter.emit('event'), 1)
    },
  ],
  'a rejection of an async emitter callback': [
    'rejection',
    () => {
      const emitter = new EventEmitter().on('event', rejectsLater)
      emitter.emit('event')
    },
  ],
  'a throw from the clock of its context': ['throw', (ctx) => ctx.clock.setTimeout(throws, 1)],
}

for (const [name, [kind, code]] of Object.entries(cases)) {
  test(`${name} ends that task and nothing else`, async (t) => {
    // The clock of the context catches the throw itself.
    if (!name.includes('clock')) t.expectStray(1)
    const at = await scene(t)
    const crashes = gather(t, 'crash')
    assert.is(await straysInTask(at, code), error)
    await at.untouched()
    assert.equal(
      crashes.map(({ name, reason, during }) => [name, reason, during]),
      [['request', crash(error), 'stray']],
    )
    if (name.includes('clock')) return
    assert.equal(
      at.strays.map((stray) => [stray.owner, stray.kind, stray.outcome, stray.error]),
      [['request', kind, 'failed', error]],
    )
  })
}

test('a system error of a stream without listeners ends that task only', async (t) => {
  t.expectStray(1)
  const at = await scene(t)
  const failed = await straysInTask(at, () => createReadStream('./no such file').resume())
  assert.is((failed as { code: string }).code, 'ENOENT')
  await at.untouched()
})

test('thrown non-Errors, undefined too, end that task only', async (t) => {
  t.expectStray(3)
  const at = await scene(t)
  for (const value of [undefined, null, 'text']) {
    assert.is(await straysInTask(at, () => Promise.reject(value)), value)
  }
  await at.untouched()
})

test('a second error of a task that ended by its first is only reported', async (t) => {
  t.expectStray(2)
  const at = await scene(t)
  const second = new Error('second')
  await straysInTask(at, () => {
    void Promise.reject(error)
    void Promise.reject(second)
  })
  await turns()
  assert.equal(
    at.strays.map(({ owner, outcome }) => [owner, outcome]),
    [
      ['request', 'failed'],
      ['request', 'reported'],
    ],
  )
  await at.untouched()
})

test('a hundred simultaneous strays each end their own request', async (t) => {
  t.expectStray(100)
  const at = await scene(t)
  const errors = Array.from({ length: 100 }, (_, i) => new Error(`stray ${i}`))
  const ends = errors.map((own, i) =>
    straysInTask(at, () =>
      i % 2 === 0
        ? Promise.reject(own)
        : setTimeout(() => {
            throw own
          }, 1),
    ),
  )
  assert.equal(await Promise.all(ends), errors)
  await at.untouched()
})

test('a throwing raw microtask is attributed since Node 24, and unowned before', async (t) => {
  t.expectStray(1)
  const at = await scene(t)
  if (contextInV8) {
    assert.is(await straysInTask(at, () => queueMicrotask(throws)), error)
    return at.untouched()
  }
  const task = at.tasks.start((): Promise<void> => {
    queueMicrotask(throws)
    return new Promise(() => {})
  })
  await turns()
  assert.equal(
    at.strays.map(({ owner, outcome }) => [owner, outcome]),
    [[undefined, 'reported']],
  )
  assert.ok(task.ref.alive)
  assert.is(await at.neighbour.call('id'), 'neighbour')
})

test('a stray error crashes its actor, and its supervisor restarts it', async (t) => {
  t.expectStray(2)
  const at = await scene(t, {})
  const crashing = defineActor({
    name: 'crashing',
    init: () => 0,
    cast: { reject: () => void Promise.reject(error), throw: () => void setTimeout(throws, 1) },
  })
  for (const way of ['reject', 'throw'] as const) {
    const spec = childSpec(crashing, undefined, { restart: 'temporary' })
    const ref = (await at.tree.startChild(spec)).ref as RefOf<typeof crashing>
    const ended = ending(ref)
    ref.cast(way)
    assert.equal(await ended, crash(error))
  }
  await at.untouched()
})

test('a stray error during a call rejects its caller at once', async (t) => {
  t.expectStray(1)
  const at = await scene(t)
  const slow = defineActor({
    name: 'slow',
    init: () => 0,
    call: {
      ask() {
        setTimeout(throws, 1)
        return new Promise(() => {})
      },
    },
  })
  const spec = childSpec(slow, undefined, { restart: 'temporary' })
  const ref = (await at.tree.startChild(spec)).ref as RefOf<typeof slow>
  const failed = await failure(ref.call('ask', undefined, { timeout: Number.POSITIVE_INFINITY }))
  assert.is(failed.code, 'EXITED')
  assert.is(failed.cause, error)
  await at.untouched()
})

test("an actor with stray: 'report' survives its stray errors", async (t) => {
  t.expectStray(3)
  const at = await scene(t)
  const host = defineActor({
    name: 'host',
    stray: 'report',
    init: () => 0,
    cast: {
      run() {
        void Promise.reject(error)
        setTimeout(throws, 1)
        process.nextTick(throws)
      },
    },
    call: { id: () => 'host' },
  })
  const ref = (await at.tree.startChild(childSpec(host))).ref as RefOf<typeof host>
  ref.cast('run')
  while (at.strays.length < 3) await turns()
  assert.ok(at.strays.every(({ owner, outcome }) => owner === 'host' && outcome === 'reported'))
  assert.is(await ref.call('id'), 'host')
  await at.untouched()
})

test('a supervisor survives stray errors of start functions', async (t) => {
  t.expectStray(1)
  const at = await scene(t)
  const idle = defineActor({ name: 'idle', init: () => 0 })
  await at.tree.startChild({
    id: 'idle',
    start(ctx) {
      void Promise.reject(error)
      return ctx.start(idle)
    },
  })
  await turns()
  assert.equal(
    at.strays.map(({ owner, outcome }) => [owner, outcome]),
    [['supervisor', 'reported']],
  )
  await at.untouched()
})

test.run()
