import * as assert from 'uvu/assert'
import { createFakeClock, type Deferred, defineActor } from 'caduceus/runtime'
import { suite } from '../../support/suite.js'
import { Notes, rejection, start, startHost, thrown } from '../_actors.js'

const test = suite('deferred reply')

test('OTP-91 a reply may be given later, while the server handles other messages', async (t) => {
  const behaviour = defineActor({
    name: 'server',
    init: () => ({ kept: [] as Deferred<number>[] }),
    call: {
      echo: (_, value: string) => value,
      later(state, _: undefined, ctx) {
        const reply = ctx.defer<number>()
        state.kept.push(reply)
        return reply
      },
    },
    cast: {
      answer(state, value: number) {
        state.kept.shift()?.resolve(value)
      },
    },
  })
  const ref = await start(t, behaviour)
  const reply = ref.call('later')
  assert.is(await ref.call('echo', 'meanwhile'), 'meanwhile')
  ref.cast('answer', 42)
  assert.is(await reply, 42)
})

test('OTP-91 a second reply is dropped, in either order', async (t) => {
  const given = new Notes<Deferred<number>>()
  const behaviour = defineActor({
    name: 'twice',
    init: () => ({}),
    call: {
      ask(_, __: undefined, ctx) {
        const reply = ctx.defer<number>()
        given.add(reply)
        given.add(ctx.defer<number>())
        return reply
      },
      atOnce(_, __: undefined, ctx) {
        const reply = ctx.defer<number>()
        reply.resolve(1)
        reply.resolve(2)
        return reply
      },
    },
  })
  const ref = await start(t, behaviour)
  const first = ref.call('ask')
  const [one, other] = await given.next(2)
  other?.resolve(1)
  one?.resolve(2)
  one?.reject(new Error('too late'))
  assert.is(await first, 1)
  assert.is(await ref.call('atOnce'), 1)
})

test('OTP-91 JS-6 a reply after the death of the actor or the timeout is dropped', async (t) => {
  const clock = createFakeClock()
  const given = new Notes<Deferred<number>>()
  const behaviour = defineActor({
    name: 'late',
    init: () => ({}),
    call: {
      ask(_, __: undefined, ctx) {
        const reply = ctx.defer<number>()
        given.add(reply)
        return reply
      },
    },
  })
  const ref = await start(t, behaviour, undefined, { clock })
  const impatient = ref.call('ask', undefined, { timeout: 10 })
  const patient = ref.call('ask')
  await clock.advance(20)
  ref.kill()
  for (const reply of given.seen) reply.resolve(1)
  await rejection(impatient, 'TIMEOUT')
  await rejection(patient, 'EXITED')
})

test('OTP-91 defer works only while a call is handled', async (t) => {
  const host = await startHost(t)
  const error = thrown(() => host.ctx.defer(), 'BAD_MESSAGE')
  assert.is(error.message, 'host: defer works only while a call is handled')
})

test.run()
