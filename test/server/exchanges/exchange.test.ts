import * as assert from 'uvu/assert'
import { buildError, buildRequest, dialect20260728 } from 'caduceus/protocol'
import type { Response } from 'caduceus/transports'
import { Exchange } from '../../../server/exchanges/exchange.js'
import { ExchangeCall } from '../../../transports/inbound/exchange-call.js'
import { suite } from '../../support/suite.js'

const test = suite('one exchange')
const response = buildError(1, { code: -32603, message: 'failed' })

function begin() {
  const call = new ExchangeCall({
    request: buildRequest(1, 'tools/list', {}),
    envelope: {
      revision: '2026-07-28',
      clientCapabilities: {},
      clientInfo: undefined,
      logLevel: undefined,
    },
    peer: { transport: 'test', headers: {}, remoteAddress: undefined },
    mirrored: false,
    sink: { send: () => true },
  })
  const settled: (Response | undefined)[] = []
  const work = { name: 'work', timeout: undefined, run: () => ({}), timedOut: () => ({}) }
  const exchange = new Exchange(call, dialect20260728, work, 0, (_, told) => void settled.push(told.response))
  return { exchange, settled, call }
}

test('an exchange that fails to start is over for owner and waiters', async () => {
  const { exchange, settled } = begin()
  const answer = exchange.answered()
  exchange.fail(new Error('broken'), response)
  await answer.then(
    () => assert.unreachable(),
    ({ message }: Error) => assert.is(message, 'broken'),
  )
  assert.equal([exchange.isOpen, settled], [false, [response]])
  assert.equal(await exchange.answered(), { response, refused: false })
})

test('the first answer counts, and leaving after it is ignored', async () => {
  const { exchange, settled, call } = begin()
  let aborted = 0
  exchange.onAbort(() => {
    aborted += 1
  })
  exchange.settle(response)
  exchange.settle(undefined)
  exchange.fail(new Error('late'), response)
  call.abort()
  assert.equal([settled, aborted], [[response], 0])
  assert.equal(await exchange.answered(), { response, refused: false })
})

test.run()
