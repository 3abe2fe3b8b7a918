import * as assert from 'uvu/assert'
import { dialect20260728 } from 'caduceus/protocol'
import { fitClient } from '../../protocol/dialects/fit.js'
import { inputRequiredResult } from '../../protocol/messages/input-required.js'
import { headerOf } from '../../protocol/stateless/headers.js'
import { suite } from '../support/suite.js'

const test = suite('parts of the protocol')
const lacks = dialect20260728.lacks ?? nothing()

test('what a client declares is told without tasks and without changes of roots', () => {
  const given = { roots: { listChanged: true }, tasks: {}, sampling: { tools: {} }, elicitation: { url: {} } }
  assert.equal(fitClient(lacks, given), { roots: {}, sampling: { tools: {} }, elicitation: { url: {} } })
  const bare = { roots: {}, elicitation: {} }
  assert.is(fitClient(lacks, bare), bare)
})

test('a question is an object', () => {
  for (const [asked, got] of [
    [null, 'null'],
    [5, 'an integer'],
    [[], 'an array'],
  ] as const)
    assert.equal(inputRequiredResult({ resultType: 'input_required', inputRequests: { a: asked } }), {
      path: '.inputRequests["a"]',
      expected: 'an object',
      got,
    })
})

test('white space around a header and around its lines is ignored (trap 53)', () => {
  assert.is(headerOf({ a: '  ' }, 'a'), '')
  assert.is(headerOf({ a: ['x ', 'y'] }, 'a'), 'x , y')
  assert.is(headerOf({}, 'a'), undefined)
})

test.run()

function nothing(): never {
  throw new Error('expected something')
}
