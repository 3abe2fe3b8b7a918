import { networkInterfaces } from 'node:os'
import * as assert from 'uvu/assert'
import {
  isLinkLocal,
  isPrivateAddress,
  isPrivateHost,
  type LookupAll,
  publicLookup,
  routedLookup,
} from '../../../transports/base/private-address.js'
import { suite } from '../../support/suite.js'

const test = suite('private addresses')

/** A lookup that knows one name. */
function knows(...addresses: readonly string[]): LookupAll {
  return (_, __, callback) =>
    callback(
      null,
      addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 })),
    )
}

const unknown: LookupAll = (_, __, callback) =>
  callback(Object.assign(new Error('no such name'), { code: 'ENOTFOUND' }), [])

test('loopback, network and cloud addresses are private, others and names are not', () => {
  for (const address of [
    '127.0.0.1',
    '10.1.2.3',
    '172.31.0.1',
    '192.168.1.1',
    '169.254.169.254',
    '100.64.0.1',
    '0.0.0.0',
    '224.0.0.1',
    '192.0.2.2',
    '198.51.100.7',
    '203.0.113.5',
  ])
    assert.is(isPrivateAddress(address), true, address)
  for (const address of [
    '::1',
    '[::1]',
    '::',
    'fe80::1%eth0',
    'fd00::1',
    '::ffff:127.0.0.1',
    '[::ffff:7f00:1]',
    '64:ff9b::7f00:1',
    '64:ff9b:1::1',
    '2002:7f00:1::',
    '2001:0:4136:e378:8000:63bf:3fff:fdd2',
    'ff02::1',
    '::127.0.0.1',
    '::ffff:0:127.0.0.1',
    '2001:db8::1',
    'fec0::1',
    '100::1',
  ])
    assert.is(isPrivateAddress(address), true, address)
  for (const address of ['8.8.8.8', '172.32.0.1', '203.0.114.5', '2606:4700::1111', '::ffff:8.8.8.8'])
    assert.is(isPrivateAddress(address), false, address)
  assert.is(isPrivateAddress('example.com'), undefined)
})

test('each address of this machine is private, whatever its network', () => {
  for (const { address } of Object.values(networkInterfaces()).flat() as { address: string }[])
    assert.is(isPrivateAddress(address), true, address)
})

test('a host is private if all its addresses are, and unknown ones are not', async () => {
  assert.is(await isPrivateHost('localhost', unknown), true)
  assert.is(await isPrivateHost('db.localhost', unknown), true)
  assert.is(await isPrivateHost('intranet.example', knows('10.0.0.1', 'fd00::1')), true)
  assert.is(await isPrivateHost('both.example', knows('10.0.0.1', '8.8.8.8')), false)
  assert.is(await isPrivateHost('nowhere.example', unknown), false)
})

test('a public lookup refuses a name with any private address', async () => {
  for (const addresses of [['127.0.0.1'], ['8.8.8.8', '10.0.0.1'], ['::ffff:10.0.0.1']])
    assert.is(await found(knows(...addresses)), 'ERR_PRIVATE_ADDRESS')
  assert.is(await found(unknown), 'ENOTFOUND')
  assert.equal(await found(knows('8.8.8.8', '1.1.1.1')), [
    { address: '8.8.8.8', family: 4 },
    { address: '1.1.1.1', family: 4 },
  ])
  assert.is(await found(knows('8.8.8.8'), false), '8.8.8.8')
})

function found(lookup: LookupAll, all = true): Promise<unknown> {
  return new Promise((resolve) => {
    publicLookup(lookup)('name.example', { all }, (error, address) =>
      resolve(error === null ? address : error.code),
    )
  })
}

test('with privateNetwork link-local addresses are still refused', async () => {
  const ask = (...addresses: readonly string[]): Promise<unknown> =>
    new Promise((resolve) =>
      routedLookup(knows(...addresses))('host', { all: true }, (error, found) => resolve(error ?? found)),
    )
  assert.is(((await ask('169.254.169.254')) as { code: string }).code, 'ERR_PRIVATE_ADDRESS')
  assert.is(((await ask('10.0.0.1', 'fe80::1')) as { code: string }).code, 'ERR_PRIVATE_ADDRESS')
  assert.equal(await ask('127.0.0.1', '192.168.0.1'), [
    { address: '127.0.0.1', family: 4 },
    { address: '192.168.0.1', family: 4 },
  ])
  for (const address of ['169.254.0.0', '169.254.255.255', 'fe80::', 'febf::1', '[fe80::1%eth0]'])
    assert.is(isLinkLocal(address), true, address)
  for (const address of ['169.253.255.255', '169.255.0.0', 'fec0::', 'fe7f::1', '127.0.0.1', 'host'])
    assert.is(isLinkLocal(address), false, address)
})

test.run()
