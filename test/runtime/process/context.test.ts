import { EventEmitter } from 'node:events'
import * as assert from 'uvu/assert'
import { crash, createFakeClock, defineActor, kill, type Owned } from 'caduceus/runtime'
import { processOf } from '../../../runtime/process/ref.js'
import { suite } from '../../support/suite.js'
import { deferred, ended, hear, Notes, rejection, start, startHost, thrown, turn } from '../_actors.js'
import { zombie } from '../_zombie.js'

const test = suite('context')

test('JS-6 each ctx method of a dead incarnation throws ACTOR_DEAD and is counted', async (t) => {
  const host = await startHost(t)
  const other = await startHost(t)
  const monitor = host.ctx.monitor(other.ref)
  const { ctx } = host
  const { behaviour } = zombie(() => {})
  host.ref.kill()
  const uses: (() => unknown)[] = [
    () => ctx.clock,
    () => ctx.link(other.ref),
    () => ctx.unlink(other.ref),
    () => ctx.exit(other.ref, kill),
    () => ctx.start(behaviour),
    () => ctx.continue(() => {}),
    () => ctx.defer(),
    () => ctx.stop(),
    () => ctx.sendAfter(1),
    () => ctx.monitor(other.ref),
    () => ctx.demonitor(monitor),
    () => ctx.bind(() => {}),
    () => ctx.own(() => {}),
  ]
  for (const use of uses) assert.match(thrown(use, 'ACTOR_DEAD').message, /^host has ended \(killed\)/)
  assert.is(processOf(host.ref).tree.afterlife.refused, uses.length)
  assert.is(other.ref.alive, true)
})

test('JS-6 sends, stops and names of a dead incarnation have no effect', async (t) => {
  const host = await startHost(t, { trapExit: true })
  const other = await startHost(t, { registry: host.ctx.registry })
  const { registry } = host.ctx
  registry.register('other', other.ref)
  const calls = defineActor({
    name: 'target',
    init: () => ({}),
    call: { ping: () => 1 },
    cast: { poke: () => 1 },
  })
  const target = await host.ctx.start(calls)
  const { behaviour, die } = zombie(async () => {
    await rejection(target.call('ping'), 'ACTOR_DEAD')
    thrown(() => target.cast('poke'), 'ACTOR_DEAD')
    thrown(() => other.ref.send('boo'), 'ACTOR_DEAD')
    thrown(() => other.ref.kill(), 'ACTOR_DEAD')
    thrown(() => other.ref.exit(kill), 'ACTOR_DEAD')
    await rejection(other.ref.stop(), 'ACTOR_DEAD')
    thrown(() => registry.unregister('other'), 'ACTOR_DEAD')
    thrown(() => registry.register('mine', other.ref), 'ACTOR_DEAD')
    await rejection(registry.named<typeof calls>('target').call('ping'), 'ACTOR_DEAD')
    return 'all refused'
  })
  registry.register('target', target)
  const ref = await host.ctx.start(behaviour)
  assert.is(await die(ref), 'all refused')
  await turn()
  assert.equal(
    [other.ref.alive, other.messages.seen, registry.whereis('other') === other.ref],
    [true, [], true],
  )
  assert.equal([registry.whereis('mine'), target.alive], [undefined, true])
})

test('a late rejection of a dead incarnation is ignored', async (t) => {
  const crashes = hear(t, 'crash')
  const { behaviour, die } = zombie(() => 'done')
  const gate = deferred<never>()
  const failing = defineActor({ name: 'failing', init: () => ({}), call: { wait: () => gate.promise } })
  const failed = await start(t, failing)
  const call = failed.call('wait')
  await turn()
  failed.kill()
  gate.reject(new Error('too late'))
  await rejection(call, 'EXITED')
  assert.is(await die(await start(t, behaviour)), 'done')
  assert.equal([failed.reason?.type, crashes.length], ['killed', 0])
})

test('resources of an actor are released at its end, newest first, async ones too', async (t) => {
  const notes = new Notes<string>()
  const host = await startHost(t)
  const { ctx } = host
  ctx.own(() => notes.add('function'))
  ctx.own({ [Symbol.dispose]: () => notes.add('disposable') })
  ctx.own({
    async [Symbol.asyncDispose]() {
      notes.add('async disposable begins')
      await turn()
      notes.add('async disposable ends')
    },
  })
  ctx.own(async () => {
    notes.add('async function begins')
    await turn()
    notes.add('async function ends')
  })
  const resource = { [Symbol.dispose]: () => notes.add('newest') }
  assert.is(ctx.own(resource), resource)
  await host.ref.stop()
  assert.equal(notes.seen, [
    'newest',
    'async function begins',
    'async function ends',
    'async disposable begins',
    'async disposable ends',
    'disposable',
    'function',
  ])
})

