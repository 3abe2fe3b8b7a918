import * as assert from 'uvu/assert'
import { type ActorRef, defineActor } from 'caduceus/runtime'
import { suite } from '../../support/suite.js'
import { rejection, start } from '../_actors.js'

const test = suite('starts with thenables')

test('an init thenable that throws, or rejects and throws, fails the start once', async (t) => {
  const thenables: PromiseLike<object>[] = [
    {
      // biome-ignore lint/suspicious/noThenProperty: such objects are what this is about.
      then() {
        throw new Error('no such thing')
      },
    },
    {
      // biome-ignore lint/suspicious/noThenProperty: as above.
      then(_: unknown, reject: (error: Error) => void) {
        reject(new Error('not now'))
        throw new Error('and never')
      },
    },
  ] as unknown as PromiseLike<object>[]
  for (const thenable of thenables) {
    let held: ActorRef | undefined
    const error = await rejection(
      start(
        t,
        defineActor({
          name: 'starting',
          init(_: undefined, ctx) {
            held = ctx.self
            return thenable
          },
        }),
      ),
      'START_FAILED',
    )
    assert.instance(error.cause, Error)
    assert.is(held?.alive, false)
  }
})

test.run()
