import * as assert from 'uvu/assert'
import { crash, defineActor, kill, killed, noproc, normal, Registry, shutdown } from 'caduceus/runtime'
import { processOf } from '../../../runtime/process/ref.js'
import { suite } from '../../support/suite.js'
import { ended, Notes, startHost, thrown, turn } from '../_actors.js'

const test = suite('links')

test('OTP-82 a link is symmetric: either exit reaches the other', async (t) => {
  for (const first of [0, 1]) {
    const hosts = [await startHost(t), await startHost(t)] as const
    hosts[0].ctx.link(hosts[1].ref)
    const reason = crash(new Error('broken'))
    hosts[first === 0 ? 0 : 1].ref.exit(reason)
    assert.is(hosts[0].ref.reason, reason)
    assert.is(hosts[1].ref.reason, reason)
  }
})

test('OTP-82 a link is idempotent: one exit arrives, and one unlink removes it', async (t) => {
  const watcher = await startHost(t, { trapExit: true })
  const once = await startHost(t)
  watcher.ctx.link(once.ref)
  once.ctx.link(watcher.ref)
  watcher.ctx.link(once.ref)
  once.ref.kill()
  await turn()
  assert.is(watcher.exits.seen.length, 1)
  const apart = await startHost(t)
  watcher.ctx.link(apart.ref)
  watcher.ctx.link(apart.ref)
  apart.ctx.unlink(watcher.ref)
  apart.ref.kill()
  await turn()
  assert.is(watcher.exits.seen.length, 1)
})

test('OTP-82 the survivor of a link retains nothing of the other', async (t) => {
  const watcher = await startHost(t, { trapExit: true })
  for (let round = 0; round < 3; round++) {
    const other = await startHost(t)
    watcher.ctx.link(other.ref)
    assert.is(processOf(watcher.ref).links?.size, 1)
    other.ref.kill()
  }
  assert.is(processOf(watcher.ref).links?.size ?? 0, 0)
})

test('OTP-82 after unlink no exit comes through that link, either way', async (t) => {
  const [a, b] = [await startHost(t), await startHost(t)]
  a.ctx.link(b.ref)
  a.ctx.unlink(b.ref)
  a.ref.kill()
  assert.is(b.ref.alive, true)
  const child = await startHost(t, { under: b.ctx })
  b.ctx.unlink(child.ref)
  child.ref.kill()
  assert.is(b.ref.alive, true)
  const kept = await startHost(t, { under: b.ctx })
  kept.ctx.unlink(b.ref)
  kept.ctx.link(b.ref)
  kept.ref.exit(shutdown)
  assert.equal(b.ref.reason, shutdown)
})

test('OTP-82 linking to a dead process is noproc: a message if trapping, else an exit', async (t) => {
  const dead = await startHost(t)
  dead.ref.kill()
  const trapping = await startHost(t, { trapExit: true })
  trapping.ctx.link(dead.ref)
  const [exit] = await trapping.exits.next(1)
  assert.equal([exit?.from === dead.ref, exit?.reason], [true, noproc])
  const plain = await startHost(t)
  plain.ctx.link(dead.ref)
  assert.equal(plain.ref.reason, noproc)
})

test('OTP-83 abnormal exits and shutdown cross links unchanged; normal does not', async (t) => {
  const [a, b, c] = [await startHost(t), await startHost(t), await startHost(t)]
  a.ctx.link(b.ref)
  b.ctx.link(c.ref)
  await c.ref.stop(normal)
  assert.is(b.ref.alive, true)
  await a.ref.stop(shutdown)
  assert.equal(b.ref.reason, shutdown)
})

test('OTP-38 kill does not go through links: others see killed, which can be trapped', async (t) => {
  const victim = await startHost(t)
  const trapping = await startHost(t, { trapExit: true })
  const plain = await startHost(t)
  victim.ctx.link(trapping.ref)
  victim.ctx.link(plain.ref)
  trapping.ctx.exit(victim.ref, kill)
  const [exit] = await trapping.exits.next(1)
  assert.equal([exit?.reason, plain.ref.reason, trapping.ref.alive], [killed, killed, true])
})

test('OTP-84 an exit that is trapped becomes a message with sender and reason', async (t) => {
  const trapping = await startHost(t, { trapExit: true })
  const other = await startHost(t)
  trapping.ctx.link(other.ref)
  const reason = crash(new Error('broken'))
  other.ref.exit(reason)
  const fromOutside = crash('from outside')
  const child = await startHost(t, { under: trapping.ctx, trapExit: true })
  child.ref.exit(fromOutside)
  assert.equal(
    [...(await trapping.exits.next(1)), ...(await child.exits.next(1))].map(({ from, reason }) => [
      from,
      reason,
    ]),
    [
      [other.ref, reason],
      [null, fromOutside],
    ],
  )
})

test('OTP-84 the exit of the parent is never a message: it ends the actor', async (t) => {
  for (const reason of [shutdown, crash(new Error('broken'))]) {
    const parent = await startHost(t)
    const child = await startHost(t, { under: parent.ctx, trapExit: true })
    parent.ref.exit(reason)
    assert.is(await ended(child.ref), reason)
    assert.equal(child.exits.seen, [])
  }
})

test('OTP-86 JS-2 messages of a process arrive before its exit signal', async (t) => {
  const order = new Notes<unknown>()
  const receiver = defineActor({
    name: 'receiver',
    trapExit: true,
    init: (_: undefined, ctx) => ({ ctx }),
    call: { ctx: (state) => state.ctx },
    info: { message: (_, message) => order.add(message), exit: (_, { reason }) => order.add(reason.type) },
  })
  const host = await startHost(t, { trapExit: true })
  const to = await host.ctx.start(receiver)
  const ctx = await to.call('ctx')
  const sender = defineActor({
    name: 'sender',
    init: () => ({}),
    cast: {
      speak() {
        to.send('first')
        to.send('second')
        throw new Error('last words')
      },
    },
  })
  const from = await ctx.start(sender)
  from.cast('speak')
  assert.equal(await order.next(3), ['first', 'second', 'crash'])
})

test.slow('an exit passes a chain of 20,000 linked actors without a stack overflow', async (t) => {
  const host = await startHost(t, { trapExit: true })
  const link = defineActor({
    name: 'link',
    init: (_: undefined, ctx) => ({ ctx }),
    call: { ctx: (state) => state.ctx },
  })
  const first = await host.ctx.start(link)
  let last = first
  for (let i = 1; i < 20_000; i++) {
    const next = await host.ctx.start(link)
    const ctx = await next.call('ctx')
    ctx.link(last)
    last = next
  }
  first.kill()
  assert.equal(last.reason, killed)
  const exits = await host.exits.next(20_000)
  assert.is(exits.length, 20_000)
})

test('a wrong reference is refused with what was given', async (t) => {
  const host = await startHost(t)
  const wrong = { id: 1 } as never
  const message = 'expected a reference to a process, got an object with keys [id]'
  for (const use of [
    () => host.ctx.link(wrong),
    () => host.ctx.unlink(wrong),
    () => host.ctx.monitor(wrong),
    () => host.ctx.exit(wrong, kill),
  ]) {
    assert.is(thrown(use, 'BAD_OPTION').message, message)
  }
  for (const name of ['x', new Registry().named('x')]) {
    const told = thrown(() => host.ctx.link(name as never), 'BAD_OPTION').message
    assert.match(told, /^expected a reference to a process, got .*: ctx\.registry\.whereis\(name\)/)
  }
})

test.run()
