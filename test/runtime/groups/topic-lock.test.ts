import * as assert from 'uvu/assert'
import { type ProcessRef, TopicRegistry } from 'caduceus/runtime'
import { suite } from '../../support/suite.js'
import { deferred, rejection, startHost, thrown, turn } from '../_actors.js'

const test = suite('locks of a topic registry')
const never = (): Promise<void> => new Promise(() => {})

test('a lock with wrong arguments is refused and stays free', async (t) => {
  const topics = new TopicRegistry()
  const { ref } = await startHost(t)
  await rejection(
    topics.lock('k', undefined as unknown as ProcessRef, () => 1),
    'BAD_OPTION',
  )
  await rejection(topics.lock('k', ref, undefined as unknown as () => number), 'BAD_OPTION')
  await rejection(
    topics.lock(7 as unknown as string, ref, () => 1),
    'BAD_OPTION',
  )
  assert.is(await topics.lock('k', ref, () => 'mine'), 'mine')
})

test('a lock whose holder ends rejects with EXITED and passes to the next in line', async (t) => {
  const topics = new TopicRegistry()
  const holder = await startHost(t)
  const other = await startHost(t)
  const begun = deferred()
  const held = topics.lock('k', holder.ref, () => {
    begun.resolve()
    return never()
  })
  const next = topics.lock('k', other.ref, () => 'next')
  await begun.promise
  holder.ref.kill()
  const { data } = await rejection(held, 'EXITED')
  assert.equal(data, { reason: { type: 'killed' } })
  assert.is(await next, 'next')
})

test('a waiter that ends is told at once and never gets the lock', async (t) => {
  const topics = new TopicRegistry()
  const first = await startHost(t)
  const second = await startHost(t)
  const third = await startHost(t)
  const done = deferred()
  const order: string[] = []
  const held = topics.lock('k', first.ref, async () => {
    await done.promise
    order.push('first')
  })
  const waiting = topics.lock('k', second.ref, () => order.push('second'))
  const last = topics.lock('k', third.ref, () => order.push('third'))
  second.ref.kill()
  await rejection(waiting, 'EXITED')
  await turn()
  assert.equal(order, [])
  done.resolve()
  await Promise.all([held, last])
  assert.equal(order, ['first', 'third'])
})

test('a registry of topics refuses wrong references, keys and listeners', async (t) => {
  const topics = new TopicRegistry()
  const { ref } = await startHost(t)
  thrown(() => topics.register('k', {} as ProcessRef), 'BAD_OPTION')
  thrown(() => topics.register('k', undefined as unknown as ProcessRef), 'BAD_OPTION')
  thrown(() => topics.register(null as unknown as string, ref), 'BAD_OPTION')
  thrown(() => topics.onChange('nobody' as unknown as () => void), 'BAD_OPTION')
  assert.is(topics.count(), 0)
})

test.run()
