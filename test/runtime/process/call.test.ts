import * as assert from 'uvu/assert'
import {
  type ActorRef,
  type CallOptions,
  createFakeClock,
  type Deferred,
  defineActor,
  refuse,
  type RuntimeError,
  shutdown,
} from 'caduceus/runtime'
import { suite } from '../../support/suite.js'
import { deferred, Notes, rejection, start, startHost, thrown, turn } from '../_actors.js'

const test = suite('call')

/** A server that answers when the test says so. */
function server() {
  const gates: { resolve(value: unknown): void; reject(error: unknown): void }[] = []
  const handled = new Notes<unknown>()
  const behaviour = defineActor({
    name: 'server',
    init: () => ({ kept: [] as Deferred<unknown>[] }),
    call: {
      echo: (_, value: unknown) => value,
      slow(_, value: unknown) {
        handled.add(value)
        const gate = deferred<unknown>()
        gates.push(gate)
        return gate.promise
      },
      later(state, _: unknown, ctx) {
        const reply = ctx.defer<unknown>()
        state.kept.push(reply)
        return reply
      },
      no: (_, error: unknown) => refuse(error),
      crash(_, error: unknown) {
        throw error
      },
    },
    cast: {
      answer(state, value: unknown) {
        state.kept.shift()?.resolve(value)
      },
      decline(state, error: unknown) {
        state.kept.shift()?.reject(error)
      },
    },
  })
  return { behaviour, gates, handled }
}

test('OTP-89 a call answers with what the handler returns or its promise gives', async (t) => {
  const { behaviour, gates } = server()
  const ref = await start(t, behaviour)
  assert.equal(await ref.call('echo', { any: 'value' }), { any: 'value' })
  const slow = ref.call('slow', 1)
  await turn()
  gates[0]?.resolve('slowly')
  assert.is(await slow, 'slowly')
})

test('OTP-89 a call rejects with TIMEOUT after 5000 ms or its own time, with details', async (t) => {
  const clock = createFakeClock()
  const { behaviour, gates } = server()
  const ref = await start(t, behaviour, undefined, { clock })
  const calls = [
    ref.call('slow', 1),
    ref.call('slow', 2, { timeout: 100 }),
    ref.call('echo', 3, { timeout: 50 }),
  ]
  const over = new Notes<string>()
  for (const call of calls) void call.catch((error: RuntimeError) => over.add(error.message))
  await clock.advance(120)
  const waiting = 'busy with slow)'
  assert.equal(over.seen, [
    `server.echo: no reply within 50 ms (2 messages waiting, ${waiting}`,
    `server.slow: no reply within 100 ms (2 messages waiting, ${waiting}`,
  ])
  await clock.advance(4_879)
  assert.is(over.seen.length, 2)
  await clock.advance(17)
  assert.is(over.seen.length, 3)
  const error = await rejection(calls[0] ?? Promise.resolve(), 'TIMEOUT')
  assert.equal([error.retryable, error.data], [true, { actor: 'server', call: 'slow', ms: 5_000 }])
  gates[0]?.resolve('late')
})

test('OTP-90 after a timeout the server works on, and its reply is dropped', async (t) => {
  const clock = createFakeClock()
  const { behaviour, gates } = server()
  const ref = await start(t, behaviour, undefined, { clock })
  const call = ref.call('slow', 1, { timeout: 20 })
  await clock.advance(40)
  await rejection(call, 'TIMEOUT')
  const next = ref.call('echo', 'next')
  gates[0]?.resolve('late')
  assert.is(await next, 'next')
  await rejection(call, 'TIMEOUT')
})

test('OTP-90 a call aborted before it begins is not handled', async (t) => {
  const clock = createFakeClock()
  const { behaviour, gates, handled } = server()
  const ref = await start(t, behaviour, undefined, { clock })
  const first = ref.call('slow', 'first')
  const given = ref.call('slow', 'given up', { timeout: 20 })
  await clock.advance(40)
  await rejection(given, 'TIMEOUT')
  gates[0]?.resolve('done')
  assert.is(await first, 'done')
  assert.is(await ref.call('echo', 'alive'), 'alive')
  assert.equal(handled.seen, ['first'])
})

test('OTP-89 a call to a dead actor rejects with NOPROC, unsent and retryable', async (t) => {
  const ref = await start(t, server().behaviour)
  ref.exit(shutdown)
  const error = await rejection(ref.call('echo', 1), 'NOPROC')
  assert.is(error.retryable, true)
  assert.equal(error.data, { actor: 'server', call: 'echo', reason: shutdown, sent: false })
})

test('OTP-99 JS-7 all pending callers get the reason at once when the server dies', async (t) => {
  const clock = createFakeClock()
  const { behaviour } = server()
  const host = await startHost(t, { trapExit: true, clock })
  const ref = await host.ctx.start(behaviour)
  const calls = [ref.call('later', 1), ref.call('slow', 2), ref.call('echo', 3), ref.call('later', 4)]
  await turn()
  ref.kill()
  for (const [i, call] of calls.entries()) {
    const error = await rejection(call, 'EXITED')
    const name = ['later', 'slow', 'echo', 'later'][i]
    assert.equal(error.data, { actor: 'server', call: name, reason: { type: 'killed' }, sent: true })
    assert.is(error.retryable, true)
  }
  await clock.advance(16)
  assert.is(clock.pending, 0)
})

test('OTP-99 the caller gets the crash it caused as the cause, also by terminate', async (t) => {
  const cause = new Error('broken')
  const { behaviour } = server()
  const host = await startHost(t, { trapExit: true })
  for (const terminate of [undefined, () => {}, () => turn()]) {
    const definition = terminate === undefined ? behaviour.definition : { ...behaviour.definition, terminate }
    const ref = await host.ctx.start(defineActor(definition))
    const error = await rejection(ref.call('crash', cause), 'EXITED')
    assert.is(error.cause, cause)
    assert.is(error.message, 'server.crash: server ended before it replied (crash: broken)')
  }
})

