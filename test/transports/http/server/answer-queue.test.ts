import * as assert from 'uvu/assert'
import { systemWorld } from 'caduceus/runtime'
import { currentOwner, type Owner, OwnerToken } from '../../../../runtime/faults/containment.js'
import { AnswerQueue } from '../../../../transports/http/server/exchange.js'
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

function make() {
  const [written, failed]: [string[], string[]] = [[], []]
  const owner: Owner = { fail: (error) => void failed.push((error as Error).message) }
  return {
    queue: new AnswerQueue(systemWorld),
    token: new OwnerToken('answer', owner, null),
    written,
    failed,
  }
}

/** The end of the turn that runs. */
function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}

test.run()
