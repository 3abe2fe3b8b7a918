import * as assert from 'uvu/assert'
import type { ActorContext, Restart, Strategy, Supervisor } from 'caduceus/runtime'
import { suite, type TestContext } from '../../support/suite.js'
import { failure, gather, Recorder, startTree, statuses, turn, worker, workerOf } from '../_family.js'

const test = suite('strategies')

interface Family {
  tree: Supervisor
  log: Recorder
  /** Ids whose next starts fail, and how many of them. */
  failures: Map<string, number>
  /** Ends a child abnormally and resolves with what followed, once the supervisor is idle again. */
  crash(id: string): Promise<string[]>
}

async function family(
  t: TestContext,
  strategy: Strategy,
  ids: Record<string, Restart>,
  intensity = 3,
): Promise<Family> {
  const log = new Recorder()
  const failures = new Map<string, number>()
  const children = Object.entries(ids).map(([id, restart]) => {
    const init = (): void => {
      const left = failures.get(id) ?? 0
      if (left === 0) return
      failures.set(id, left - 1)
      log.note(`fail ${id}`)
      throw new Error(`${id} cannot start`)
    }
    return worker(log, id, { restart, init })
  })
  const tree = await startTree(t, { strategy, intensity, children })
  log.rest()
  const crash = async (id: string): Promise<string[]> => {
    ;(await workerOf(tree, id)).kill()
    await settled(tree)
    return log.rest()
  }
  return { tree, log, failures, crash }
}

async function settled(tree: Supervisor): Promise<void> {
  while (Object.values(await statuses(tree)).includes('restarting')) await turn()
}

const permanent = 'permanent'
const three = { a: permanent, b: permanent, c: permanent } as const
const four = { ...three, d: permanent } as const

test('OTP-40 one_for_one starts only the dead child again, in its place', async (t) => {
  const { tree, crash } = await family(t, 'one_for_one', three)
  const [a, c] = [await workerOf(tree, 'a'), await workerOf(tree, 'c')]
  assert.equal(await crash('b'), ['end b', 'start b'])
  assert.equal(await statuses(tree), { a: 'running', b: 'running', c: 'running' })
  assert.is(await workerOf(tree, 'a'), a)
  assert.is(await workerOf(tree, 'c'), c)
  await tree.stop()
})

test('OTP-41 one_for_all stops the others in reverse order and starts all in order', async (t) => {
  const { crash } = await family(t, 'one_for_all', three)
  assert.equal(await crash('b'), ['end b', 'end c', 'end a', 'start a', 'start b', 'start c'])
  assert.equal(await crash('c'), ['end c', 'end b', 'end a', 'start a', 'start b', 'start c'])
})

test('OTP-42 rest_for_one stops later children in reverse and leaves earlier ones', async (t) => {
  const { tree, crash } = await family(t, 'rest_for_one', four)
  const a = await workerOf(tree, 'a')
  assert.equal(await crash('b'), ['end b', 'end d', 'end c', 'start b', 'start c', 'start d'])
  assert.equal(await crash('d'), ['end d', 'start d'])
  assert.is(await workerOf(tree, 'a'), a)
  assert.equal(await crash('a'), [
    'end a',
    'end d',
    'end c',
    'end b',
    'start a',
    'start b',
    'start c',
    'start d',
  ])
})

test('OTP-43 OTP-35 temporary siblings that a group restart stopped are dropped', async (t) => {
  for (const strategy of ['one_for_all', 'rest_for_one'] as const) {
    const { tree, crash } = await family(t, strategy, {
      a: permanent,
      b: permanent,
      c: 'temporary',
      d: permanent,
    })
    const seen = await crash('b')
    assert.equal(
      seen.filter((event) => event.endsWith('c')),
      ['end c'],
    )
    assert.equal(await statuses(tree), { a: 'running', b: 'running', d: 'running' })
  }
})

test('OTP-44 a transient sibling that ended normally restarts with the group', async (t) => {
  for (const [strategy, dead] of [
    ['one_for_all', 'c'],
    ['rest_for_one', 'a'],
  ] as const) {
    const { tree, log, crash } = await family(t, strategy, { a: permanent, b: 'transient', c: permanent })
    ;(await workerOf(tree, 'b')).cast('stop')
    await log.next(1)
    assert.is((await statuses(tree)).b, 'stopped')
    assert.ok((await crash(dead)).includes('start b'))
    assert.is((await statuses(tree)).b, 'running')
  }
})

test('OTP-44 a manually stopped sibling is started again with the group', async (t) => {
  const { tree, crash } = await family(t, 'one_for_all', three)
  await tree.terminateChild('b')
  assert.equal(await crash('a'), ['end b', 'end a', 'end c', 'start a', 'start b', 'start c'])
})

