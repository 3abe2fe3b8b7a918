import * as assert from 'uvu/assert'
import { among, didYouMean, nearest } from '../../../runtime/base/near.js'
import { suite } from '../../support/suite.js'

const test = suite('runtime/base/near')

const options = ['timeout', 'maxSessions', 'pageSize', 'transport', 'run', 'input']
const meant: readonly (readonly [string, string | undefined])[] = [
  ['timeOut', 'timeout'],
  ['timout', 'timeout'],
  ['tiemout', 'timeout'],
  ['maxSession', 'maxSessions'],
  ['pagesize', 'pageSize'],
  ['trnasport', 'transport'],
  ['urn', 'run'],
  ['r', undefined],
  ['', undefined],
  ['colour', undefined],
  ['timeout', undefined],
  ['x'.repeat(10_000), undefined],
]

for (const [word, near] of meant) {
  test(`${JSON.stringify(word.slice(0, 20))} is near ${near ?? 'nothing'}`, () => {
    assert.is(nearest(word, options), near)
  })
}

test('an alias resolves to its known word', () => {
  assert.is(nearest('handler', options, { handler: 'run' }), 'run')
  assert.is(nearest('handler', ['get'], { handler: 'run' }), undefined)
})

test('of several words the nearest is meant', () => {
  assert.is(nearest('onCloses', ['onOpens', 'onClose', 'onClosed']), 'onClose')
})

test('a suggestion lists the known words and the likely one', () => {
  assert.is(
    among('an option', ['retry', 'timeout'], 'retyr'),
    'an option among retry, timeout (did you mean "retry"?)',
  )
  assert.is(among('an option', ['retry'], 'colour'), 'an option among retry')
  assert.is(didYouMean('colour', ['retry']), '')
})

test.run()
