import * as assert from 'uvu/assert'
import { systemWorld } from 'caduceus/runtime'
import type { Peer } from 'caduceus/transports'
import { currentOwner, type Owner, OwnerToken } from '../../../../runtime/faults/containment.js'
import { AnswerQueue } from '../../../../transports/http/server/answer-queue.js'
import { suite } from '../../../support/suite.js'

const test = suite('http answer queue')

test('answers of one turn are written together, in order; a broken one fails alone', async () => {
  const { queue, token, written, failed } = make()
  queue.add(token, () => written.push('first'))
  queue.add(token, () => {
    throw new Error('broken')
  })
  queue.add(token, () => written.push('third'))
  assert.equal(written, [])
  await turn()
  assert.equal([written, failed], [['first', 'third'], ['broken']])
})

test('a flush writes queued answers at once, and only once', async () => {
  const { queue, token, written } = make()
  queue.add(token, () => written.push('first'))
  queue.flush()
  assert.equal(written, ['first'])
  queue.add(token, () => written.push('second'))
  await turn()
  assert.equal(written, ['first', 'second'])
})

test('an answer added during a flush is written, too', async () => {
  const { queue, token, written } = make()
  queue.add(token, () => {
    written.push('first')
    queue.add(token, () => written.push('second'))
  })
  await turn()
  await turn()
  assert.equal(written, ['first', 'second'])
})

test('each answer is written in the scope of its owner', async () => {
  const { queue, token } = make()
  const other = make().token
  const owners: unknown[] = []
  for (const owner of [token, other]) queue.add(owner, () => owners.push(currentOwner()))
  await turn()
  assert.is(owners[0], token)
  assert.is(owners[1], other)
})

test('behind a long answer others wait for a later turn, and callers take turns', async () => {
  const { queue, answer, written, rested } = make()
  for (const name of ['ada 1', 'ada 2', 'ada 3', 'bob 1', 'bob 2']) answer(name, 30)
  for (const name of ['cyd 1', 'cyd 2']) answer(name, 0)
  const turns = [[...written]]
  while (written.length < 7) {
    await turn()
    turns.push(written.slice(turns.flat().length))
  }
  // Node runs what was asked for in one turn at once: the first turn is that of the test
  assert.equal(turns.flat(), ['ada 1', 'bob 1', 'cyd 1', 'cyd 2', 'ada 2', 'bob 2', 'ada 3'])
  assert.ok(
    turns.every((made) => made.filter((name) => !name.startsWith('cyd')).length <= 1),
    JSON.stringify(turns),
  )
  await rested()
  answer('at once', 0)
  assert.is(written.at(-1), 'at once')
  queue.flush()
})

test('behind a long message others wait for a later turn, and callers take turns', async () => {
  const { read, written } = make()
  const all = ['ada 1', 'ada 2', 'ada 3', 'bob 1'].map((name) => read(name, 30))
  assert.equal(written, ['ada 1'])
  const turns: number[] = []
  for (let done = written.length; done < 4; done = written.length) {
    await turn()
    turns.push(written.length - done)
  }
  await Promise.all(all)
  assert.equal(written, ['ada 1', 'bob 1', 'ada 2', 'ada 3'])
  assert.ok(
    turns.every((count) => count <= 1),
    JSON.stringify(turns),
  )
})

test('an answer does not wait behind messages that take their time', async () => {
  const { answer, read, written } = make()
  const all = ['ada 1', 'ada 2', 'bob 1'].map((name) => read(name, 3))
  answer('cyd 1', 0)
  assert.equal(written, ['ada 1', 'cyd 1'])
  while (written.length < 4) await turn()
  await Promise.all(all)
  assert.equal(written, ['ada 1', 'cyd 1', 'ada 2', 'bob 1'])
})

test('whoever reads a message hears what it throws, at once and later', async () => {
  const { queue, read, written } = make()
  const broken = (): void => {
    throw new Error('broken')
  }
  const throws = (name: string): Promise<string> =>
    read(name, 30, broken).then(
      () => 'nothing',
      (error: Error) => error.message,
    )
  const all = [throws('first'), throws('second'), read('third', 0)]
  queue.flush()
  await Promise.all(all)
  assert.equal([written, await all[0], await all[1]], [['third'], 'broken', 'broken'])
})

test('a flush makes all that waits; one that throws costs no other one its answer', async () => {
  const { queue, answer, written, failed, rested } = make()
  answer('first', 30)
  answer('second', 0)
  answer('broken', 0, () => {
    throw new Error('broken')
  })
  answer('third', 0)
  assert.equal(written, ['first'])
  queue.flush()
  assert.equal([written, failed], [['first', 'second', 'third'], ['broken']])
  await rested()
  answer('fourth', 0)
  assert.is(written.at(-1), 'fourth')
  assert.throws(() =>
    answer('fifth', 30, () => {
      throw new Error('broken')
    }),
  )
  answer('sixth', 0)
  assert.is(written.at(-1), 'fourth')
  await rested()
  assert.is(written.at(-1), 'sixth')
})

function make() {
  const [written, failed]: [string[], string[]] = [[], []]
  const owner: Owner = { fail: (error) => void failed.push((error as Error).message) }
  let now = 0
  const queue = new AnswerQueue({
    setImmediate: systemWorld.setImmediate,
    now: () => now,
    cpu: () => now,
    // as if the time had come
    setTimeout: (fn, ms) =>
      systemWorld.setImmediate(() => {
        now += ms
        fn()
      }),
    clearTimeout: () => {},
  })
  const token = new OwnerToken('answer', owner, null)
  const peer: Peer = { transport: 'http', headers: {}, remoteAddress: '127.0.0.1' }
  const lasting = (name: string, ms: number, work?: () => void) => (): void => {
    now += ms
    work?.()
    written.push(name)
  }
  /** The answer of a session takes so many milliseconds. */
  const answer = (name: string, ms: number, work?: () => void): void =>
    queue.make({ token, peer, sessionId: name.split(' ')[0] }, lasting(name, ms, work))
  /** And so does its message. */
  const read = (name: string, ms: number, work?: () => void): Promise<void> =>
    queue.read({ peer, sessionId: name.split(' ')[0] }, 10_000, lasting(name, ms, work))
  /** Nobody rests any more. */
  const rested = async (): Promise<void> => {
    now += 10_000
    await turn()
    await read('look', 0)
    await turn()
    written.splice(written.indexOf('look'), 1)
  }
  return {
    rested,
    queue,
    token,
    answer,
    read,
    written,
    failed,
  }
}

/** The end of the turn that runs. */
function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}

test.run()
