import { isIP } from 'node:net'
import * as assert from 'uvu/assert'
import { isAddress } from '../../../transports/contract/address.js'
import { suite } from '../../support/suite.js'

const test = suite('transports/contract/address')

const pieces = [
  '',
  '0',
  '1',
  '01',
  '255',
  '256',
  'f',
  'ffff',
  '12345',
  'g',
  '1.2.3.4',
  ':',
  '::',
  '.',
  '%',
  'eth0',
]

test('an IP address is what node:net accepts', () => {
  const texts = [
    ...pieces.flatMap((a) => pieces.flatMap((b) => pieces.flatMap((c) => pieces.map((d) => a + b + c + d)))),
    ...Array.from({ length: 10 }, (_, groups) => Array(groups).fill('a').join(':')).flatMap((long) =>
      pieces.flatMap((piece) => [long + piece, piece + long, `${piece}${long}:1.2.3.4`, `${piece}::${long}`]),
    ),
    ...[
      '1.2.3.4',
      '255.255.255.255',
      '1.2.3',
      '1.2.3.4.5',
      '01.2.3.4',
      '1.2.3.4 ',
      '::ffff:1.2.3.4',
      'fe80::1%eth0',
    ],
    ...['fe80::1%', 'unknown', '[::1]', '1.2.3.4:80', '_hidden', '１.2.3.4', '::1\n'],
  ]
  const wrong = texts.filter((text) => isAddress(text) !== isIP(text) > 0)
  assert.equal(wrong, [])
  assert.ok(texts.filter(isAddress).length > 100)
})

test.run()
