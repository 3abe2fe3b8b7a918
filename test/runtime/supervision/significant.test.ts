import * as assert from 'uvu/assert'
import {
  type AutoShutdown,
  type ChildOverrides,
  type ChildSpec,
  childSpec,
  defineActor,
  type ExitReason,
  normal,
  Registry,
  startDynamicSupervisor,
  startSupervisor,
  subscribe,
  supervisorSpec,
} from 'caduceus/runtime'
import { suite } from '../../support/suite.js'

const test = suite('significant children')

const worker = defineActor({
  name: 'worker',
  init: () => ({}),
  cast: {
    finish: (_, __: undefined, ctx) => ctx.stop(normal),
    crash: () => {
      throw new Error('crash')
    },
  },
})

function child(id: string, overrides: ChildOverrides = {}): ChildSpec {
  return childSpec(worker, undefined, { id, name: id, restart: 'transient', ...overrides })
}

async function startTree(
  t: { after(undo: () => unknown): void },
  autoShutdown: AutoShutdown,
  ...children: ChildSpec[]
) {
  const registry = new Registry()
  const tree = await startSupervisor({
    strategy: 'one_for_all',
    autoShutdown,
    children,
    registry,
    logger: false,
  })
  t.after(() => tree.ref.kill())
  const ended = new Promise<ExitReason>((resolve) => tree.onExit(resolve))
  const cast = async (id: string, what: 'finish' | 'crash') => {
    const ref = registry.named<typeof worker>(id).current
    ref?.cast(what)
    await new Promise((resolve) => ref?.onExit(resolve))
  }
  return { tree, registry, ended, cast }
}

test('OTP-60 any_significant: the first significant child to end stops the supervisor', async (t) => {
  const { ended, cast, registry } = await startTree(
    t,
    'any_significant',
    child('a'),
    child('b', { significant: true }),
  )
  const a = registry.whereis('a')
  await cast('b', 'finish')
  assert.equal(await ended, { type: 'shutdown' })
  assert.not(a?.alive)
})

test('OTP-60 a temporary significant child counts however it ends', async (t) => {
  const { ended, cast } = await startTree(
    t,
    'any_significant',
    child('a', { significant: true, restart: 'temporary' }),
  )
  await cast('a', 'crash')
  assert.equal(await ended, { type: 'shutdown' })
})

test('OTP-60 an end before a restart, or of a plain child, does not count', async (t) => {
  const { tree, cast, registry } = await startTree(
    t,
    'any_significant',
    child('a', { significant: true }),
    child('b'),
  )
  await cast('b', 'finish')
  assert.is((await tree.children()).find(({ id }) => id === 'b')?.status, 'stopped')
  const before = registry.whereis('a')
  await cast('a', 'crash')
  await registry.whenUp('a')
  assert.is.not(registry.whereis('a'), before)
  assert.ok(tree.ref.alive)
})

test('OTP-61 all_significant: the last significant end stops the supervisor', async (t) => {
  const significant = { significant: true } as const
  const { tree, ended, cast } = await startTree(
    t,
    'all_significant',
    child('a', significant),
    child('b', significant),
    child('c'),
  )
  await cast('a', 'finish')
  assert.is((await tree.count()).active, 2)
  await cast('b', 'finish')
  assert.equal(await ended, { type: 'shutdown' })
})

test('OTP-62 a stop by hand never counts', async (t) => {
  const { tree } = await startTree(t, 'any_significant', child('a', { significant: true }))
  await tree.terminateChild('a')
  assert.is((await tree.count()).active, 0)
  assert.ok(tree.ref.alive)
})

test('OTP-62 a stop for the restart of a sibling never counts', async (t) => {
  const temporary = { significant: true, restart: 'temporary' } as const
  const { tree, cast, registry } = await startTree(t, 'any_significant', child('a'), child('b', temporary))
  await cast('a', 'crash')
  await registry.whenUp('a')
  assert.equal(
    (await tree.children()).map(({ id }) => id),
    ['a'],
  )
  assert.ok(tree.ref.alive)
})

test('OTP-8 a significant child must not be permanent and needs auto shutdown', async (t) => {
  const start = (autoShutdown: AutoShutdown, spec: ChildSpec) =>
    startSupervisor({ strategy: 'one_for_one', autoShutdown, children: [spec], logger: false }).catch(
      (error) => error,
    )
  const spec: ChildSpec = { ...child('a', { significant: true }), restart: 'permanent' }
  const permanent = await start('any_significant', spec)
  assert.is(permanent.code, 'BAD_SPEC')
  assert.match(permanent.message, 'child "a": significant: expected false for a permanent child')
  assert.match(
    (await start('never', child('a', { significant: true }))).message,
    'unless the supervisor has autoShutdown',
  )
  assert.match(
    (await start('sometimes' as never, child('a'))).message,
    'autoShutdown: expected never, any_significant or all_significant',
  )
  const { tree } = await startTree(t, 'never')
  const error = await tree.startChild(child('x', { significant: true })).catch((error) => error)
  assert.is(error.code, 'BAD_SPEC')
  assert.ok(tree.ref.alive)
})

test('OTP-9 a dynamic supervisor refuses significant children', async (t) => {
  const tree = await startDynamicSupervisor({ logger: false })
  t.after(() => tree.stop())
  const error = await tree.startChild(child('a', { significant: true })).catch((error) => error)
  assert.is(error.code, 'BAD_SPEC')
  assert.match(error.message, 'under a dynamic supervisor')
})

test('OTP-57 a supervisor that may stay dead silently is warned of at its start', async (t) => {
  const warned: unknown[] = []
  t.after(subscribe('notice', ({ notice, detail }) => warned.push([notice, detail])))
  const branch = (restart: 'permanent' | 'transient') =>
    supervisorSpec({ name: restart, strategy: 'one_for_one' }, { restart })
  const tree = await startSupervisor({
    strategy: 'one_for_one',
    children: [branch('permanent'), branch('transient')],
    logger: false,
  })
  t.after(() => tree.stop())
  assert.equal(warned, [['branch_may_stay_dead', { child: 'transient', restart: 'transient' }]])
})

test.run()
