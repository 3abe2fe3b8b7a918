import * as assert from 'uvu/assert'
import {
  type ChildSpec,
  childSpec,
  defineActor,
  dynamicSupervisorSpec,
  type RuntimeError,
  type Shutdown,
  startDynamicSupervisor,
  startSupervisor,
  supervisorSpec,
  taskSupervisorSpec,
} from 'caduceus/runtime'
import { readChildSpec } from '../../../runtime/supervision/child-spec.js'
import { suite } from '../../support/suite.js'
import { failure, Recorder, startTree, thrown, worker } from '../_family.js'

const test = suite('child spec')
const log = new Recorder()

/** What JavaScript can pass where TypeScript would not. */
function wrong<T>(value: unknown): T {
  return value as T
}

function refusal(change: Record<string, unknown>): RuntimeError {
  return thrown(() => readChildSpec(wrong<ChildSpec>({ ...worker(log, 'a'), ...change })))
}

test('OTP-1 id and start are required, and the error names the missing one', () => {
  for (const field of ['id', 'start']) {
    const error = refusal({ [field]: undefined })
    assert.is(error.code, 'BAD_SPEC')
    assert.is((error.data as { field: string }).field, field)
    assert.match(error.message, 'undefined')
  }
})

test('OTP-2 the defaults are permanent, worker and 5000 ms, for a supervisor infinity', () => {
  const { id, start } = worker(log, 'a')
  assert.equal(readChildSpec({ id, start }), {
    id,
    start,
    restart: 'permanent',
    shutdown: 5_000,
    type: 'worker',
    significant: false,
  })
  const supervisor = {
    id,
    start,
    restart: 'permanent',
    shutdown: 'infinity',
    type: 'supervisor',
    significant: false,
  }
  assert.equal(readChildSpec({ id, start, type: 'supervisor' }), supervisor)
})

test('overrides in the place of the input are told, where there is no input', () => {
  const idle = defineActor({ name: 'idle', init: () => ({}) })
  const error = thrown(() => childSpec(idle, { name: 'database' }))
  assert.is(error.code, 'BAD_SPEC')
  assert.match(error.message, /input: expected none, as in childSpec\(actor, undefined, \{ name \}\)/)
  childSpec(idle, undefined, { name: 'database' })
  // it may be an input
  childSpec(defineActor({ name: 'named', init: ({ name }: { name: string }) => ({ name }) }), { name: 'a' })
})

test('OTP-3 a behaviour makes its own spec, which can be overridden field by field', () => {
  const one = supervisorSpec({ name: 'one', strategy: 'one_for_one' })
  assert.is(one.id, 'one')
  for (const spec of [one, dynamicSupervisorSpec(), taskSupervisorSpec()]) {
    const { restart, shutdown, type } = readChildSpec(spec)
    assert.equal(
      { restart, shutdown, type },
      { restart: 'permanent', shutdown: 'infinity', type: 'supervisor' },
    )
  }
  const other = supervisorSpec(
    { strategy: 'one_for_one' },
    { id: 'other', restart: 'transient', shutdown: 10, type: 'worker' },
  )
  const { start: _, ...fields } = readChildSpec(other)
  assert.equal(fields, {
    id: 'other',
    restart: 'transient',
    shutdown: 10,
    type: 'worker',
    significant: false,
  })
  assert.is(worker(log, 'a', { restart: 'temporary' }).restart, 'temporary')
})

test('OTP-4 an unknown field of a spec is refused and named (differs: OTP ignores it)', () => {
  const error = refusal({ restrat: 'permanent' })
  assert.is(error.code, 'BAD_SPEC')
  assert.match(error.message, /"restrat"/)
  assert.is((error.data as { field: string }).field, 'restrat')
  assert.match(refusal({ significant: true }).message, /significant/)
})

test('OTP-4 OTP-18 an unknown option of a supervisor is refused and named', async () => {
  const options = { strategy: 'one_for_one' as const, intensty: 1 }
  assert.equal((await failure(startSupervisor(options))).data, { field: 'intensty' })
  assert.equal((await failure(startDynamicSupervisor(wrong({ children: [] })))).data, { field: 'children' })
  assert.equal(thrown(() => taskSupervisorSpec(wrong({ intensity: 1 }))).data, { field: 'intensity' })
})

test('OTP-5 an invalid child spec is refused with field, expected and given', () => {
  const cases: [string, unknown, RegExp][] = [
    ['id', '', /id: expected a non-empty string, got ""/],
    ['id', 7, /id: expected a non-empty string, got 7/],
    ['start', 'run', /start: expected a function, got "run"/],
    ['restart', 'always', /restart: expected permanent, transient or temporary, got "always"/],
    ['restart', null, /restart: .* got null/],
    ['type', 'actor', /type: expected worker or supervisor, got "actor"/],
    ['shutdown', -1, /shutdown: .* got -1/],
    ['shutdown', Number.NaN, /shutdown: .* got NaN/],
    [
      'shutdown',
      'brutal',
      /shutdown: expected 'brutal_kill', 'infinity' or milliseconds of 0 or more, got "brutal"/,
    ],
  ]
  for (const [field, value, message] of cases) {
    const error = refusal({ [field]: value })
    assert.is(error.code, 'BAD_SPEC')
    assert.is((error.data as { field: string }).field, field)
    assert.match(error.message, message)
  }
})

