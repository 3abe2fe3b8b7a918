import * as assert from 'uvu/assert'
import { type ActorRef, crash, defineActor, Registry } from 'caduceus/runtime'
import { processOf } from '../../../runtime/process/ref.js'
import { suite } from '../../support/suite.js'
import { deferred, Notes, rejection, start, startHost, thrown } from '../_actors.js'

const test = suite('names')

test('OTP-102 a name is starting, then up, then ended with the reason', async (t) => {
  const host = await startHost(t, { trapExit: true })
  const { registry } = host.ctx
  const gate = deferred()
  const slow = defineActor({
    name: 'slow',
    async init() {
      await gate.promise
      return {}
    },
  })
  assert.equal(registry.state('slow'), { state: 'unknown' })
  const starting = host.ctx.start(slow, undefined, { name: 'slow' })
  assert.equal(registry.state('slow'), { state: 'starting' })
  assert.ok(registry.whereis('slow') !== undefined)
  gate.resolve()
  const ref = await starting
  assert.equal([registry.state('slow').state, registry.whereis('slow') === ref], ['up', true])
  assert.equal(registry.names(), ['slow'])
  const reason = crash(new Error('broken'))
  ref.exit(reason)
  assert.equal(registry.state('slow'), { state: 'ended', reason })
  assert.equal([registry.whereis('slow'), registry.names()], [undefined, []])
})

test('OTP-103 a name of a living process is refused with ALREADY_STARTED', async (t) => {
  const host = await startHost(t)
  const other = await startHost(t)
  const { registry } = host.ctx
  registry.register('one', host.ref)
  for (const ref of [other.ref, host.ref]) {
    const { data } = thrown(() => registry.register('one', ref), 'ALREADY_STARTED')
    assert.is((data as { ref: ActorRef }).ref, host.ref)
  }
  registry.register('two', host.ref)
  assert.equal(registry.names(), ['one', 'two'])
})

test('OTP-87 all names of a dead process are free', async (t) => {
  const [host, other] = [await startHost(t), await startHost(t)]
  const { registry } = host.ctx
  registry.register('one', host.ref)
  registry.register('two', host.ref)
  host.ref.kill()
  thrown(() => registry.register('three', host.ref), 'NOPROC')
  registry.register('one', other.ref)
  assert.equal([registry.whereis('one') === other.ref, registry.state('two').state], [true, 'ended'])
})

test('OTP-87 OTP-104 a name is free when DOWN or EXIT arrives', async (t) => {
  const registry = new Registry()
  const holder = await startHost(t, { registry })
  registry.register('one', holder.ref)
  const seen = new Notes<string>()
  holder.ref.onExit(() => seen.add(registry.state('one').state))
  const watcher = defineActor({
    name: 'watcher',
    trapExit: true,
    init(_: undefined, ctx) {
      ctx.monitor(holder.ref)
      ctx.link(holder.ref)
      return {}
    },
    info: {
      down: () => seen.add(registry.state('one').state),
      exit: () => seen.add(registry.state('one').state),
    },
  })
  await start(t, watcher, undefined)
  holder.ref.kill()
  assert.equal(await seen.next(3), ['ended', 'ended', 'ended'])
})

test('OTP-105 an unregistered name is unknown and can be reused', async (t) => {
  const host = await startHost(t)
  const { registry } = host.ctx
  registry.register('one', host.ref)
  registry.unregister('one')
  registry.unregister('one')
  registry.unregister('nobody')
  assert.equal(registry.state('one'), { state: 'unknown' })
  await rejection(registry.whenUp('one'), 'NOPROC')
  registry.register('one', host.ref)
  host.ref.kill()
  assert.is(registry.state('one').state, 'ended')
})

test('a name registered in init is up when init is done', async (t) => {
  const host = await startHost(t)
  const { registry } = host.ctx
  const gate = deferred()
  const behaviour = defineActor({
    name: 'self-made',
    async init(_: undefined, ctx) {
      ctx.registry.register('self-made', ctx.self)
      await gate.promise
      return {}
    },
  })
  const starting = host.ctx.start(behaviour)
  assert.is(registry.state('self-made').state, 'starting')
  const up = registry.whenUp('self-made')
  gate.resolve()
  assert.is(await up, await starting)
})

test('only living actors can be named', async (t) => {
  const host = await startHost(t)
  thrown(() => host.ctx.registry.register('', host.ref), 'BAD_OPTION')
  thrown(() => host.ctx.registry.register(7 as unknown as string, host.ref), 'BAD_OPTION')
  const { message } = thrown(() => host.ctx.registry.register('x', {} as ActorRef), 'BAD_OPTION')
  assert.is(message, 'expected a reference to a process, got an object with keys []')
})

test('a name in a registry of another tree is up after init, and ends with its holder', async (t) => {
  const registry = new Registry()
  const host = await startHost(t, { trapExit: true })
  const behaviour = defineActor({
    name: 'guest',
    async init(_: undefined, ctx) {
      registry.register('guest', ctx.self)
      host.ctx.registry.register('guest', ctx.self)
      assert.equal(registry.state('guest'), { state: 'starting' })
      await undefined
      return {}
    },
  })
  const ref = await host.ctx.start(behaviour)
  for (const one of [registry, host.ctx.registry]) assert.is(one.state('guest').state, 'up')
  const other = await startHost(t)
  registry.register('other', other.ref)
  registry.unregister('other')
  for (const each of [ref, other.ref]) each.kill()
  for (const one of [registry, host.ctx.registry])
    assert.equal([one.state('guest').state, one.whereis('guest')], ['ended', undefined])
  assert.equal(registry.state('other'), { state: 'unknown' })
  registry.register('guest', host.ref)
  assert.is(registry.whereis('guest'), host.ref)
})

test('at most 1,000 ended names are remembered, the latest', async (t) => {
  const host = await startHost(t)
  const { registry } = host.ctx
  for (let i = 0; i < 1_500; i++) {
    const { ref } = await startHost(t, { under: host.ctx })
    registry.register(`name ${i}`, ref)
    await ref.stop()
  }
  const known = Array.from({ length: 1_500 }, (_, i) => registry.state(`name ${i}`).state)
  assert.is(known.filter((state) => state === 'ended').length, 1_000)
  assert.equal([known[499], known[500], known[1_499]], ['unknown', 'ended', 'ended'])
})

test('trees that share a registry find each other', async (t) => {
  const registry = new Registry()
  const behaviour = defineActor({ name: 'service', init: () => ({}), call: { which: () => 1 } })
  const ref = await start(t, behaviour, undefined, { name: 'service', registry })
  const host = await startHost(t, { registry })
  assert.is(host.ctx.registry.whereis('service'), ref)
  assert.ok(processOf(ref).tree !== processOf(host.ref).tree)
  assert.is(await host.ctx.registry.named<typeof behaviour>('service').call('which'), 1)
})

test.run()
