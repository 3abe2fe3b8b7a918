import * as assert from 'uvu/assert'
import {
  type ActorDefinition,
  createFakeClock,
  defineActor,
  type ExitReason,
  formatReason,
  type Handlers,
  kill,
  normal,
  shutdown,
  shutdownWith,
} from 'caduceus/runtime'
import { suite } from '../../support/suite.js'
import { deferred, ended, hear, Notes, rejection, start, startHost, thrown, turn } from '../_actors.js'

const test = suite('terminate and stop')

type Options = Pick<
  ActorDefinition<object, undefined, Handlers<object>, Handlers<object>>,
  'trapExit' | 'terminateTimeout'
>

/** An actor that notes how its `terminate` was run. */
function mortal(notes: Notes<string>, options: Options = {}, terminate?: (reason: ExitReason) => unknown) {
  return defineActor({
    name: 'mortal',
    init: (_: undefined) => ({}),
    cast: {
      fail(_, error: Error) {
        throw error
      },
      stop(_, reason: ExitReason, ctx) {
        ctx.stop(reason)
      },
    },
    terminate(_, reason) {
      notes.add(formatReason(reason))
      return terminate?.(reason)
    },
    ...options,
  })
}

test('OTP-96 terminate runs on a stop that the actor asks for, and on an error', async (t) => {
  const notes = new Notes<string>()
  const stopped = await start(t, mortal(notes), undefined)
  stopped.cast('stop', shutdownWith('done'))
  assert.equal(await ended(stopped), shutdownWith('done'))
  const failed = await start(t, mortal(notes), undefined)
  failed.cast('fail', new Error('broken'))
  await ended(failed)
  assert.equal(notes.seen, ['shutdown', 'crash: broken'])
})

test('OTP-96 terminate runs on parent exit only when trapping exits', async (t) => {
  const notes = new Notes<string>()
  const host = await startHost(t)
  const plain = await host.ctx.start(mortal(new Notes()))
  const trapping = await host.ctx.start(mortal(notes, { trapExit: true }))
  const untold = new Notes<string>()
  const third = await host.ctx.start(mortal(untold))
  host.ref.exit(shutdown)
  assert.equal(await ended(plain), shutdown)
  assert.equal(await ended(trapping), shutdown)
  assert.equal(await ended(third), shutdown)
  assert.equal([notes.seen, untold.seen], [['shutdown'], []])
})

test('OTP-96 OTP-38 terminate is never run on a kill, which cannot be trapped', async (t) => {
  const notes = new Notes<string>()
  const ref = await start(t, mortal(notes, { trapExit: true }), undefined)
  ref.kill()
  assert.equal([ref.reason, ref.alive], [{ type: 'killed' }, false])
  const other = await start(t, mortal(notes, { trapExit: true }), undefined)
  other.exit(kill)
  assert.equal(other.reason, { type: 'killed' })
  await turn()
  assert.equal(notes.seen, [])
})

test('OTP-97 stop waits for earlier messages and terminate, and answers the reason', async (t) => {
  const gate = deferred()
  const notes = new Notes<string>()
  const ref = await start(
    t,
    mortal(notes, {}, () => gate.promise),
    undefined,
  )
  const stopping = ref.stop(shutdownWith('tidy'))
  await notes.next(1)
  assert.is(ref.alive, true)
  gate.resolve()
  assert.equal(await stopping, shutdownWith('tidy'))
})

test('OTP-97 stop ends an actor with the reason normal unless told otherwise', async (t) => {
  const ref = await start(t, mortal(new Notes()), undefined)
  assert.equal(await ref.stop(), normal)
})

test('OTP-97 a child stopped as normal does not stop its parent', async (t) => {
  const host = await startHost(t)
  const child = await host.ctx.start(mortal(new Notes()))
  await child.stop()
  assert.is(host.ref.alive, true)
})

test('OTP-97 stop of a dead actor rejects with NOPROC', async (t) => {
  const ref = await start(t, mortal(new Notes()), undefined)
  ref.kill()
  await rejection(ref.stop(), 'NOPROC')
})

test('OTP-97 stop resolves with the actual exit reason', async (t) => {
  const error = new Error('in terminate')
  const behaviour = mortal(new Notes(), {}, () => {
    throw error
  })
  const ref = await start(t, behaviour, undefined)
  assert.equal(await ref.stop(), { type: 'crash', error })
})

test('OTP-97 stop gives up waiting after its timeout while the actor goes on ending', async (t) => {
  const clock = createFakeClock()
  const gate = deferred()
  const behaviour = mortal(new Notes(), {}, () => gate.promise)
  const ref = await start(t, behaviour, undefined, { clock })
  const stopping = ref.stop(normal, 1_000)
  await clock.advance(999)
  assert.is(ref.alive, true)
  await clock.advance(1)
  await rejection(stopping, 'TIMEOUT')
  gate.resolve()
  assert.equal(await ended(ref), normal)
})

