import * as assert from 'uvu/assert'
import {
  childSpec,
  defineActor,
  dynamicSupervisorAt,
  dynamicSupervisorSpec,
  Registry,
  type Strategy,
  type Supervisor,
  supervisorAt,
  supervisorSpec,
} from 'caduceus/runtime'
import { suite, type TestContext } from '../../support/suite.js'
import { ending, failure, Recorder, startTree, worker, workerOf } from '../_family.js'
import { gated, state } from '../_names.js'

const test = suite('names under nested supervision')
const strategy = 'one_for_one'
const echo = defineActor({ name: 'echo', init: () => ({}), call: { ping: () => 'pong' } })

/** A supervisor below the root, with one named child whose starts can be made to fail. */
async function nested(
  t: TestContext,
  restart: 'permanent' | 'transient' | 'temporary',
  outer: Strategy = 'one_for_one',
) {
  const log = new Recorder()
  const registry = new Registry()
  const { plan, spec } = gated(log, 'x')
  const inner = supervisorSpec(
    { name: 'inner', strategy, intensity: 1, children: [worker(log, 'w'), spec] },
    { restart },
  )
  const tree = await startTree(t, {
    strategy: outer,
    registry,
    intensity: 2,
    children: [inner, worker(log, 'b')],
  })
  return { log, registry, plan, tree }
}

async function innerOf(tree: Supervisor): Promise<Supervisor> {
  const ref = (await tree.children()).find(({ id }) => id === 'inner')?.ref
  if (ref === undefined) throw new Error('inner does not run')
  return supervisorAt(ref)
}

test('a name waits through the give-up and restart of the supervisor above it', async (t) => {
  const { plan, registry, tree } = await nested(t, 'permanent')
  const inner = await innerOf(tree)
  const ended = ending(inner.ref)
  plan.failures = 1
  ;(await workerOf(inner, 'x')).kill()
  const up = registry.whenUp('x')
  assert.is((await ended).type, 'shutdown')
  const next = await innerOf(tree)
  assert.is.not(next.ref, inner.ref)
  assert.is(await up, await workerOf(next, 'x'))
})

test('a name waits through the start of its supervisor that failed and is tried again', async (t) => {
  const { plan, registry, tree } = await nested(t, 'permanent')
  const inner = await innerOf(tree)
  plan.failures = 1
  inner.ref.kill()
  const up = registry.whenUp('x', Number.POSITIVE_INFINITY)
  assert.is((await up).name, 'x')
})

test('a name ends when the supervisor above it gives up and is not restarted', async (t) => {
  for (const restart of ['transient', 'temporary'] as const) {
    const { plan, registry, tree } = await nested(t, restart)
    plan.failures = 1_000
    ;(await workerOf(await innerOf(tree), 'x')).kill()
    assert.is((await failure(registry.whenUp('x', Number.POSITIVE_INFINITY))).code, 'GAVE_UP')
    assert.is(state(registry, 'b'), 'unknown')
  }
})

test('a name ends when the root supervisor has given up', async (t) => {
  const { plan, registry, tree } = await nested(t, 'permanent')
  const ended = ending(tree.ref)
  plan.failures = 1_000
  ;(await workerOf(await innerOf(tree), 'x')).kill()
  const error = await failure(registry.whenUp('x', Number.POSITIVE_INFINITY))
  assert.is(error.code, 'GAVE_UP')
  assert.is((await ended).type, 'shutdown')
})

test('a killed supervisor keeps names of children pending until it is restarted', async (t) => {
  const { registry, tree } = await nested(t, 'permanent')
  const inner = await innerOf(tree)
  inner.ref.kill()
  assert.is(state(registry, 'x'), 'starting')
  await registry.whenUp('x')
  assert.is(state(registry, 'x'), 'up')
})

test('the name of a dynamic child ends when its supervisor restarts without it', async (t) => {
  const { log, registry, tree } = await nested(t, 'permanent')
  const inner = await innerOf(tree)
  await inner.startChild(worker(log, 'added', { name: 'added' }))
  inner.ref.kill()
  assert.is(state(registry, 'added'), 'starting')
  assert.is((await failure(registry.whenUp('added', Number.POSITIVE_INFINITY))).code, 'GAVE_UP')
  assert.is(state(registry, 'x'), 'up')
})

test('names of dynamic children wait through restarts and end when terminated', async (t) => {
  const log = new Recorder()
  const registry = new Registry()
  const tree = await startTree(t, { strategy, registry, children: [dynamicSupervisorSpec({ name: 'pool' })] })
  const pool = (await tree.children())[0]?.ref
  assert.ok(pool)
  const dynamic = dynamicSupervisorAt(pool)
  const { plan, spec } = gated(log, 'x')
  const { ref } = await dynamic.startChild(spec)
  assert.ok(ref)
  plan.failures = 1
  ref.kill()
  assert.is(state(registry, 'x'), 'starting')
  const next = await registry.whenUp('x')
  await dynamic.terminateChild(next)
  assert.is(state(registry, 'x'), 'ended shutdown')
  await dynamic.startChild(spec)
  assert.is(state(registry, 'x'), 'up')
  pool.kill()
  assert.is(state(registry, 'x'), 'starting')
  assert.is((await failure(registry.whenUp('x', Number.POSITIVE_INFINITY))).code, 'GAVE_UP')
})

test('a name lost again while the supervisors above still start is not given up', async (t) => {
  for (const middle of ['one_for_all', 'one_for_one', 'rest_for_one'] as const) {
    for (let microtasks = 0; microtasks < 14; microtasks++) {
      const registry = new Registry()
      const deep = childSpec(echo, undefined, { name: 'deep' })
      const inner = supervisorSpec({ name: 'inner', strategy, intensity: 0, children: [deep] })
      const mid = supervisorSpec({ name: 'mid', strategy: middle, intensity: 0, children: [inner] })
      await startTree(t, { strategy, registry, intensity: 10, children: [mid] })
      registry.whereis('deep')?.kill()
      await registry.whenUp('deep')
      for (let i = 0; i < microtasks; i++) await null
      registry.whereis('deep')?.kill()
      assert.is(await registry.named<typeof echo>('deep').call('ping'), 'pong')
    }
  }
})

test.run()
