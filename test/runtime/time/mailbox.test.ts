import * as assert from 'uvu/assert'
import { createFakeClock, defineActor } from 'caduceus/runtime'
import { Mailbox } from '../../../runtime/time/mailbox.js'
import { cpuTime } from '../../support/allowance.mjs'
import { suite } from '../../support/suite.js'
import { deferred, hear, rejection, start, startHost, turn } from '../_actors.js'

const test = suite('mailbox')

test('messages come out in the order they went in, across compaction', () => {
  const mailbox = new Mailbox<number>()
  const out: (number | undefined)[] = []
  let sent = 0
  for (let round = 0; round < 50; round++) {
    for (let i = 0; i < 200; i++) mailbox.push(sent++)
    for (let i = 0; i < 150; i++) out.push(mailbox.shift())
  }
  assert.is(mailbox.length, 2_500)
  out.push(...mailbox.drain())
  assert.is(mailbox.length, 0)
  assert.is(mailbox.shift(), undefined)
  assert.ok(out.every((message, i) => message === i))
  assert.is(out.length, sent)
})

test('a backlog of 300,000 is taken in linear time', () => {
  const mailbox = new Mailbox<number>()
  for (let i = 0; i < 300_000; i++) mailbox.push(i)
  const start = cpuTime()
  let sum = 0
  for (let next = mailbox.shift(); next !== undefined; next = mailbox.shift()) sum += next
  assert.is(sum, (300_000 * 299_999) / 2)
  // Array.shift needs many seconds for this.
  assert.ok(cpuTime() - start < 1_000)
})

/** An actor that is kept busy by its first message. */
function clogged(mailboxLimit: number) {
  const gate = deferred()
  const behaviour = defineActor({
    name: 'clogged',
    mailboxLimit,
    init: () => ({ sum: 0 }),
    call: { read: (state) => state.sum },
    cast: {
      wait: () => gate.promise,
      add(state, n: number) {
        state.sum += n
      },
    },
    info: {
      message(state, n) {
        state.sum += n as number
      },
      timer(state, n) {
        state.sum += n as number
      },
    },
  })
  return { behaviour, open: gate.resolve }
}

test('a full mailbox gives MAILBOX_FULL to calls, false to casts, and one notice', async (t) => {
  const notices = hear(t, 'notice')
  const { behaviour, open } = clogged(3)
  const ref = await start(t, behaviour)
  ref.cast('wait')
  await turn()
  assert.equal(
    [1, 10, 100, 1_000].map((n) => ref.cast('add', n)),
    [true, true, true, false],
  )
  assert.is(ref.send(10_000), false)
  const error = await rejection(ref.call('read'), 'MAILBOX_FULL')
  assert.equal([error.retryable, error.data], [true, { sent: false }])
  assert.is(error.message, 'clogged.read: 3 messages are waiting already')
  assert.equal(
    notices.map(({ notice, detail }) => [notice, detail]),
    [['mailbox_full', 3]],
  )
  open()
  await turn()
  assert.is(await ref.call('read'), 111)
})

test('an emptied mailbox takes messages again, and a second jam is reported again', async (t) => {
  const notices = hear(t, 'notice')
  const { behaviour, open } = clogged(2)
  const ref = await start(t, behaviour)
  ref.cast('wait')
  await turn()
  for (let i = 0; i < 5; i++) ref.cast('add', 1)
  open()
  await turn()
  assert.is(await ref.call('read'), 2)
  for (let i = 0; i < 5; i++) ref.cast('add', 1)
  assert.is(notices.length, 2)
})

test('the limit also holds while init is running', async (t) => {
  const gate = deferred()
  const host = await startHost(t)
  const behaviour = defineActor({
    name: 'slow',
    mailboxLimit: 2,
    async init() {
      await gate.promise
      return { sum: 0 }
    },
    cast: {
      add(state, n: number) {
        state.sum += n
      },
    },
    call: { read: (state) => state.sum },
  })
  const starting = host.ctx.start(behaviour, undefined, { name: 'slow' })
  const early = host.ctx.registry.named<typeof behaviour>('slow')
  assert.equal([early.cast('add', 1), early.cast('add', 2), early.cast('add', 3)], [true, true, false])
  gate.resolve()
  assert.is(await (await starting).call('read'), 3)
})

test('runtime messages are never refused: timers, exits, stop', async (t) => {
  const { behaviour, open } = clogged(1)
  const behaviourWithTimer = defineActor({
    ...behaviour.definition,
    init(_: undefined, ctx) {
      ctx.sendAfter(0, 5)
      return { sum: 0 }
    },
  })
  // by a clock of its own the timer might be met before the actor is busy
  const clock = createFakeClock()
  const ref = await start(t, behaviourWithTimer, undefined, { clock })
  ref.cast('wait')
  await turn()
  await clock.advance(0)
  assert.is(ref.cast('add', 1), false)
  const stopping = ref.stop()
  open()
  assert.equal(await stopping, { type: 'normal' })
})

test('a mailbox takes 100,000 messages unless told otherwise', async (t) => {
  const gate = deferred()
  const behaviour = defineActor({
    name: 'usual',
    init: () => ({}),
    cast: { wait: () => gate.promise, add: () => {} },
  })
  const ref = await start(t, behaviour)
  ref.cast('wait')
  await turn()
  for (let n = 1; n < 100_000; n++) ref.cast('add')
  assert.equal([ref.cast('add'), ref.cast('add')], [true, false])
  gate.resolve()
})

test('a mailbox jam ends once half of the room is free', async (t) => {
  const notices = hear(t, 'notice')
  const gates = [deferred(), deferred(), deferred()]
  let at = 0
  const behaviour = defineActor({
    name: 'slow',
    mailboxLimit: 4,
    init: () => ({}),
    cast: { step: () => gates[at++]?.promise },
  })
  const ref = await start(t, behaviour)
  const cast = (count: number): boolean[] => Array.from({ length: count }, () => ref.cast('step'))
  cast(1)
  await turn()
  assert.equal(cast(5), [true, true, true, true, false])
  assert.is(notices.length, 1)
  gates[0]?.resolve()
  gates[1]?.resolve()
  await turn()
  assert.equal(cast(3), [true, true, false])
  assert.is(notices.length, 2)
  ref.kill()
})

test.run()
