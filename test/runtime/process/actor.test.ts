import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import * as assert from 'uvu/assert'
import { defineActor, formatReason, shutdownWith } from 'caduceus/runtime'
import { suite } from '../../support/suite.js'
import { ended, hear, Notes, rejection, start, startHost, turn } from '../_actors.js'

const test = suite('actor')

function counter() {
  return defineActor({
    name: 'counter',
    init: (count: number) => ({ count }),
    call: { read: (state) => state.count },
    cast: {
      add(state, by: number) {
        state.count += by
      },
    },
  })
}

test('OTP-88 JS-1 messages are handled one at a time, async handlers too', async (t) => {
  const notes = new Notes<string>()
  const worker = defineActor({
    name: 'worker',
    init: () => ({ running: 0 }),
    cast: {
      async work(state, id: number) {
        state.running += 1
        notes.add(`${id} begins as ${state.running}`)
        await turn()
        notes.add(`${id} ends`)
        state.running -= 1
      },
    },
  })
  const ref = await start(t, worker)
  for (const id of [1, 2, 3]) ref.cast('work', id)
  const expected = [1, 2, 3].flatMap((id) => [`${id} begins as 1`, `${id} ends`])
  assert.equal(await notes.next(6), expected)
})

test('OTP-88 a handler sees the state of the handler before', async (t) => {
  const ref = await start(t, counter(), 5)
  ref.cast('add', 2)
  ref.cast('add', 3)
  assert.is(await ref.call('read'), 10)
})

test('synchronous handlers run in one turn without promises', async (t) => {
  const read = { count: -1 }
  // Where another process takes the processor in the middle, the actor's share of time is over: that proves nothing.
  for (let tries = 0; tries < 50 && read.count !== 500; tries++) {
    const ref = await start(t, counter(), 0)
    await ref.call('read')
    await turn()
    read.count = -1
    for (let i = 0; i < 500; i++) ref.cast('add', 1)
    const asked = ref.call('read').then((count) => {
      read.count = count
    })
    for (let microtask = 0; microtask < 4; microtask++) await null
    if (read.count !== 500) await asked.then(() => (read.count = -1))
  }
  assert.is(read.count, 500)
})

test('a message to itself waits behind earlier ones', async (t) => {
  const notes = new Notes<string>()
  const behaviour = defineActor({
    name: 'echo',
    init: () => ({}),
    cast: {
      note: (_, text: string) => notes.add(text),
      again(_, __: undefined, ctx) {
        ctx.self.send('to myself')
      },
    },
    info: { message: (_, message) => notes.add(String(message)) },
  })
  const ref = await start(t, behaviour)
  ref.cast('again')
  ref.cast('note', 'from outside')
  assert.equal(await notes.next(2), ['from outside', 'to myself'])
})

test('OTP-86 JS-2 messages of one sender arrive in order, whatever their kind', async (t) => {
  const notes = new Notes<number>()
  const behaviour = defineActor({
    name: 'log',
    init: () => ({}),
    call: { ask: async (_, n: number) => notes.add(n) },
    cast: { tell: (_, n: number) => notes.add(n) },
    info: { message: (_, n) => notes.add(n as number) },
    terminate: () => notes.add(100),
  })
  const ref = await start(t, behaviour)
  const calls: Promise<void>[] = []
  for (let n = 0; n < 90; n += 3) {
    ref.cast('tell', n)
    calls.push(ref.call('ask', n + 1))
    ref.send(n + 2)
  }
  await ref.stop()
  await Promise.all(calls)
  assert.equal(notes.seen, [...Array(90).keys(), 100])
})

