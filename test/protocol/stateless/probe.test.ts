import * as assert from 'uvu/assert'
import {
  dialect20260728,
  judgeProbe,
  type ProbeOutcome,
  type ProbeVerdict,
  toJsonRpcError,
  unsupported,
} from 'caduceus/protocol'
import { suite } from '../../support/suite.js'

const test = suite('protocol/stateless/probe')
type Name = ProbeVerdict['verdict']

const discovered = (...supportedVersions: string[]): ProbeOutcome => ({
  type: 'result',
  result: { supportedVersions, capabilities: {} },
})
const refused = (supported: unknown, status?: number): ProbeOutcome => ({
  type: 'error',
  error: { code: -32022, message: 'm', data: { supported } },
  ...(status !== undefined && { status }),
})
const error = (code: number, status?: number): ProbeOutcome => ({
  type: 'error',
  error: { code, message: 'm' },
  ...(status !== undefined && { status }),
})
const status = (status: number): ProbeOutcome => ({ type: 'status', status })

const table: readonly [string, ProbeOutcome, onPipe: Name, onHttp: Name][] = [
  ['discovery with a common revision', discovered('2026-07-28'), 'modern', 'modern'],
  [
    'discovery with others besides (C10)',
    discovered('2099-01-01', '2026-07-28', '2025-11-25'),
    'modern',
    'modern',
  ],
  ['discovery without a common revision', discovered('2099-01-01'), 'handshake', 'handshake'],
  ['discovery that names nothing', discovered(), 'handshake', 'handshake'],
  ['-32022 with a common revision (trap 14)', refused(['2026-07-28'], 400), 'again', 'again'],
  ['-32022 at any status', refused(['2026-07-28'], 200), 'again', 'again'],
  ['-32022 with older revisions only', refused(['2025-11-25', '2024-10-07'], 400), 'handshake', 'handshake'],
  [
    '-32022 with newer and older revisions (C10)',
    refused(['2099-01-01', '2025-11-25']),
    'handshake',
    'handshake',
  ],
  [
    '-32022 with newer revisions only (trap 14)',
    refused(['2099-01-01'], 400),
    'no_common_revision',
    'no_common_revision',
  ],
  ['-32022 that names nothing', refused([]), 'handshake', 'handshake'],
  ['-32022 without a list', refused('2026-07-28', 400), 'handshake', 'handshake'],
  ['-32022 with a list of something else', refused([20260728], 400), 'handshake', 'handshake'],
  ['-32000 (trap 14)', error(-32000, 400), 'handshake', 'handshake'],
  ['-32601', error(-32601, 404), 'handshake', 'handshake'],
  ['-32601 at status 200', error(-32601, 200), 'handshake', 'handshake'],
  ['-32602', error(-32602), 'handshake', 'handshake'],
  ['-32020, which alone says nothing', error(-32020, 400), 'handshake', 'handshake'],
  ['-32603 at status 500', error(-32603, 500), 'down', 'down'],
  ['an error at status 429', error(-32000, 429), 'down', 'down'],
  ['an error at status 408', error(-32000, 408), 'down', 'down'],
  ['an error at status 401 (trap 16)', error(-32001, 401), 'unauthorized', 'unauthorized'],
  ['silence (trap 15)', { type: 'timeout' }, 'handshake', 'down'],
  ['its end (trap 17)', { type: 'ended' }, 'handshake', 'down'],
  ['no connection', { type: 'unreachable' }, 'down', 'down'],
]

for (const [what, outcome, onPipe, onHttp] of table) {
  test(`${what}: ${onPipe} on a pipe, ${onHttp} over HTTP`, () => {
    assert.is(judgeProbe(outcome, { over: 'pipe', isSecond: false }).verdict, onPipe)
    assert.is(judgeProbe(outcome, { over: 'http', isSecond: false }).verdict, onHttp)
  })
}

const statuses: readonly [number, Name][] = [
  [400, 'handshake'],
  [404, 'handshake'],
  [405, 'handshake'],
  [415, 'handshake'],
  [401, 'unauthorized'], // trap 16
  [403, 'unauthorized'],
  [408, 'down'],
  [425, 'down'],
  [429, 'down'],
  [500, 'down'],
  [502, 'down'], // trap 15
  [503, 'down'],
  [200, 'down'],
  [302, 'down'],
]

for (const [code, verdict] of statuses) {
  test(`status ${code} without an error that can be read means ${verdict}`, () => {
    assert.is(judgeProbe(status(code), { over: 'http', isSecond: false }).verdict, verdict)
  })
}

test('a probe is repeated once in the offered revision', () => {
  const offered: ProbeOutcome = { type: 'error', error: toJsonRpcError(unsupported('2099-01-01')) }
  assert.equal(judgeProbe(offered, { over: 'http', isSecond: false }), {
    verdict: 'again',
    dialect: dialect20260728,
  })
  assert.equal(judgeProbe(offered, { over: 'http', isSecond: true }), {
    verdict: 'no_common_revision',
    supported: ['2026-07-28'],
  })
  const both = judgeProbe(refused(['2026-07-28', '2025-11-25']), { over: 'http', isSecond: true })
  assert.is(both.verdict, 'handshake')
})

test('only an ended child is restarted after a probe (trap 17)', () => {
  const verdicts = [{ type: 'ended' }, { type: 'timeout' }] as const
  assert.equal(
    verdicts.map((outcome) => judgeProbe(outcome, { over: 'pipe', isSecond: false })),
    [
      { verdict: 'handshake', restart: true },
      { verdict: 'handshake', restart: false },
    ],
  )
})

test.run()
