import * as assert from 'uvu/assert'
import { defineActor } from '../../runtime/behaviour.js'
import { childSpec } from '../../runtime/child-spec.js'
import { dynamicSupervisorAt, dynamicSupervisorSpec } from '../../runtime/dynamic-supervisor.js'
import type { ProcessRef } from '../../runtime/ref.js'
import { Registry } from '../../runtime/registry.js'
import type { Strategy } from '../../runtime/strategy.js'
import { type Supervisor, supervisorAt, supervisorSpec } from '../../runtime/supervise.js'
import { suite, type TestContext } from '../support/suite.js'
import {
  ending,
  failure,
  gate,
  Recorder,
  startTree,
  turn,
  worker,
  type WorkerOptions,
  workerOf,
} from './_family.js'

const test = suite('names under supervision')
const strategy = 'one_for_one'

const counter = defineActor({
  name: 'counter',
  init: () => ({ count: 0 }),
  call: { next: (state) => ++state.count },
  cast: {
    crash() {
      throw new Error('crash')
    },
  },
})

/** A child with a name whose next starts wait for a gate, or fail. */
function gated(log: Recorder, id: string, options: WorkerOptions = {}) {
  const plan = { wait: undefined as Promise<void> | undefined, failures: 0 }
  const init = (): Promise<void> | undefined => {
    if (plan.failures-- > 0) throw new Error(`${id} cannot start`)
    return plan.wait
  }
  return { plan, spec: worker(log, id, { name: id, init, ...options }) }
}

function state(registry: Registry, name: string): string {
  const known = registry.state(name)
  return known.state === 'ended' ? `ended ${known.reason.type}` : known.state
}

test('OTP-102 a name finds the next incarnation, a reference stays dead', async (t) => {
  const registry = new Registry()
  await startTree(t, { strategy, registry, children: [childSpec(counter, undefined, { name: 'hits' })] })
  const hits = registry.named<typeof counter>('hits')
  const first = hits.current
  assert.ok(first)
  assert.is(await hits.call('next'), 1)
  assert.is(await hits.call('next'), 2)
  hits.cast('crash')
  await ending(first)
  assert.is(await hits.call('next'), 1)
  assert.is((await failure(first.call('next'))).code, 'NOPROC')
})

test('a name is starting between two incarnations, and who calls then waits for the next', async (t) => {
  const log = new Recorder()
  const registry = new Registry()
  const { plan, spec } = gated(log, 'a')
  const tree = await startTree(t, { strategy, registry, children: [spec] })
  assert.is(state(registry, 'a'), 'up')
  const ready = gate()
  plan.wait = ready.opened
  ;(await workerOf(tree, 'a')).kill()
  assert.is(state(registry, 'a'), 'starting')
  const up = registry.whenUp('a')
  await turn()
  assert.is(state(registry, 'a'), 'starting')
  ready.open()
  assert.is(await up, await workerOf(tree, 'a'))
  assert.is(state(registry, 'a'), 'up')
})

test('a name stays starting through restarts that fail', async (t) => {
  const log = new Recorder()
  const registry = new Registry()
  const { plan, spec } = gated(log, 'a')
  const tree = await startTree(t, { strategy, registry, intensity: 5, children: [spec] })
  plan.failures = 3
  ;(await workerOf(tree, 'a')).kill()
  const up = registry.whenUp('a')
  assert.is(await up, await workerOf(tree, 'a'))
})

test('a name keeps waiting when an incarnation dies before its start is over', async (t) => {
  const log = new Recorder()
  const registry = new Registry()
  const plan = { dies: false, next: undefined as Promise<ProcessRef> | undefined }
  const spec = worker(log, 'a', { name: 'a' })
  const tree = await startTree(t, {
    strategy,
    registry,
    children: [
      {
        ...spec,
        async start(ctx) {
          const ref = (await spec.start(ctx)) as ProcessRef
          if (!plan.dies) return ref
          plan.dies = false
          ref.kill()
          plan.next = registry.whenUp('a')
          return ref
        },
      },
    ],
  })
  plan.dies = true
  const first = await workerOf(tree, 'a')
  first.kill()
  assert.equal(await log.next(5), ['start a', 'end a', 'start a', 'end a', 'start a'])
  assert.is(await plan.next, await workerOf(tree, 'a'))
})

test('a name has ended with its last reason when its child will not be started again', async (t) => {
  const log = new Recorder()
  const registry = new Registry()
  const children = [
    gated(log, 'temporary', { restart: 'temporary' }).spec,
    gated(log, 'transient', { restart: 'transient' }).spec,
    gated(log, 'stopped').spec,
    gated(log, 'deleted').spec,
  ]
  const tree = await startTree(t, { strategy, registry, children })
  ;(await workerOf(tree, 'temporary')).kill()
  ;(await workerOf(tree, 'transient')).cast('stop')
  await tree.terminateChild('stopped')
  await tree.terminateChild('deleted')
  await tree.deleteChild('deleted')
  assert.is(state(registry, 'temporary'), 'ended killed')
  assert.is(state(registry, 'transient'), 'ended normal')
  assert.is(state(registry, 'stopped'), 'ended shutdown')
  assert.is(state(registry, 'deleted'), 'ended shutdown')
  for (const name of ['temporary', 'transient', 'stopped', 'deleted']) {
    assert.is((await failure(registry.named<typeof counter>(name).call('next'))).code, 'GAVE_UP')
  }
  await tree.restartChild('stopped')
  assert.is(state(registry, 'stopped'), 'up')
})

