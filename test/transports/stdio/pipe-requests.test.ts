import * as assert from 'uvu/assert'
import { PipeRequests } from '../../../transports/stdio/pipe-requests.js'
import { suite } from '../../support/suite.js'

const test = suite('requests on a pipe')

test('as many are begun as the server takes, the rest in their order, and one that is held back can be taken out', () => {
  const begun: unknown[] = []
  const requests = new PipeRequests()
  const enter = (id: number) => requests.enter(id, 10, 2, () => void begun.push(id))
  for (const id of [1, 2, 3, 4, 5]) enter(id)
  assert.equal(begun, [1, 2])
  assert.equal(
    [requests.size, requests.has(4), requests.isHeld(4), requests.isHeld(1)],
    [5, true, true, false],
  )
  assert.ok(requests.leave(4))
  assert.not.ok(requests.leave(4))
  requests.leave(2)
  assert.equal(begun, [1, 2, 3])
  requests.leave(1)
  assert.equal(begun, [1, 2, 3, 5])
  assert.equal(requests.clear(), [3, 5])
  assert.equal([requests.size, begun.length], [0, 4])
})

test('those that are cleared out begin nothing, and what comes later does', () => {
  const begun: unknown[] = []
  const requests = new PipeRequests()
  for (const id of [1, 2]) requests.enter(id, 1, 1, () => void begun.push(id))
  assert.equal(requests.clear(), [1, 2])
  requests.enter(3, 1, 1, () => void begun.push(3))
  assert.equal(begun, [1, 3])
})

test('bytes count as well, but for one alone; and far too much is a reason to read no more', () => {
  const mib = 1024 * 1024
  const requests = new PipeRequests()
  const begun: number[] = []
  requests.enter(1, 100 * mib, undefined, () => void begun.push(1))
  requests.enter(2, 1, undefined, () => void begun.push(2))
  assert.equal([begun, requests.isFull], [[1], false])
  requests.enter(3, 64 * mib, undefined, () => void begun.push(3))
  assert.ok(requests.isFull)
  requests.leave(1)
  assert.equal([begun, requests.isFull], [[1, 2], false])
  requests.leave(2)
  assert.equal([begun, requests.isFull], [[1, 2, 3], false])
  for (let id = 10; id <= 1_010; id++) requests.enter(id, 1, 1, () => {})
  assert.ok(requests.isFull)
})

test('while the client does not read, one is begun at a time; when it does, the rest', () => {
  let isRead = true
  const begun: number[] = []
  const requests = new PipeRequests(() => isRead)
  const enter = (id: number) => requests.enter(id, 1, 9, () => void begun.push(id))
  for (const id of [1, 2]) enter(id)
  isRead = false
  for (const id of [3, 4, 5, 6]) enter(id)
  assert.equal(begun, [1, 2])
  requests.leave(1)
  assert.equal(begun, [1, 2])
  requests.leave(2)
  assert.equal(begun, [1, 2, 3])
  isRead = true
  requests.beginHeld()
  assert.equal(begun, [1, 2, 3, 4, 5, 6])
})

test.run()
