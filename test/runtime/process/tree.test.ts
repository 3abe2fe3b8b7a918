import * as assert from 'uvu/assert'
import { normal } from '../../../runtime/base/exit.js'
import type { Process } from '../../../runtime/process/process.js'
import { Tree } from '../../../runtime/process/tree.js'
import { suite } from '../../support/suite.js'

const test = suite('tree')

test('an exit that cannot be passed on to one process still reaches the others, and is told', (t) => {
  const tree = new Tree({}, () => {
    throw new Error('no actor is started here')
  })
  t.after(() => tree.fell())
  const reached: string[] = []
  const process = (name: string, signal: () => void) => ({ name, signal }) as unknown as Process
  const last = process('last', () => reached.push('last'))
  const broken = process('broken', () => {
    tree.pass(first, last, normal)
    throw new Error('broken')
  })
  const first = process('first', () => reached.push('first'))
  assert.throws(() => tree.pass(first, broken, normal), 'broken')
  assert.equal(reached, ['last'])
  tree.pass(last, first, normal)
  assert.equal(reached, ['last', 'first'])
})

test.run()
