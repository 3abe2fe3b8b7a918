import * as assert from 'uvu/assert'
import { defineActor, startActor, systemWorld } from 'caduceus/runtime'
import { HandlerOwner, Watchers } from '../../../client/base/watchers.js'
import { suite } from '../../support/suite.js'

const test = suite('handlers of a client')

test('a handler of a dead actor goes when the next one comes, before any news', async () => {
  const watchers = new Watchers<[]>(new HandlerOwner('c', systemWorld))
  const listener = defineActor({
    name: 'listener',
    init: () => {
      watchers.add(() => {})
      return {}
    },
  })
  for (const _ of ['first', 'second', 'third']) await (await startActor(listener)).stop()
  watchers.add(() => {})
  assert.is(watchers.size, 1)
})

test.run()
