import * as assert from 'uvu/assert'
import { crash, defineActor, killed, type Monitor, noproc, normal } from 'caduceus/runtime'
import { suite } from '../../support/suite.js'
import { hear, Notes, startHost, turn } from '../_actors.js'

const test = suite('monitors')

test('OTP-85 JS-3 each monitor gives one DOWN with process and reason', async (t) => {
  const [watcher, target] = [await startHost(t), await startHost(t)]
  const monitors = [watcher.ctx.monitor(target.ref), watcher.ctx.monitor(target.ref)]
  const reason = crash(new Error('broken'))
  target.ref.exit(reason)
  target.ref.kill()
  const downs = await watcher.downs.next(2)
  await turn()
  assert.is(downs.length, 2)
  assert.equal(
    downs.map(({ monitor }) => monitors.indexOf(monitor)),
    [0, 1],
  )
  assert.ok(downs.every((down) => down.process === target.ref && down.reason === reason))
})

test('OTP-85 a monitor is one-way: the watched ignores the watcher', async (t) => {
  const [watcher, target] = [await startHost(t), await startHost(t)]
  watcher.ctx.monitor(target.ref)
  watcher.ref.kill()
  assert.is(target.ref.alive, true)
  target.ref.kill()
  await turn()
  assert.equal(watcher.downs.seen, [])
})

test('OTP-85 monitoring a dead process gives noproc at once', async (t) => {
  const [watcher, target] = [await startHost(t), await startHost(t)]
  target.ref.kill()
  const monitor = watcher.ctx.monitor(target.ref)
  const [down] = await watcher.downs.next(1)
  assert.equal([down?.monitor === monitor, down?.reason], [true, noproc])
})

test('OTP-85 after demonitor no DOWN comes, not even one in the mailbox', async (t) => {
  const [watcher, target] = [await startHost(t), await startHost(t)]
  const early = watcher.ctx.monitor(target.ref)
  watcher.ctx.demonitor(early)
  const flushed = watcher.ctx.monitor(target.ref)
  const kept = watcher.ctx.monitor(target.ref)
  target.ref.kill()
  const dead = watcher.ctx.monitor(target.ref)
  watcher.ctx.demonitor(flushed)
  watcher.ctx.demonitor(dead)
  watcher.ctx.demonitor(flushed)
  const [down] = await watcher.downs.next(1)
  await turn()
  assert.equal([down?.monitor === kept, watcher.downs.seen.length], [true, 1])
})

test('OTP-86 JS-2 messages of a process arrive before its DOWN', async (t) => {
  const order = new Notes<unknown>()
  const host = await startHost(t, { trapExit: true })
  const receiver = defineActor({
    name: 'receiver',
    init: (_: undefined, ctx) => ({ ctx }),
    call: { ctx: (state) => state.ctx },
    info: { message: (_, message) => order.add(message), down: (_, { reason }) => order.add(reason.type) },
  })
  const to = await host.ctx.start(receiver)
  const sender = defineActor({
    name: 'sender',
    init: () => ({}),
    cast: {
      async speak() {
        to.send('first')
        await turn()
        to.send('second')
        throw new Error('last words')
      },
    },
  })
  const from = await host.ctx.start(sender)
  const ctx = await to.call('ctx')
  ctx.monitor(from)
  from.cast('speak')
  assert.equal(await order.next(3), ['first', 'second', 'crash'])
})

test('a DOWN that nobody handles is reported and the actor goes on', async (t) => {
  const notices = hear(t, 'notice')
  const host = await startHost(t)
  const behaviour = defineActor({
    name: 'careless',
    init: (_: undefined, ctx) => ({ ctx }),
    call: { ctx: (state) => state.ctx },
  })
  const careless = await host.ctx.start(behaviour)
  const ctx = await careless.call('ctx')
  const target = await startHost(t)
  ctx.monitor(target.ref)
  target.ref.kill()
  await turn()
  assert.is(careless.alive, true)
  assert.equal(
    notices.map(({ notice, name }) => [notice, name]),
    [['unexpected_message', 'careless']],
  )
})

test('OTP-85 onExit calls back once, with noproc for an ended process, unless undone', async (t) => {
  const target = await startHost(t)
  const reasons = new Notes<[string, unknown]>()
  target.ref.onExit((reason) => reasons.add(['first', reason]))
  const back = target.ref.onExit((reason) => reasons.add(['taken back', reason]))
  back()
  await target.ref.stop()
  target.ref.onExit((reason) => reasons.add(['late', reason]))
  const lateBack = target.ref.onExit((reason) => reasons.add(['late, taken back', reason]))
  lateBack()
  await turn()
  assert.equal(reasons.seen, [
    ['first', normal],
    ['late', noproc],
  ])
})

test('a throwing onExit callback fails its owner, and all others are called', async (t) => {
  const strays = hear(t, 'stray')
  const [watcher, target, friend] = [await startHost(t), await startHost(t), await startHost(t)]
  const error = new Error('in the callback')
  const register = watcher.ctx.bind(() =>
    target.ref.onExit(() => {
      throw error
    }),
  )
  register()
  const downs = friend.ctx.monitor(target.ref)
  const told = new Notes<unknown>()
  target.ref.onExit(told.add)
  target.ref.kill()
  assert.equal(told.seen, [killed])
  assert.equal(watcher.ref.reason, crash(error))
  assert.is((await friend.downs.next(1))[0]?.monitor, downs)
  assert.equal(
    strays.map(({ owner, outcome }) => [owner, outcome]),
    [['host', 'failed']],
  )
})

test('the monitor of a dead watcher is removed', async (t) => {
  const target = await startHost(t)
  const fired: Monitor[] = []
  for (let i = 0; i < 3; i++) {
    const watcher = await startHost(t)
    fired.push(watcher.ctx.monitor(target.ref))
    watcher.ref.kill()
  }
  assert.equal(
    fired.map(({ active }) => active),
    [false, false, false],
  )
})

test.run()
