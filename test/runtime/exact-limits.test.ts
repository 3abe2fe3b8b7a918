import * as assert from 'uvu/assert'
import {
  asyncStream,
  createFakeClock,
  defineActor,
  RuntimeError,
  startActor,
  systemWorld,
} from 'caduceus/runtime'
import { worldOf } from '../../runtime/time/world.js'
import { Deadline, Deadlines } from '../../runtime/time/deadlines.js'
import { lazy } from '../../runtime/faults/load.js'
import { nearest } from '../../runtime/base/near.js'
import { lastTurns } from '../../runtime/base/promise.js'
import { heapInUse } from '../support/collected.js'
import { openDescriptors } from '../support/counted.js'
import { suite } from '../support/suite.js'
import { hear, rejection, start } from './_actors.js'
import { place } from './tasks/_tasks.js'

const test = suite('runtime: to the letter', { timeout: 20_000 })

test('the tasks at once of a stream are a whole number above 0', async (t) => {
  const { tasks } = await place(t)
  for (const maxConcurrency of [0, -1, 0.5, 1.5, Number.NaN, Number.POSITIVE_INFINITY, '2' as never])
    assert.throws(
      () => asyncStream(tasks, [1], () => 1, { maxConcurrency }),
      /maxConcurrency: expected/,
      String(maxConcurrency),
    )
})

test('a likely word is searched among the first 2,000 only', () => {
  const words = (count: number) => Array.from({ length: count }, () => 'xxxxxxxxxx')
  assert.is(nearest('timeouts', [...words(1_999), 'timeout']), 'timeout')
  assert.is(nearest('timeouts', [...words(2_000), 'timeout']), undefined)
  assert.is(nearest('t'.repeat(64), ['t'.repeat(63)]), 't'.repeat(63))
  assert.is(nearest('t'.repeat(65), ['t'.repeat(64)]), undefined)
  assert.is(nearest('t'.repeat(63), ['t'.repeat(64)]), 't'.repeat(64))
  assert.is(nearest('t'.repeat(64), ['t'.repeat(65)]), undefined)
})

test('a module that is loaded when it is needed leaves no descriptor open', async () => {
  await lazy('nanoid', () => import('nanoid'))()
  const before = openDescriptors()
  for (let round = 0; round < 20; round++) await lazy('nanoid', () => import('nanoid'))()
  assert.is(openDescriptors(), before)
})

test('lastTurns waits two turns of the event loop', async () => {
  const order: string[] = []
  const turn = (name: string, next = (): void => {}): void =>
    void setImmediate(() => {
      order.push(name)
      next()
    })
  turn('first', () => turn('second', () => turn('third')))
  await lastTurns(systemWorld)
  assert.equal(order, ['first', 'second'])
})

class Forgotten extends Deadline {
  expire(): void {}
}

test('expired deadlines of many lengths leave nothing', async () => {
  const clock = Object.assign(Object.create(createFakeClock()) as ReturnType<typeof createFakeClock>, {
    grain: 16,
  })
  const deadlines = new Deadlines(clock)
  const round = async (first: number): Promise<void> => {
    for (let ms = first; ms < first + 500; ms++) deadlines.arm(new Forgotten(), ms / 1_000)
    await clock.advance(64)
  }
  await round(0)
  const before = await heapInUse()
  for (let count = 1; count <= 60; count++) await round(count * 500)
  const more = (await heapInUse()) - before
  assert.ok(more < 1_000_000, `${more} bytes more`)
  assert.is(clock.pending, 0)
  assert.ok(deadlines)
})

test('an init that fails with the error of another start is reported as a crash', async (t) => {
  const crashes = hear(t, 'crash')
  const inner = new RuntimeError('START_FAILED', 'another one could not be started')
  const failing = defineActor({
    name: 'failing',
    init() {
      throw inner
    },
  })
  await startActor(failing, undefined, { logger: false }).then(
    () => assert.unreachable(),
    () => {},
  )
  assert.equal(
    crashes.map(({ name }) => name),
    ['failing'],
  )
  const never = defineActor({ name: 'never', init: () => new Promise(() => {}) })
  await rejection(start(t, never, undefined, { startTimeout: 1 } as never), 'START_TIMEOUT')
})

test('a world may be of a class, or a clock with some of it', () => {
  class Ticking {
    #at = 5
    now() {
      return this.#at
    }
    setTimeout() {
      return this.#at
    }
    clearTimeout() {
      this.#at += 1
    }
    random() {
      return this.#at / 10
    }
  }
  const world = worldOf(new Ticking())
  const { now, random, clearTimeout, id, grain } = { ...world }
  clearTimeout(undefined)
  assert.equal([now(), random(), grain], [6, 0.6, 0])
  assert.is(id().length, 21)
})

test.run()