test('a resource that fails to release is reported, and the others are released', async (t) => {
  const notices = hear(t, 'notice')
  const host = await startHost(t)
  const notes = new Notes<string>()
  const errors = [new Error('sync'), new Error('async')]
  host.ctx.own(() => notes.add('oldest'))
  host.ctx.own(() => {
    throw errors[0]
  })
  host.ctx.own(() => Promise.reject(errors[1]))
  host.ctx.own(() => notes.add('newest'))
  assert.equal(await host.ref.stop(), { type: 'normal' })
  assert.equal(notes.seen, ['newest', 'oldest'])
  assert.equal(
    notices.map(({ notice, detail }) => [notice, detail]),
    [
      ['cleanup_failed', errors[1]],
      ['cleanup_failed', errors[0]],
    ],
  )
})

test('a release has at most 5 s, and a slower one is reported', async (t) => {
  const clock = createFakeClock()
  const notices = hear(t, 'notice')
  const host = await startHost(t, { clock })
  const settled = new Notes<string>()
  host.ctx.own(() => new Promise<void>(() => {}))
  void host.ref.stop({ type: 'normal' }, 60_000).then(() => settled.add('stopped'))
  await clock.advance(4_999)
  assert.equal([host.ref.alive, settled.seen], [false, []])
  await clock.advance(1)
  assert.equal(settled.seen, ['stopped'])
  assert.equal(
    notices.map(({ notice, detail }) => [notice, detail]),
    [['cleanup_timeout', 5_000]],
  )
})

test('a resource may send messages while it is released', async (t) => {
  const other = await startHost(t)
  const host = await startHost(t)
  const child = await startHost(t, { under: other.ctx })
  host.ctx.own(() => {
    other.ref.send('from a disposer')
  })
  host.ctx.own(async () => {
    await turn()
    await child.ref.stop()
  })
  host.ctx.signal.addEventListener('abort', () => other.ref.send('from an abort listener'))
  await host.ref.stop()
  assert.equal(await other.messages.next(2), ['from an abort listener', 'from a disposer'])
  assert.is(child.ref.alive, false)
})

test('a resource opened by a handler whose actor died meanwhile is released at once', async (t) => {
  const notes = new Notes<string>()
  const { behaviour, die } = zombie((ctx) => {
    const resource = { [Symbol.dispose]: () => notes.add('released') }
    notes.add('opened')
    ctx.own(resource)
    notes.add('never')
  })
  const died = die(await start(t, behaviour))
  await rejection(died, 'ACTOR_DEAD')
  assert.equal(notes.seen, ['opened', 'released'])
})

test('own refuses what cannot be released', async (t) => {
  const host = await startHost(t)
  for (const wrong of [undefined, 7, {}, null, 'file']) {
    const { message } = thrown(() => host.ctx.own(wrong as unknown as Owned), 'BAD_OPTION')
    assert.match(message, /^own: expected a function or something disposable, got /)
  }
})

test('ctx.signal is aborted once with the exit reason', async (t) => {
  const host = await startHost(t)
  const { signal } = host.ctx
  assert.is(host.ctx.signal, signal)
  for (let i = 0; i < 30; i++) signal.addEventListener('abort', () => {})
  const error = new Error('broken')
  assert.is(signal.aborted, false)
  host.ref.exit(crash(error))
  assert.equal([signal.aborted, signal.reason], [true, error])
  assert.equal([host.ctx.signal.aborted, host.ctx.signal.reason], [true, error])
  const stopped = await startHost(t)
  const other = stopped.ctx.signal
  await stopped.ref.stop()
  assert.equal([other.reason.name, other.reason.message], ['AbortError', 'host has ended: normal'])
})

test('a throw in a listener of ctx.signal is reported, and harms nobody', async (t) => {
  t.expectStray(1)
  const strays = hear(t, 'stray')
  const host = await startHost(t)
  const child = await startHost(t, { under: host.ctx })
  const error = new Error('in an abort listener')
  child.ctx.signal.addEventListener('abort', () => {
    throw error
  })
  child.ref.kill()
  assert.equal(host.ref.reason, { type: 'killed' })
  await turn()
  assert.equal(
    strays.map((stray) => [stray.error, stray.owner, stray.outcome]),
    [[error, 'host', 'reported']],
  )
})

test('ctx.bind makes a throw in a listener a crash of the actor, not of the emitter', async (t) => {
  const shared = new EventEmitter()
  const host = await startHost(t)
  const error = new Error('in a listener')
  const heard = new Notes<number>()
  shared.on(
    'data',
    host.ctx.bind((n: number) => {
      heard.add(n)
      throw error
    }),
  )
  shared.on('data', (n: number) => heard.add(-n))
  shared.emit('data', 1)
  assert.equal(await ended(host.ref), crash(error))
  assert.equal(heard.seen, [1, -1])
})

test('ctx.self and ctx.registry stay readable in a dead incarnation', async (t) => {
  const host = await startHost(t)
  const { registry } = host.ctx
  host.ref.kill()
  assert.is(host.ctx.self, host.ref)
  assert.is(host.ctx.registry, registry)
})

test.run()