test('a spec is wrong where it is made, and an actor in place of one is told', async (t) => {
  const idle = defineActor({ name: 'idle', init: () => ({}) })
  for (const [field, value] of [
    ['restart', ':transient'],
    ['shutdown', ':brutal_kill'],
    ['id', 7],
  ] as const) {
    const error = thrown(() => childSpec(idle, undefined, wrong({ [field]: value })))
    assert.equal([error.code, (error.data as { field: string }).field], ['BAD_SPEC', field])
  }
  const tree = await startSupervisor({ strategy: 'one_for_one', logger: false })
  t.after(() => tree.stop())
  for (const spec of [idle, [idle, 1]])
    assert.match(
      (await failure(tree.startChild(wrong(spec)))).message,
      /expected what childSpec\(actor, input\) returns/,
    )
})

test('OTP-6 shutdown takes brutal_kill, infinity and milliseconds from 0', () => {
  const legal: Shutdown[] = ['brutal_kill', 'infinity', 0, 1, 5_000, Number.POSITIVE_INFINITY]
  for (const shutdown of legal) assert.is(readChildSpec(worker(log, 'a', { shutdown })).shutdown, shutdown)
})

test('OTP-7 two children with one id refuse the whole start, and nothing is started', async () => {
  const started = new Recorder()
  const children = [worker(started, 'a'), worker(started, 'b'), worker(started, 'a')]
  const error = await failure(startSupervisor({ strategy: 'one_for_one', logger: false, children }))
  assert.is(error.code, 'DUPLICATE_ID')
  assert.equal(error.data, { id: 'a' })
  assert.equal(started.rest(), [])
})

test('OTP-10 ids are compared exactly (differs: they are strings)', async (t) => {
  const tree = await startTree(t, {
    strategy: 'one_for_one',
    children: [worker(log, 'a'), worker(log, 'A'), worker(log, 'a ')],
  })
  assert.is((await tree.childSpec('A')).id, 'A')
  assert.is((await tree.count()).active, 3)
})

test('OTP-20 a supervisor has no default strategy', async () => {
  const error = await failure(startSupervisor(wrong({ children: [] })))
  assert.is(error.code, 'BAD_OPTION')
  assert.match(error.message, 'strategy: expected one_for_one, one_for_all or rest_for_one, got undefined')
})

test('OTP-18 invalid supervisor options reject with field, expected and given', async () => {
  const cases: [string, Record<string, unknown>, RegExp][] = [
    ['strategy', { strategy: 'simple' }, /one_for_one, one_for_all or rest_for_one, got "simple"/],
    ['intensity', { intensity: -1 }, /0 or more, or Infinity, got -1/],
    ['intensity', { intensity: 1.5 }, /got 1.5/],
    ['intensity', { intensity: '3' }, /got "3"/],
    ['periodMs', { periodMs: 0 }, /above 0, got 0/],
    ['periodMs', { periodMs: Number.NaN }, /got NaN/],
    ['name', { name: '' }, /non-empty string/],
  ]
  for (const [field, change, message] of cases) {
    const error = await failure(startSupervisor(wrong({ strategy: 'one_for_one', ...change })))
    assert.is(error.code, 'BAD_OPTION')
    assert.equal(error.data, { field })
    assert.match(error.message, message)
  }
  assert.is(
    (await failure(startSupervisor(wrong({ strategy: 'one_for_one', children: 'a' })))).code,
    'BAD_SPEC',
  )
  assert.is((await failure(startSupervisor(wrong(null)))).code, 'BAD_OPTION')
  assert.is((await failure(startSupervisor(wrong('one_for_one')))).code, 'BAD_OPTION')
})

test('wrong options of dynamic and task supervisors are refused with the field', async () => {
  for (const maxChildren of [-1, Number.NaN, '10', 1.5]) {
    assert.equal((await failure(startDynamicSupervisor(wrong({ maxChildren })))).data, {
      field: 'maxChildren',
    })
    assert.equal(thrown(() => dynamicSupervisorSpec(wrong({ maxChildren }))).data, { field: 'maxChildren' })
    assert.equal(thrown(() => taskSupervisorSpec(wrong({ maxChildren }))).data, { field: 'maxChildren' })
  }
  assert.equal((await failure(startDynamicSupervisor(wrong({ intensity: null })))).data, {
    field: 'intensity',
  })
})

test('an invalid spec at run time rejects in the caller, not in the supervisor', async (t) => {
  const tree = await startTree(t, { strategy: 'one_for_one', children: [worker(log, 'a')] })
  assert.is((await failure(tree.startChild(wrong({ id: 'b' })))).code, 'BAD_SPEC')
  assert.is((await failure(tree.startChild(wrong(null)))).code, 'BAD_SPEC')
  assert.is((await tree.count()).active, 1)
  assert.ok(tree.ref.alive)
})

test('a rejection of a start that nobody awaits is never fatal', async () => {
  void startSupervisor(wrong({}))
  void startDynamicSupervisor(wrong({ name: 1 }))
  await new Promise((resolve) => setImmediate(resolve))
})

test('childSpec refuses a behaviour not made by defineActor', () => {
  const error = thrown(() => childSpec(wrong<ReturnType<typeof defineActor>>({ name: 'a' }), undefined))
  assert.is(error.code, 'BAD_BEHAVIOUR')
})

test.run()