test('waiting callers get GAVE_UP when the supervisor at the root gives up or stops', async (t) => {
  for (const way of ['gives up', 'stops', 'is killed']) {
    const log = new Recorder()
    const registry = new Registry()
    const { plan, spec } = gated(log, 'a')
    const tree = await startTree(t, {
      strategy,
      registry,
      intensity: way === 'gives up' ? 2 : 1_000_000,
      children: [spec],
    })
    const a = registry.named<typeof counter>('a')
    plan.failures = 1_000_000
    ;(await workerOf(tree, 'a')).kill()
    const waiting = failure(a.call('next', undefined, { timeout: Number.POSITIVE_INFINITY }))
    await turn()
    if (way === 'stops') void tree.stop()
    if (way === 'is killed') tree.ref.kill()
    const error = await waiting
    assert.is(error.code, 'GAVE_UP', way)
    assert.is((error.data as { sent: boolean }).sent, false)
    assert.is((await failure(a.call('next'))).code, 'GAVE_UP', way)
  }
})

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

test('a name ends when giving up went all the way to the root', async (t) => {
  const { plan, registry, tree } = await nested(t, 'permanent')
  const ended = ending(tree.ref)
  plan.failures = 1_000
  ;(await workerOf(await innerOf(tree), 'x')).kill()
  const error = await failure(registry.whenUp('x', Number.POSITIVE_INFINITY))
  assert.is(error.code, 'GAVE_UP')
  assert.is((await ended).type, 'shutdown')
})

test('a killed supervisor leaves the names of its children waiting until its parent has restarted it', async (t) => {
  const { registry, tree } = await nested(t, 'permanent')
  const inner = await innerOf(tree)
  inner.ref.kill()
  assert.is(state(registry, 'x'), 'starting')
  await registry.whenUp('x')
  assert.is(state(registry, 'x'), 'up')
})

test('the name of a child that was added at run time ends when its supervisor comes back without it', async (t) => {
  const { log, registry, tree } = await nested(t, 'permanent')
  const inner = await innerOf(tree)
  await inner.startChild(worker(log, 'added', { name: 'added' }))
  inner.ref.kill()
  assert.is(state(registry, 'added'), 'starting')
  assert.is((await failure(registry.whenUp('added', Number.POSITIVE_INFINITY))).code, 'GAVE_UP')
  assert.is(state(registry, 'x'), 'up')
})

test('names of siblings that a group restart stopped wait with the group', async (t) => {
  const log = new Recorder()
  const registry = new Registry()
  const [a, b] = [gated(log, 'a'), gated(log, 'b')]
  const tree = await startTree(t, { strategy: 'one_for_all', registry, children: [a.spec, b.spec] })
  const ready = gate()
  a.plan.wait = ready.opened
  ;(await workerOf(tree, 'a')).kill()
  await turn()
  assert.is(state(registry, 'b'), 'starting')
  const up = Promise.all([registry.whenUp('a'), registry.whenUp('b')])
  ready.open()
  await up
})

test('names of a group end when its failing child is taken out of the restart loop by hand', async (t) => {
  const log = new Recorder()
  const registry = new Registry()
  const [a, b] = [gated(log, 'a'), gated(log, 'b')]
  const tree = await startTree(t, {
    strategy: 'one_for_all',
    intensity: 1_000_000,
    registry,
    children: [a.spec, b.spec],
  })
  a.plan.failures = 1_000_000
  ;(await workerOf(tree, 'b')).kill()
  await turn()
  const waiting = Promise.all([failure(registry.whenUp('a')), failure(registry.whenUp('b'))])
  await tree.terminateChild('a')
  assert.equal(
    (await waiting).map(({ code }) => code),
    ['GAVE_UP', 'GAVE_UP'],
  )
})

test('the name of a sibling that waits for its group ends when it is deleted', async (t) => {
  const log = new Recorder()
  const registry = new Registry()
  const [a, b] = [gated(log, 'a'), gated(log, 'b')]
  const limits = { strategy: 'rest_for_one', intensity: Number.POSITIVE_INFINITY } as const
  const tree = await startTree(t, { ...limits, registry, children: [a.spec, b.spec] })
  a.plan.failures = 1_000_000
  ;(await workerOf(tree, 'a')).kill()
  await turn()
  const waiting = failure(registry.whenUp('b', Number.POSITIVE_INFINITY))
  await tree.deleteChild('b')
  assert.is((await waiting).code, 'GAVE_UP')
  assert.is(state(registry, 'a'), 'starting')
})

test('a manual restart that fails ends the name it had taken', async (t) => {
  const log = new Recorder()
  const registry = new Registry()
  const { plan, spec } = gated(log, 'a')
  const tree = await startTree(t, { strategy, registry, children: [spec] })
  await tree.terminateChild('a')
  plan.failures = 1
  await failure(tree.restartChild('a'))
  assert.is(state(registry, 'a'), 'ended crash')
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

test.run()
