import { equal, is } from 'uvu/assert'
import { Follow } from '../../../server/nodes/follow.js'
import { suite } from '../../support/suite.js'

const test = suite('a stream of another node that is taken up')

const event = (number: number, isLast = false) => ({ number, data: `event ${number}`, isLast })
const wish = { type: 'follow', follow: 'f', log: 'l', sessionId: 's', stream: 'c1', after: 1 } as const

function taken() {
  const follow = new Follow(wish, 1_000)
  const followed = { type: 'followed', follow: 'f', events: [event(2)] } as const
  equal(follow.hear(followed), [followed, false])
  return follow
}

test('a follow without news sends its client nothing and may go on', () => {
  const follow = taken()
  follow.search(2_000)
  equal(follow.hear({ type: 'followed', follow: 'f', events: [] }), [undefined, true])
  is(follow.isOver, false)
  is(follow.report.after, 2)
})

test('a resumed follow gets new events and the end', () => {
  const follow = taken()
  follow.search(2_000)
  const events = [event(3), event(4, true)]
  equal(follow.hear({ type: 'followed', follow: 'f', events }), [
    { type: 'events', follow: 'f', events },
    false,
  ])
  is(follow.isOver, true)
  const other = taken()
  other.search(2_000)
  equal(other.hear({ type: 'unreachable', follow: 'f' }), [
    { type: 'over', follow: 'f', isLost: false },
    false,
  ])
})

test.run()
