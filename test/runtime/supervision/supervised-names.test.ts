import * as assert from 'uvu/assert'
import { childSpec, defineActor, type ProcessRef, Registry } from 'caduceus/runtime'
import { suite } from '../../support/suite.js'
import { ending, failure, gate, Recorder, startTree, turn, worker, workerOf } from '../_family.js'
import { gated, state } from '../_names.js'

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

test('OTP-102 a name finds the next incarnation, a reference does not', async (t) => {
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

test('a name is starting between incarnations, and callers wait for the next', async (t) => {
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

test('names of a group end when its failing child is terminated by hand', async (t) => {
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

test.run()
