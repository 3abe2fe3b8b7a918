import * as assert from 'uvu/assert'
import { type ActorRef, defineActor } from 'caduceus/runtime'
import { suite } from '../../support/suite.js'
import { deferred, Notes, start, turn } from '../_actors.js'

const test = suite('continue')

test('OTP-93 continuations of init run before waiting messages', async (t) => {
  const gate = deferred()
  const notes = new Notes<string>()
  const behaviour = defineActor({
    name: 'slow start',
    async init(give: (self: ActorRef) => void, ctx) {
      give(ctx.self)
      await gate.promise
      ctx.continue(async () => {
        await turn()
        notes.add('continued')
      })
      return {}
    },
    info: { message: (_, message) => notes.add(String(message)) },
  })
  const starting = start(t, behaviour, (self) => self.send('early'))
  gate.resolve()
  const ref = await starting
  ref.send('late')
  assert.equal(await notes.next(3), ['continued', 'early', 'late'])
})

test('OTP-93 continuations run right after their handler, in order, and may nest', async (t) => {
  const notes = new Notes<string>()
  const behaviour = defineActor({
    name: 'steps',
    init: () => ({}),
    cast: {
      go(_, __: undefined, ctx) {
        ctx.continue(() => {
          notes.add('one')
          ctx.continue(() => notes.add('three'))
        })
        ctx.continue(async () => {
          await turn()
          notes.add('two')
        })
        notes.add('zero')
      },
      note: (_, text: string) => notes.add(text),
    },
  })
  const ref = await start(t, behaviour)
  ref.cast('go')
  ref.cast('note', 'queued')
  assert.equal(await notes.next(5), ['zero', 'one', 'two', 'three', 'queued'])
})

test('a hundred thousand continuations neither overflow the stack nor starve the loop', async (t) => {
  const done = deferred<number>()
  const behaviour = defineActor({
    name: 'chain',
    init: () => ({ left: 100_000, turns: 0 }),
    cast: {
      go(state, _: undefined, ctx) {
        const count = setInterval(() => {
          state.turns += 1
        }, 1)
        ctx.own(() => clearInterval(count))
        const step = (): void => {
          state.left -= 1
          if (state.left === 0) done.resolve(state.turns)
          else ctx.continue(step)
        }
        ctx.continue(step)
      },
    },
  })
  const ref = await start(t, behaviour)
  ref.cast('go')
  assert.ok((await done.promise) > 0)
})

test('a continuation requested by a timer runs without waiting for a message', async (t) => {
  const notes = new Notes<string>()
  const behaviour = defineActor({
    name: 'timed',
    init(_: undefined, ctx) {
      ctx.clock.setTimeout(() => ctx.continue(() => notes.add('continued')), 1)
      return {}
    },
  })
  await start(t, behaviour)
  assert.equal(await notes.next(1), ['continued'])
})

test.run()