test('OTP-97 a stop waits for the handler that is running', async (t) => {
  const gate = deferred()
  const notes = new Notes<string>()
  const behaviour = defineActor({
    name: 'long',
    init: () => ({}),
    cast: {
      async work() {
        await gate.promise
        notes.add('worked')
      },
    },
    terminate: () => notes.add('terminated'),
  })
  const ref = await start(t, behaviour)
  ref.cast('work')
  const stopping = ref.stop()
  await turn()
  gate.resolve()
  await stopping
  assert.equal(notes.seen, ['worked', 'terminated'])
})

test('an error in terminate is reported and becomes the reason', async (t) => {
  const crashes = hear(t, 'crash')
  const error = new Error('in terminate')
  for (const fail of [
    () => {
      throw error
    },
    () => Promise.reject(error),
  ]) {
    const ref = await start(t, mortal(new Notes(), {}, fail), undefined)
    ref.cast('stop', normal)
    assert.equal(await ended(ref), { type: 'crash', error })
  }
  assert.equal(
    crashes.map(({ during }) => during),
    ['terminate', 'terminate'],
  )
})

test('JS-8 a hanging terminate is cut off after terminateTimeout and reported', async (t) => {
  const clock = createFakeClock()
  const notices = hear(t, 'notice')
  const behaviour = mortal(new Notes(), { terminateTimeout: 300 }, () => new Promise(() => {}))
  const ref = await start(t, behaviour, undefined, { clock })
  ref.cast('stop', normal)
  await clock.advance(299)
  assert.is(ref.alive, true)
  await clock.advance(1)
  assert.equal(ref.reason, { type: 'killed' })
  assert.equal(
    notices.map(({ notice, detail }) => [notice, detail]),
    [['cleanup_timeout', 300]],
  )
  assert.is(clock.pending, 0)
})

test('JS-8 a trapping child has terminateTimeout to end after its parent is gone', async (t) => {
  const clock = createFakeClock()
  const host = await startHost(t, { clock })
  const behaviour = defineActor({
    name: 'stuck',
    trapExit: true,
    terminateTimeout: 200,
    init: () => ({}),
    cast: { hang: () => new Promise(() => {}) },
  })
  const child = await host.ctx.start(behaviour)
  child.cast('hang')
  await turn()
  host.ref.kill()
  await clock.advance(199)
  assert.is(child.alive, true)
  await clock.advance(1)
  assert.equal(child.reason, { type: 'killed' })
})

test('OTP-37 exit normal from another process is ignored, or a message if trapping', async (t) => {
  const sender = await startHost(t)
  const plain = await startHost(t)
  const trapping = await startHost(t, { trapExit: true })
  sender.ctx.exit(plain.ref, normal)
  sender.ctx.exit(trapping.ref, normal)
  const [exit] = await trapping.exits.next(1)
  assert.equal([exit?.from === sender.ref, exit?.reason], [true, normal])
  assert.is(plain.ref.alive, true)
})

test('OTP-37 an exit with normal to itself ends an actor', async (t) => {
  const host = await startHost(t)
  host.ctx.exit(host.ref, normal)
  assert.equal(host.ref.reason, normal)
})

test('an exit signal ends an actor in the middle of an asynchronous handler at once', async (t) => {
  const gate = deferred()
  const behaviour = defineActor({
    name: 'busy',
    init: () => ({}),
    call: { work: () => gate.promise },
  })
  const ref = await start(t, behaviour)
  const reply = ref.call('work')
  await turn()
  ref.exit(shutdown)
  const error = await rejection(reply, 'EXITED')
  assert.equal((error.data as { reason: ExitReason }).reason, shutdown)
  gate.resolve()
})

test('a wrong exit reason is refused with what was expected', async (t) => {
  const host = await startHost(t)
  const wrong = 'normal' as unknown as ExitReason
  const message = /expected \{ type \} with a type among normal, .*, got "normal"/
  assert.match(thrown(() => host.ctx.stop(wrong), 'BAD_OPTION').message, message)
  assert.match(thrown(() => host.ctx.exit(host.ref, wrong), 'BAD_OPTION').message, message)
  assert.match(thrown(() => host.ref.exit(wrong), 'BAD_OPTION').message, message)
  assert.match((await rejection(host.ref.stop(wrong), 'BAD_OPTION')).message, message)
  assert.match((await rejection(host.ref.stop(normal, Number.NaN), 'BAD_OPTION')).message, 'got NaN')
  thrown(() => host.ctx.stop(kill as ExitReason), 'BAD_OPTION')
  assert.is(host.ref.alive, true)
})

test.run()