test('OTP-39 a handler that throws or rejects ends the actor with that error', async (t) => {
  const crashes = hear(t, 'crash')
  const behaviour = defineActor({
    name: 'fragile',
    init: () => ({}),
    cast: {
      throws(_, error: Error) {
        throw error
      },
      async rejects(_, error: Error) {
        await turn()
        throw error
      },
    },
  })
  for (const name of ['throws', 'rejects'] as const) {
    const error = new Error(name)
    const ref = await start(t, behaviour)
    ref.cast(name, error)
    assert.equal(await ended(ref), { type: 'crash', error })
    assert.is(crashes.at(-1)?.during, name)
  }
  assert.is(crashes.length, 2)
})

test('an actor that throws a non-Error crashes like any other', async (t) => {
  const behaviour = defineActor({
    name: 'odd',
    init: () => ({}),
    call: {
      fail(_, value: unknown) {
        throw value
      },
    },
  })
  for (const value of [undefined, null, 7, Symbol('odd'), Object.create(null), { message: 'not an error' }]) {
    const host = await startHost(t, { trapExit: true })
    const ref = await host.ctx.start(behaviour)
    const error = await rejection(ref.call('fail', value), 'EXITED')
    assert.equal(error.data, {
      actor: 'odd',
      call: 'fail',
      reason: { type: 'crash', error: value },
      sent: true,
    })
    await host.exits.next(1)
    assert.type(formatReason({ type: 'crash', error: value }), 'string')
  }
})

test('OTP-39 ctx.stop ends the actor after its handler, and drops waiting messages', async (t) => {
  const notes = new Notes<string>()
  const behaviour = defineActor({
    name: 'stopper',
    init: () => ({}),
    call: {
      async stop(_, detail: string, ctx) {
        ctx.stop(shutdownWith(detail))
        ctx.stop(shutdownWith('too late'))
        await turn()
        notes.add('handler ends')
        return 'bye'
      },
    },
    cast: { note: (_, text: string) => notes.add(text) },
    terminate: (_, reason) => notes.add(formatReason(reason)),
  })
  const ref = await start(t, behaviour)
  const reply = ref.call('stop', 'enough')
  ref.cast('note', 'never handled')
  assert.is(await reply, 'bye')
  assert.equal(await ended(ref), { type: 'shutdown', detail: 'enough' })
  assert.equal(notes.seen, ['handler ends', 'shutdown'])
})

test('ctx.stop from a timer between two messages ends the actor at once', async (t) => {
  const behaviour = defineActor({
    name: 'short-lived',
    init(_: undefined, ctx) {
      ctx.clock.setTimeout(() => ctx.stop(), 1)
      return {}
    },
  })
  const ref = await start(t, behaviour)
  assert.equal(await ended(ref), { type: 'normal' })
})

test('OTP-98 a message nobody handles is reported and the actor goes on', async (t) => {
  const notices = hear(t, 'notice')
  const ref = await start(t, counter(), 1)
  assert.is(ref.send({ any: 'thing' }), true)
  assert.is(await ref.call('read'), 1)
  assert.equal(
    notices.map(({ notice, detail }) => ({ notice, detail })),
    [{ notice: 'unexpected_message', detail: { kind: 'message', detail: { any: 'thing' } } }],
  )
})

test('OTP-92 sending to a dead actor is harmless', async (t) => {
  const ref = await start(t, counter(), 1)
  ref.kill()
  assert.is(ref.cast('add', 1), false)
  assert.is(ref.send('hello'), false)
})

test('a reference to a dead actor keeps no hold on its state', async (t) => {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  const weak: WeakRef<object>[] = []
  const behaviour = defineActor({
    name: 'holder',
    init: () => {
      const state = { size: 1 }
      weak.push(new WeakRef(state))
      return state
    },
    call: { size: (state) => state.size },
  })
  const host = await startHost(t)
  const [alive, dead] = [await host.ctx.start(behaviour), await host.ctx.start(behaviour)]
  assert.is((await alive.call('size')) + (await dead.call('size')), 2)
  await dead.stop()
  await turn()
  collect()
  assert.equal(
    weak.map((ref) => ref.deref() !== undefined),
    [true, false],
  )
  assert.equal([alive.alive, dead.alive], [true, false])
})

test.run()
