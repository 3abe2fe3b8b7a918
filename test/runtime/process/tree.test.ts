import * as assert from 'uvu/assert'
import { Tree } from '../../../runtime/process/tree.js'
import { suite } from '../../support/suite.js'

const test = suite('tree')

test('an exit that throws at one process still reaches the others and is thrown', (t) => {
  const tree = new Tree(undefined, undefined)
  t.after(() => tree.close())
  const reached: string[] = []
  const broken = (): never => {
    tree.pass(() => reached.push('last'))
    throw new Error('broken')
  }
  assert.throws(() => tree.pass(broken), 'broken')
  assert.equal(reached, ['last'])
  tree.pass(() => reached.push('first'))
  assert.equal(reached, ['last', 'first'])
})

test.run()
