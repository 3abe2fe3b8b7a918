import * as assert from 'uvu/assert'
import { type OpenRequest, OpenRequests } from '../../../transports/inbound/requests.js'
import { suite } from '../../support/suite.js'

const test = suite('open requests of a connection')

/** Requests that a test enters by their ids, and which of them were begun. */
function start(isRead: () => boolean = () => true) {
  const begun: unknown[] = []
  const requests = new OpenRequests(isRead)
  const all = new Map<number, OpenRequest>()
  const enter = (id: number, max?: number, size = 1): void => {
    const request = { id, size, begin: () => void begun.push(id) }
    all.set(id, request)
    requests.enter(request, max)
  }
  const answer = (id: number): boolean => {
    const isAnswered = requests.leave(all.get(id) as OpenRequest)
    requests.beginHeld()
    return isAnswered
  }
  return { requests, begun, enter, answer }
}

test('requests start in order up to the limit, and a waiting one can be taken out', () => {
  const { requests, begun, enter, answer } = start()
  for (const id of [1, 2, 3, 4, 5]) enter(id, 2)
  assert.equal(begun, [1, 2])
  assert.equal([requests.size, requests.has(4), requests.takeHeld(1)], [5, true, undefined])
  assert.is(requests.takeHeld(4)?.id, 4)
  assert.is(requests.takeHeld(4), undefined)
  assert.not.ok(requests.has(4))
  answer(2)
  assert.equal(begun, [1, 2, 3])
  answer(1)
  assert.equal(begun, [1, 2, 3, 5])
  assert.equal(
    requests.takeAll().map(({ id }) => id),
    [3, 5],
  )
  assert.equal([requests.size, begun.length], [0, 4])
})

test('without a limit all requests begin, and each is answered once', () => {
  const { requests, begun, enter, answer } = start(() => false)
  for (let id = 0; id < 100; id++) enter(id, undefined, 1024 * 1024)
  assert.equal([begun.length, requests.isFull], [100, false])
  assert.equal([answer(1), answer(1)], [true, false])
  requests.takeAll()
  assert.equal([answer(2), requests.size], [false, 0])
})

test('interrupted requests begin nothing, later ones do', () => {
  const { requests, begun, enter } = start()
  for (const id of [1, 2]) enter(id, 1)
  requests.takeAll()
  enter(3, 1)
  assert.equal(begun, [1, 3])
})

test('bytes count too, except for a lone request, and far too many stop reading', () => {
  const mib = 1024 * 1024
  const { requests, begun, enter, answer } = start()
  const max = Number.POSITIVE_INFINITY
  enter(1, max, 100 * mib)
  enter(2, max, 1)
  assert.equal([begun, requests.isFull], [[1], false])
  enter(3, max, 64 * mib)
  assert.ok(requests.isFull)
  answer(1)
  assert.equal([begun, requests.isFull], [[1, 2], false])
  answer(2)
  assert.equal([begun, requests.isFull], [[1, 2, 3], false])
  for (let id = 10; id <= 1_010; id++) enter(id, 1)
  assert.ok(requests.isFull)
})

test('while the client does not read, one request begins at a time', () => {
  let isRead = true
  const { requests, begun, enter, answer } = start(() => isRead)
  for (const id of [1, 2]) enter(id, 9)
  isRead = false
  for (const id of [3, 4, 5, 6]) enter(id, 9)
  assert.equal(begun, [1, 2])
  answer(1)
  assert.equal(begun, [1, 2])
  answer(2)
  assert.equal(begun, [1, 2, 3])
  isRead = true
  requests.beginHeld()
  assert.equal(begun, [1, 2, 3, 4, 5, 6])
})

test.run()
