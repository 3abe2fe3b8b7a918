import * as assert from 'uvu/assert'
import { TransportError } from 'caduceus/transports'
import { ExchangeCall } from '../../../transports/inbound/exchange-call.js'
import { suite } from '../../support/suite.js'
import { request } from '../_modern.js'

const test = suite('exchange calls')

function newCall(): ExchangeCall {
  return new ExchangeCall({
    request: request(1, 'tools/list'),
    envelope: { revision: '2026-07-28', clientCapabilities: {}, clientInfo: undefined, logLevel: undefined },
    sink: { send: () => true },
    peer: { transport: 'test', headers: {}, remoteAddress: undefined },
    mirrored: false,
  })
}

test('an abort is reported once, to watchers and the signal', () => {
  const told: string[] = []
  const call = newCall()
  call.onAbort(() => told.push('replaced'))
  call.onAbort(() => told.push('watching'))
  call.signal.addEventListener('abort', () => told.push('listening'))
  call.abort()
  call.abort()
  assert.equal(told.sort(), ['listening', 'watching'])
  assert.ok(call.signal.reason instanceof TransportError)
})

test('a removed watcher hears nothing', () => {
  const call = newCall()
  call.onAbort(() => assert.unreachable())
  call.onAbort(undefined)
  call.abort()
})

test('a later watcher is called at once and finds an aborted signal', () => {
  const told: string[] = []
  const call = newCall()
  call.abort()
  call.onAbort(() => told.push('watching'))
  assert.equal([told, call.signal.aborted], [['watching'], true])
})

test.run()