test('OTP-45 a normal end of a transient or a crash of a temporary child is ignored', async (t) => {
  for (const strategy of ['one_for_one', 'one_for_all', 'rest_for_one'] as const) {
    const { tree, log } = await family(t, strategy, { a: 'transient', b: 'temporary', c: permanent })
    ;(await workerOf(tree, 'a')).cast('stop')
    ;(await workerOf(tree, 'b')).cast('crash')
    assert.equal((await log.next(2)).sort(), ['end a', 'end b'])
    assert.equal(await statuses(tree), { a: 'stopped', c: 'running' })
    assert.equal(log.rest(), [])
  }
})

test('OTP-46 one_for_all: after a failed start, the retry stops restarted ones first', async (t) => {
  const { tree, failures, crash } = await family(t, 'one_for_all', four)
  failures.set('c', 1)
  assert.equal(await crash('b'), [
    ...['end b', 'end d', 'end c', 'end a', 'start a', 'start b', 'fail c'],
    ...['end b', 'end a', 'start a', 'start b', 'start c', 'start d'],
  ])
  assert.equal(await statuses(tree), { a: 'running', b: 'running', c: 'running', d: 'running' })
})

test('OTP-46 rest_for_one: the retry goes on from the failed child', async (t) => {
  const { failures, crash } = await family(t, 'rest_for_one', four)
  failures.set('c', 2)
  assert.equal(await crash('b'), [
    ...['end b', 'end d', 'end c', 'start b', 'fail c'],
    ...['fail c', 'start c', 'start d'],
  ])
})

test('OTP-46 between retries the failed child is restarting, later ones stopped', async (t) => {
  const { tree, log, failures } = await family(t, 'rest_for_one', four, Number.POSITIVE_INFINITY)
  failures.set('c', 1_000_000)
  ;(await workerOf(tree, 'b')).kill()
  await log.next(6)
  assert.equal(await statuses(tree), { a: 'running', b: 'running', c: 'restarting', d: 'stopped' })
  failures.delete('c')
  await settled(tree)
  assert.equal(await statuses(tree), { a: 'running', b: 'running', c: 'running', d: 'running' })
})

test('OTP-46 each attempt counts as a restart', async (t) => {
  const { tree, log, failures } = await family(t, 'rest_for_one', three, 2)
  const reports = gather(t, 'supervisor')
  const gone = new Promise((resolve) => tree.onExit(resolve))
  failures.set('c', 3)
  ;(await workerOf(tree, 'b')).kill()
  await gone
  assert.equal(log.rest(), ['end b', 'end c', 'start b', 'fail c', 'fail c', 'end b', 'end a'])
  assert.equal(
    reports.map(({ context }) => context),
    ['child_terminated', 'start_error', 'start_error', 'shutdown'],
  )
})

test('a sibling that dies while the group waits to retry restarts with the group', async (t) => {
  const log = new Recorder()
  const plan = { failures: 0 }
  const init = (ctx: ActorContext): void => {
    if (plan.failures-- <= 0) return
    log.note('fail b')
    ctx.registry.whereis('first')?.kill()
    throw new Error('b cannot start')
  }
  const children = [worker(log, 'a', { name: 'first' }), worker(log, 'b', { init })]
  const tree = await startTree(t, { strategy: 'one_for_all', intensity: 5, children })
  log.rest()
  plan.failures = 2
  ;(await workerOf(tree, 'b')).kill()
  await settled(tree)
  assert.equal(await statuses(tree), { a: 'running', b: 'running' })
  assert.equal(log.rest(), [
    ...['end b', 'end a', 'start a', 'fail b', 'end a'],
    ...['start a', 'fail b', 'end a'],
    ...['start a', 'start b'],
  ])
})

test('terminateChild of a restarting child leaves it and later children down', async (t) => {
  const { tree, log, failures } = await family(t, 'rest_for_one', four, Number.POSITIVE_INFINITY)
  failures.set('c', 1_000_000)
  ;(await workerOf(tree, 'b')).kill()
  await log.next(6)
  await tree.terminateChild('c')
  assert.equal(await statuses(tree), { a: 'running', b: 'running', c: 'stopped', d: 'stopped' })
  failures.delete('c')
  assert.is((await failure(tree.restartChild('b'))).code, 'RUNNING')
  await tree.restartChild('c')
  await tree.restartChild('d')
  assert.equal(await statuses(tree), { a: 'running', b: 'running', c: 'running', d: 'running' })
})

test('a crashed child behind one that cannot start is down and can be restarted', async (t) => {
  const { tree, failures } = await family(t, 'one_for_all', four, Number.POSITIVE_INFINITY)
  failures.set('a', 1_000_000)
  ;(await workerOf(tree, 'd')).kill()
  await tree.terminateChild('a')
  assert.equal(await statuses(tree), { a: 'stopped', b: 'stopped', c: 'stopped', d: 'stopped' })
  await tree.restartChild('d')
  assert.is((await statuses(tree)).d, 'running')
})

test.run()