test('OTP-89 an actor that calls itself in a handler or init gets CALLING_SELF', async (t) => {
  const behaviour = defineActor({
    name: 'narcissus',
    async init(_: undefined, ctx) {
      const self = ctx.self as unknown as { call(name: string): Promise<unknown> }
      const error = await rejection(self.call('echo'), 'CALLING_SELF')
      return { error, self }
    },
    call: {
      echo: () => 'echo',
      look: (state) => rejection(state.self.call('echo'), 'CALLING_SELF'),
      init: (state) => state.error.message,
    },
  })
  const ref = await start(t, behaviour)
  await ref.call('look')
  assert.match(await ref.call('init'), 'narcissus.echo: an actor cannot call itself')
})

test('an actor may call itself from a callback between two messages', async (t) => {
  const replies = new Notes<unknown>()
  const behaviour = defineActor({
    name: 'timed',
    init(_: undefined, ctx) {
      const self = ctx.self as unknown as { call(name: string): Promise<unknown> }
      ctx.clock.setTimeout(() => void self.call('echo').then(replies.add), 1)
      return {}
    },
    call: { echo: () => 'echo' },
  })
  await start(t, behaviour)
  assert.equal(await replies.next(1), ['echo'])
})

test('a call rejected by the handler rejects with that error, and the actor goes on', async (t) => {
  const ref = await start(t, server().behaviour)
  const error = new Error('no such account')
  assert.is(await ref.call('no', error).catch((reason: unknown) => reason), error)
  const deferredReply = ref.call('later', 1)
  ref.cast('decline', error)
  assert.is(await deferredReply.catch((reason: unknown) => reason), error)
  assert.is(await ref.call('echo', 'alive'), 'alive')
})

test('OTP-101 calls are promises: many run at once and are awaited in any order', async (t) => {
  const { behaviour, gates } = server()
  const ref = await start(t, behaviour)
  const [slow, quick] = [ref.call('slow', 1), ref.call('echo', 2)]
  await turn()
  gates[0]?.resolve('first')
  assert.is(await quick, 2)
  assert.is(await slow, 'first')
})

test('wrong names and options of calls and casts are refused before sending', async (t) => {
  const ref = await start(t, server().behaviour)
  const untyped = ref as unknown as {
    call(name: unknown, input?: unknown, options?: unknown): Promise<unknown>
  }
  const loose = ref as unknown as { cast(name: unknown, input?: unknown): boolean }
  const calls = 'echo, slow, later, no, crash'
  for (const name of ['read', 'toString', '__proto__', undefined]) {
    const { message } = await rejection(untyped.call(name), 'BAD_MESSAGE')
    const got = name === undefined ? 'undefined' : JSON.stringify(name)
    assert.is(message, `server: expected a call among [${calls}], got ${got}`)
  }
  const cast = thrown(() => loose.cast('constructor'), 'BAD_MESSAGE')
  assert.is(cast.message, 'server: expected a cast among [answer, decline], got "constructor"')
  for (const timeout of [-1, Number.NaN, '5s']) {
    const { message } = await rejection(untyped.call('echo', 1, { timeout }), 'BAD_OPTION')
    assert.match(message, 'timeout: expected milliseconds of 0 or more, got ')
  }
  assert.is(await ref.call('echo', 'alive'), 'alive')
})

test('a call with an infinite timeout waits as long as it takes', async (t) => {
  const clock = createFakeClock()
  const { behaviour, gates } = server()
  const ref = await start(t, behaviour, undefined, { clock })
  const call = ref.call('slow', 1, { timeout: Number.POSITIVE_INFINITY })
  await clock.advance(10)
  assert.is(clock.pending, 0)
  gates[0]?.resolve('at last')
  assert.is(await call, 'at last')
})

test('no promise of the runtime causes an unhandled rejection', async (t) => {
  const clock = createFakeClock()
  const { behaviour } = server()
  const host = await startHost(t, { trapExit: true, clock })
  const ref = await host.ctx.start(behaviour)
  const untyped = ref as ActorRef as unknown as {
    call(name: string, input?: unknown, options?: CallOptions): Promise<unknown>
    stop(reason?: unknown, timeout?: number): Promise<unknown>
  }
  const dropped: Promise<unknown>[] = [
    untyped.call('no such call'),
    untyped.call('echo', 1, { timeout: -1 }),
    untyped.call('no', new Error('refused')),
    untyped.call('slow', 1, { timeout: 10 }),
    untyped.stop('wrong'),
    untyped.stop({ type: 'normal' }, 10),
  ]
  const later = ref.call('later', 1)
  await clock.advance(40)
  ref.kill()
  dropped.push(later, untyped.call('echo'), untyped.stop())
  const failing = defineActor({
    name: 'failing',
    init: () => Promise.reject(new Error('init')),
  })
  dropped.push(host.ctx.start(failing), host.ctx.start({} as typeof failing))
  dropped.push(host.ctx.registry.whenUp('nobody'), host.ctx.registry.named('nobody').call('x' as never))
  const promising = await host.ctx.start(behaviour)
  const reply = promising.call('later', 1)
  promising.cast('answer', Promise.reject(new Error('a reply that is a rejected promise')))
  dropped.push(reply)
  await turn()
  await turn()
  assert.is(
    (await Promise.allSettled(dropped)).filter(({ status }) => status === 'rejected').length,
    dropped.length,
  )
})

test.run()
