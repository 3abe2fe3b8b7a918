import * as assert from 'uvu/assert'
import {
  childSpec,
  createFakeClock,
  type Deferred,
  defineActor,
  type ExitReason,
  Registry,
  type RuntimeError,
  startSupervisor,
} from 'caduceus/runtime'
import { suite, type TestContext } from '../../support/suite.js'
import { deferred, Notes, rejection, start, thrown, turn } from '../_actors.js'

const test = suite('reference by name')

/** A service whose starts the test lets through one by one, from the second on. */
function service() {
  const starts = new Notes<{ resolve(): void; reject(error: unknown): void }>()
  const behaviour = defineActor({
    name: 'service',
    async init(_: undefined) {
      const gate = deferred()
      starts.add({ resolve: () => gate.resolve(), reject: gate.reject })
      if (starts.seen.length > 1) await gate.promise
      return { kept: [] as Deferred<number>[], incarnation: starts.seen.length }
    },
    call: {
      which: (state) => state.incarnation,
      later(state, _: undefined, ctx) {
        const reply = ctx.defer<number>()
        state.kept.push(reply)
        return reply
      },
    },
    cast: {
      fail() {
        throw new Error('broken')
      },
    },
  })
  return { behaviour, starts }
}

async function supervise(t: TestContext, behaviour: ReturnType<typeof service>['behaviour'], intensity = 3) {
  const clock = createFakeClock()
  const registry = new Registry()
  const tree = await startSupervisor({
    strategy: 'one_for_one',
    intensity,
    clock,
    registry,
    logger: false,
    children: [childSpec(behaviour, undefined, { name: 'service', startTimeout: 60_000 })],
  })
  t.after(() => tree.ref.kill())
  const named = registry.named<typeof behaviour>('service')
  const crashIt = async (): Promise<void> => {
    named.cast('fail')
    await turn()
    await turn()
  }
  return { clock, registry, tree, named, crashIt }
}

test('OTP-102 a name finds each new incarnation, a reference does not', async (t) => {
  const { behaviour, starts } = service()
  const { named, crashIt } = await supervise(t, behaviour)
  const first = named.current
  assert.is(await named.call('which'), 1)
  await crashIt()
  starts.seen[1]?.resolve()
  assert.is(await named.call('which'), 2)
  assert.is(first?.alive, false)
  await rejection(first?.call('which') ?? Promise.resolve(), 'NOPROC')
})

test('a call by name waits between incarnations, also through failed starts', async (t) => {
  const { behaviour, starts } = service()
  const { named, registry, crashIt } = await supervise(t, behaviour)
  await crashIt()
  assert.is(registry.state('service').state, 'starting')
  const call = named.call('which')
  const up = registry.whenUp('service')
  assert.equal([named.cast('fail'), named.current !== undefined], [true, true])
  starts.seen[1]?.reject(new Error('not yet'))
  await starts.next(3)
  starts.seen[2]?.resolve()
  assert.is(await call, 3)
  assert.is(await up, named.current)
})

test('a name held below a supervised actor waits through a restart of either', async (t) => {
  const gates = new Notes<() => void>()
  const helper = defineActor({
    name: 'helper',
    async init(_: undefined) {
      const gate = deferred()
      gates.add(() => gate.resolve())
      if (gates.seen.length > 1) await gate.promise
      return { incarnation: gates.seen.length }
    },
    call: { which: (state) => state.incarnation },
  })
  const worker = defineActor({
    name: 'worker',
    init: async (_: undefined, ctx) => ({ helper: await ctx.start(helper, undefined, { name: 'helper' }) }),
  })
  const registry = new Registry()
  const children = [childSpec(worker, undefined, { name: 'worker' })]
  const tree = await startSupervisor({ strategy: 'one_for_one', registry, logger: false, children })
  t.after(() => tree.ref.kill())
  const named = registry.named<typeof helper>('helper')
  const error = new Error('broken')
  for (const [victim, incarnation] of [
    ['worker', 2],
    ['helper', 3],
  ] as const) {
    registry.whereis(victim)?.exit({ type: 'crash', error })
    const call = named.call('which')
    ;(await gates.next(incarnation))[incarnation - 1]?.()
    assert.is(await call, incarnation)
  }
  await tree.stop()
  await rejection(named.call('which'), 'GAVE_UP')
})

