import * as assert from 'uvu/assert'
import { LoopShare, noteConnection } from '../../../runtime/time/loop-share.js'
import { suite } from '../../support/suite.js'

const test = suite('what work leaves of the event loop')

test('work waits a turn for each connection that comes, and goes on without', () => {
  const share = new LoopShare()
  assert.ok(share.mayWork())
  noteConnection()
  noteConnection()
  assert.equal([share.mayWork(), share.mayWork()], [false, true])
})

test('connections that never end hold work up for 64 turns, and no longer', () => {
  const share = new LoopShare()
  const waits = (): number => {
    for (let turns = 0; ; turns += 1) {
      noteConnection()
      if (share.mayWork()) return turns
    }
  }
  assert.equal([waits(), waits()], [64, 64])
})

test('each queue of work looks for itself', () => {
  const [one, other] = [new LoopShare(), new LoopShare()]
  noteConnection()
  assert.equal([one.mayWork(), other.mayWork()], [false, false])
  assert.equal([one.mayWork(), other.mayWork()], [true, true])
})

test.run()
