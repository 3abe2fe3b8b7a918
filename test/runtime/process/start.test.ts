import * as assert from 'uvu/assert'
import {
  type ActorContext,
  type ActorRef,
  type Behaviour,
  childSpec,
  createFakeClock,
  defineActor,
  ignore,
  kill,
  normal,
  RuntimeError,
  shutdownWith,
  startActor,
  type StartOptions,
  startSupervisor,
} from 'caduceus/runtime'
import { suite } from '../../support/suite.js'
import { deferred, ended, hear, Notes, rejection, start, startHost, turn } from '../_actors.js'

const test = suite('start')

/** An actor whose init is the given function. */
function starting(init: (ctx: ActorContext) => unknown, terminate?: () => void) {
  return defineActor({
    name: 'starting',
    init: (_: undefined, ctx) => init(ctx) as object | Promise<object>,
    call: { ping: () => 'pong' },
    terminate: terminate ?? (() => {}),
  })
}

test('OTP-11 OTP-12 a start resolves with the reference once init is done', async (t) => {
  const gate = deferred()
  const soon = await start(
    t,
    starting(() => ({})),
    undefined,
  )
  assert.is(await soon.call('ping'), 'pong')
  const settled = { late: false }
  const later = start(
    t,
    starting(async () => {
      await gate.promise
      return {}
    }),
    undefined,
  )
  void later.then(() => {
    settled.late = true
  })
  await turn()
  assert.is(settled.late, false)
  gate.resolve()
  assert.is(await (await later).call('ping'), 'pong')
})

test('OTP-12 OTP-16 an init that throws or rejects fails the start with that cause', async (t) => {
  const crashes = hear(t, 'crash')
  const host = await startHost(t, { trapExit: true })
  const cause = new Error('no configuration')
  for (const init of [
    () => {
      throw cause
    },
    () => Promise.reject(cause),
  ]) {
    const error = await rejection(host.ctx.start(starting(init)), 'START_FAILED')
    assert.is(error.cause, cause)
    assert.is(error.message, 'starting: init failed: no configuration')
  }
  const exits = await host.exits.next(2)
  assert.equal(
    exits.map(({ reason }) => reason),
    [
      { type: 'crash', error: cause },
      { type: 'crash', error: cause },
    ],
  )
  assert.equal(
    crashes.map(({ during }) => during),
    ['init', 'init'],
  )
})

test('OTP-14 OTP-16 an init that ignores declines the start and exits normally', async (t) => {
  const host = await startHost(t, { trapExit: true })
  for (const init of [() => ignore, async () => ignore])
    await rejection(host.ctx.start(starting(init)), 'IGNORED')
  const exits = await host.exits.next(2)
  assert.equal(
    exits.map(({ reason }) => reason),
    [normal, normal],
  )
})

test('an init that fails because its child declined has failed and leaves nothing', async (t) => {
  const host = await startHost(t, { trapExit: true })
  const behaviour = starting((ctx) => ctx.start(starting(() => ignore)))
  const error = await rejection(host.ctx.start(behaviour), 'START_FAILED')
  assert.is((error.cause as { code?: string }).code, 'IGNORED')
  const [exit] = await host.exits.next(1)
  assert.is(exit?.reason.type, 'crash')
})

test('OTP-16 ctx.stop in init fails the start with that reason', async (t) => {
  const host = await startHost(t, { trapExit: true })
  const notes = new Notes<string>()
  const behaviour = starting(
    (ctx) => {
      ctx.stop(shutdownWith('not today'))
      return {}
    },
    () => notes.add('terminated'),
  )
  const error = await rejection(host.ctx.start(behaviour), 'START_FAILED')
  assert.equal(error.data, { reason: shutdownWith('not today') })
  const [exit] = await host.exits.next(1)
  assert.equal(exit?.reason, shutdownWith('not today'))
  assert.equal(notes.seen, [])
})

test('OTP-17 an init that takes too long is killed with START_TIMEOUT', async (t) => {
  const clock = createFakeClock()
  const host = await startHost(t, { clock })
  const started: ActorRef[] = []
  const behaviour = starting((ctx) => {
    started.push(ctx.self)
    return new Promise(() => {})
  })
  const starts = [host.ctx.start(behaviour), host.ctx.start(behaviour, undefined, { startTimeout: 100 })]
  await clock.advance(100)
  await rejection(starts[1] ?? Promise.resolve(), 'START_TIMEOUT')
  await clock.advance(4_899)
  assert.is(started[0]?.alive, true)
  await clock.advance(1)
  const error = await rejection(starts[0] ?? Promise.resolve(), 'START_TIMEOUT')
  assert.is(error.message, 'starting: init took longer than 5000 ms')
  assert.equal(
    started.map(({ reason }) => reason),
    [{ type: 'killed' }, { type: 'killed' }],
  )
  assert.is(host.ref.alive, true)
  assert.is(clock.pending, 0)
})

test('an init that finishes after a failed start changes nothing', async () => {
  const clock = createFakeClock()
  const gates = [deferred<object>(), deferred<object>()]
  const refs: ActorRef[] = []
  for (const gate of gates) {
    const behaviour = starting((ctx) => {
      refs.push(ctx.self)
      return gate.promise
    })
    const starts = startActor(behaviour, undefined, { clock, startTimeout: 10, logger: false })
    await clock.advance(10)
    await rejection(starts, 'START_TIMEOUT')
  }
  gates[0]?.resolve({})
  gates[1]?.reject(new Error('late'))
  await turn()
  assert.equal(
    refs.map(({ reason }) => reason?.type),
    ['killed', 'killed'],
  )
})