test('one deadline on the clock of the tree covers waiting for name and reply', async (t) => {
  const { behaviour, starts } = service()
  const { named, registry, clock, crashIt } = await supervise(t, behaviour)
  await crashIt()
  const outcome = new Notes<RuntimeError>()
  void named.call('later', undefined, { timeout: 1_000 }).catch(outcome.add)
  const never = registry.whenUp('service', 500)
  await clock.advance(500)
  const error = await rejection(never, 'TIMEOUT')
  assert.equal([error.retryable, error.data], [true, { name: 'service', ms: 500, sent: false }])
  await clock.advance(100)
  starts.seen[1]?.resolve()
  await registry.whenUp('service')
  await clock.advance(380)
  assert.equal(outcome.seen, [])
  await clock.advance(40)
  assert.equal(
    outcome.seen.map(({ code, message }) => [code, message.slice(0, 36)]),
    [['TIMEOUT', 'service.later: no reply within 400 m']],
  )
})

test('a call by name whose name does not come up in time was not sent', async (t) => {
  const { behaviour } = service()
  const { named, clock, crashIt } = await supervise(t, behaviour)
  await crashIt()
  const call = named.call('which', undefined, { timeout: 50 })
  await clock.advance(50)
  const error = await rejection(call, 'TIMEOUT')
  assert.equal(error.data, { name: 'service', ms: 50, sent: false })
})

test('a call by name that reached its actor fails with EXITED and is not resent', async (t) => {
  const { behaviour, starts } = service()
  const { named, crashIt } = await supervise(t, behaviour)
  const call = named.call('later')
  await crashIt()
  starts.seen[1]?.resolve()
  const error = await rejection(call, 'EXITED')
  assert.equal([error.retryable, (error.data as { sent: boolean }).sent], [true, true])
})

test('after the supervisor gave up, calls by name fail with GAVE_UP and the reason', async (t) => {
  const { behaviour, starts } = service()
  const { named, registry, tree, crashIt } = await supervise(t, behaviour, 1)
  await crashIt()
  const waiting = [named.call('which'), registry.whenUp('service')]
  starts.seen[1]?.reject(new Error('no more'))
  await new Promise((resolve) => tree.onExit(resolve))
  for (const call of [...waiting, named.call('which'), registry.whenUp('service')]) {
    const error = await rejection(call, 'GAVE_UP')
    const { name, reason, sent } = error.data as { name: string; reason: ExitReason; sent: boolean }
    assert.equal([name, reason.type, sent, error.retryable], ['service', 'crash', false, false])
  }
  thrown(() => named.send('hello'), 'GAVE_UP')
  assert.equal([named.current, named.cast('fail')], [undefined, false])
})

test('OTP-92 unknown name: calls reject with NOPROC, casts drop, send throws', async () => {
  const { behaviour } = service()
  const named = new Registry().named<typeof behaviour>('nobody')
  await rejection(named.call('which'), 'NOPROC')
  assert.is(named.cast('fail'), false)
  thrown(() => named.send('hello'), 'NOPROC')
})

test('OTP-89 an actor that calls itself by name is refused, in init too', async (t) => {
  const registry = new Registry()
  const behaviour = defineActor({
    name: 'narcissus',
    async init(_: undefined) {
      const self = registry.named('narcissus') as unknown as { call(name: string): Promise<unknown> }
      await rejection(self.call('look'), 'CALLING_SELF')
      return { self }
    },
    call: { look: (state) => rejection(state.self.call('look'), 'CALLING_SELF').then(({ code }) => code) },
  })
  const ref = await start(t, behaviour, undefined, { name: 'narcissus', registry })
  assert.is(await ref.call('look'), 'CALLING_SELF')
})

test('wrong times are refused when waiting for a name', async () => {
  const registry = new Registry()
  const { message } = await rejection(registry.whenUp('x', Number.NaN), 'BAD_OPTION')
  assert.is(message, 'timeout: expected milliseconds of 0 or more, got NaN')
})

test.run()
