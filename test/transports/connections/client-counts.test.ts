import * as assert from 'uvu/assert'
import { networkOf } from '../../../transports/base/network.js'
import { ClientCounts } from '../../../transports/connections/client-counts.js'
import { suite } from '../../support/suite.js'

const test = suite('client counts')

test('addresses are counted separately, and what has left is not counted', () => {
  const counts = new ClientCounts<object>(2)
  const [one, two, three] = [{}, {}, {}]
  assert.equal([counts.enterFrom('10.0.0.1', one), counts.enterFrom('10.0.0.1', two)], [true, true])
  assert.is(counts.enterFrom('10.0.0.1', three), false)
  assert.is(counts.enterFrom('10.0.0.2', {}), true)
  counts.leave(three)
  counts.leave(two)
  counts.leave(two)
  assert.is(counts.enterFrom('10.0.0.1', {}), true)
  assert.is(counts.enterFrom('10.0.0.1', {}), false)
})

test('a principal is counted across addresses, and anonymous clients per address', () => {
  const counts = new ClientCounts<object>(1)
  const [ada, bob] = ['ada', 'bob'].map((subject) => ({ issuer: 'x', subject }))
  const from = (remoteAddress: string, principal?: { issuer: string; subject: string }) =>
    counts.enterAs({ transport: 'http', headers: {}, remoteAddress, principal }, {})
  assert.equal([from('10.0.0.1', ada), from('10.0.0.1', bob), from('10.0.0.1')], [true, true, true])
  assert.equal([from('10.0.0.2', ada), from('10.0.0.1')], [false, false])
})

test('loopback and peers without address have no limit unless one is set', () => {
  const usual = new ClientCounts<object>(undefined)
  const enter = (address: string | undefined) =>
    Array.from({ length: usual.max + 1 }, () => usual.enterFrom(address, {})).every(Boolean)
  for (const address of ['127.0.0.1', '127.1.2.3', '::1', '::ffff:127.0.0.1', undefined])
    assert.ok(enter(address), address)
  for (const address of ['10.0.0.1', '::ffff:10.0.0.2', 'fe80::1', '128.0.0.1'])
    assert.not.ok(enter(address), address)
  const chosen = new ClientCounts<object>(1)
  assert.equal([chosen.enterFrom('127.0.0.1', {}), chosen.enterFrom('::ffff:127.0.0.1', {})], [true, false])
})

test('addresses of one IPv6 network count as one client', () => {
  for (const address of ['2001:db8:0:1::5', '2001:DB8::1:ffff:0:0:9', '2001:0db8:0000:0001:1:2:3:4'])
    assert.is(networkOf(address), '2001:db8:0:1', address)
  assert.is(networkOf('::1'), '0:0:0:0')
  assert.is(networkOf('fe80::1'), 'fe80:0:0:0')
  assert.not.equal(networkOf('2001:db8:0:2::5'), networkOf('2001:db8:0:1::5'))
  for (const odd of ['', ':', ':::::::::::', 'not an address', '1.2.3.4:99'])
    assert.type(networkOf(odd), 'string')
})

test.run()
