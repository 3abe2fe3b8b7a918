import * as assert from 'uvu/assert'
import { KeptStreams } from '../../../server/processes/kept-streams.js'
import type { StreamNews } from '../../../transports/contract/shared-streams.js'
import { suite } from '../../support/suite.js'

const test = suite('event streams of a process')

test('a client whose resume cannot leave the process is told so', () => {
  const streams = new KeptStreams(() => false)
  const news: StreamNews[] = []
  const undo = streams.receive((each) => void news.push(each))
  streams.send({ type: 'dropped', stream: 's' })
  streams.send({ type: 'follow', follow: 'f', log: 'l', sessionId: 'x', stream: 's', after: 1 })
  assert.equal(
    news.map((each) => [each.type, 'follow' in each && each.follow]),
    [['unreachable', 'f']],
  )
  undo()
})

test.run()
