import * as assert from 'uvu/assert'
import {
  getState,
  replaceState,
  resume,
  startActor,
  startDynamicSupervisor,
  startSupervisor,
  suspend,
  TopicRegistry,
  trace,
} from 'caduceus/runtime'
import { processOf } from '../../../runtime/process/ref.js'
import { suite } from '../../support/suite.js'
import { rejection, startHost, thrown } from '../_actors.js'
import { zombie } from '../_zombie.js'

const test = suite('fencing')

test('JS-6 a dead incarnation changes, watches and starts nothing, and is counted', async (t) => {
  const host = await startHost(t, { trapExit: true })
  const other = await startHost(t)
  const topics = new TopicRegistry()
  const { behaviour, die } = zombie(async () => {
    const { ref } = other
    await rejection(
      replaceState(ref, () => 'theirs'),
      'ACTOR_DEAD',
    )
    thrown(() => suspend(ref), 'ACTOR_DEAD')
    thrown(() => resume(ref), 'ACTOR_DEAD')
    thrown(() => trace(ref, () => {}), 'ACTOR_DEAD')
    thrown(() => topics.register('k', ref), 'ACTOR_DEAD')
    await rejection(
      topics.lock('k', ref, () => 1),
      'ACTOR_DEAD',
    )
    await rejection(startActor(behaviour), 'ACTOR_DEAD')
    await rejection(startSupervisor({ strategy: 'one_for_one' }), 'ACTOR_DEAD')
    await rejection(startDynamicSupervisor(), 'ACTOR_DEAD')
    return getState(ref)
  })
  const ref = await host.ctx.start(behaviour)
  assert.equal(await die(ref), {})
  assert.is(processOf(other.ref).tree.afterlife.refused, 6)
  assert.is(processOf(ref).tree.afterlife.refused, 3)
  assert.is(topics.count(), 0)
})

test.run()
