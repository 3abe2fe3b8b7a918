import * as assert from 'uvu/assert'
import { veilOf } from '../../../client/fleet/veil.js'
import { suite } from '../../support/suite.js'

const test = suite('names for values in what is told')

for (const [value, text, expected] of [
  ['S3CR3T{x}"y|z^ü', 'http://h/S3CR3T%7Bx%7D%22y|z^%C3%BC/mcp', 'http://h/${NAME}/mcp'],
  ['s3cret value', 'http://h/?key=s3cret%20value', 'http://h/?key=${NAME}'],
  ['s3cret value', 'http://h/s3cret+value', 'http://h/s3cret+value'],
  ['/root', 'the roots of /root are rooted', 'the roots of ${NAME} are rooted'],
  ['../..', 'nothing of ../.. is short', 'nothing of ${NAME} is short'],
  ['/a/..', 'a b c', 'a b c'],
  ['é', 'http://h/caf%C3%A9', 'http://h/caf%C3%A9'],
  ['?abc', 'abc ?abc', 'abc ${NAME}'],
  ['100%', 'it is 100% so', 'it is ${NAME} so'],
] as const)
  test(`${value} in ${text}`, () => {
    assert.is(veilOf(new Map([[value, 'NAME']]))(text), expected)
  })

test.run()