test('an actor killed during init fails the start with the reason', async (t) => {
  const host = await startHost(t, { trapExit: true })
  const refs = new Notes<ActorRef>()
  const hanging = starting((ctx) => {
    refs.add(ctx.self)
    return new Promise(() => {})
  })
  const late = host.ctx.start(hanging)
  refs.seen[0]?.kill()
  const error = await rejection(late, 'START_FAILED')
  assert.equal(error.data, { reason: { type: 'killed' } })
  assert.match(error.message, 'ended before init was done (killed)')
  for (const answer of [{}, ignore, new Promise(() => {})]) {
    const suicidal = starting((ctx) => {
      ctx.exit(ctx.self, kill)
      return answer
    })
    assert.equal((await rejection(host.ctx.start(suicidal), 'START_FAILED')).data, {
      reason: { type: 'killed' },
    })
  }
})

test('a failed start releases resources of init before it rejects', async (t) => {
  const host = await startHost(t, { trapExit: true })
  const notes = new Notes<string>()
  const takes = (then: (ctx: ActorContext) => unknown) =>
    starting((ctx) => {
      ctx.own(async () => {
        await turn()
        notes.add('released')
      })
      return then(ctx)
    })
  const fail = (): never => {
    throw new Error('broken')
  }
  const ways = [fail, async () => fail(), () => ignore, (ctx: ActorContext) => ctx.exit(ctx.self, kill)]
  for (const way of ways) {
    const error = await host.ctx.start(takes(way)).catch((reason: unknown) => reason)
    assert.instance(error, Error)
    notes.add('rejected')
  }
  assert.equal(
    notes.seen,
    ways.flatMap(() => ['released', 'rejected']),
  )
})

test('JS-4 children start one by one in order and stop in reverse order', async () => {
  const notes = new Notes<string>()
  const child = (id: string) => {
    const behaviour = defineActor({
      name: id,
      trapExit: true,
      async init(_: undefined) {
        notes.add(`${id} starts`)
        await turn()
        notes.add(`${id} is up`)
        return {}
      },
      async terminate() {
        notes.add(`${id} stops`)
        await turn()
        notes.add(`${id} is gone`)
      },
    })
    return childSpec(behaviour, undefined)
  }
  const children = [child('a'), child('b')]
  const tree = await startSupervisor({ strategy: 'one_for_one', logger: false, children })
  await tree.stop()
  const up = ['a starts', 'a is up', 'b starts', 'b is up']
  assert.equal(notes.seen, [...up, 'b stops', 'b is gone', 'a stops', 'a is gone'])
})

test('OTP-19 a taken name fails the newcomer and spares the holder', async (t) => {
  const host = await startHost(t)
  const inits = new Notes<string>()
  const behaviour = starting(() => {
    inits.add('init')
    return {}
  })
  const holder = await host.ctx.start(behaviour, undefined, { name: 'one' })
  const error = await rejection(host.ctx.start(behaviour, undefined, { name: 'one' }), 'ALREADY_STARTED')
  assert.is((error.data as { ref: ActorRef }).ref, holder)
  assert.equal([inits.seen.length, holder.alive, host.ref.alive], [1, true, true])
})

test('a child ends with its parent, however the parent ends', async (t) => {
  for (const [reason, seen] of [
    [normal, { type: 'shutdown' }],
    [shutdownWith('enough'), shutdownWith('enough')],
  ] as const) {
    const host = await startHost(t)
    const child = await host.ctx.start(starting(() => ({})))
    const grandchild = await startHost(t, { under: host.ctx })
    await host.ref.stop(reason)
    assert.equal(await ended(child), seen)
    assert.equal(await ended(grandchild.ref), seen)
  }
})

test('invalid behaviours and options are refused with field, expected and given', async (t) => {
  const host = await startHost(t)
  const good = starting(() => ({}))
  const attempt = (behaviour: unknown, options?: unknown) =>
    host.ctx.start(behaviour as Behaviour<object, undefined>, undefined, options as StartOptions)
  const messages = [
    await rejection(attempt({ name: 'x' }), 'BAD_BEHAVIOUR'),
    await rejection(attempt(undefined), 'BAD_BEHAVIOUR'),
    await rejection(attempt(good, { startTimeout: '5s' }), 'BAD_OPTION'),
    await rejection(attempt(good, { startTimeout: 0 }), 'BAD_OPTION'),
    await rejection(attempt(good, { name: 7 }), 'BAD_OPTION'),
    await rejection(attempt(good, null), 'BAD_OPTION'),
  ].map(({ message }) => message)
  assert.equal(messages, [
    'expected what defineActor returns, got an object with keys [name]',
    'expected what defineActor returns, got undefined',
    'startTimeout: expected milliseconds above 0, got "5s"',
    'startTimeout: expected milliseconds above 0, got 0',
    'name: expected a non-empty string, got 7',
    'options: expected an object, got null',
  ])
  const clock = { now: () => 0, setTimeout: () => 0, clearTimeout: () => {} }
  for (const key of ['now', 'setTimeout', 'clearTimeout'])
    for (const wrong of [{ ...clock, [key]: undefined }, { [key]: clock.now }, null])
      await rejection(startActor(good, undefined, { clock: wrong as never, logger: false }), 'BAD_OPTION')
  await rejection(startActor(good, undefined, { registry: {} as never, logger: false }), 'BAD_OPTION')
  assert.is(host.ref.alive, true)
})

test('an init that throws START_FAILED is reported as its own crash', async (t) => {
  const crashes = hear(t, 'crash')
  const behaviour = defineActor({
    name: 'starter',
    init(): object {
      throw new RuntimeError('START_FAILED', 'another one')
    },
  })
  await startActor(behaviour, undefined, { logger: false }).catch(() => {})
  assert.equal(
    crashes.map(({ name, during }) => [name, during]),
    [['starter', 'init']],
  )
})

test.run()
