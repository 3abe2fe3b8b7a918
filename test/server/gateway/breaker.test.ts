import fc from 'fast-check'
import * as assert from 'uvu/assert'
import {
  admit,
  type Breaker,
  closedBreaker,
  settle,
  type Verdict,
  verdictOf,
} from '../../../server/gateway/breaker.js'
import { suite } from '../../support/suite.js'

const test = suite('breaker')
const options = { failures: 3, pause: 100, maxPause: 350 }

test('the breaker opens after so many failures, with one trial after a pause', () => {
  let breaker: Breaker = closedBreaker
  for (const verdict of ['fails', 'fails', 'serves', 'fails', 'fails'] as const)
    breaker = settle(breaker, verdict, 0, options)
  assert.is(breaker.state, 'closed')
  breaker = settle(breaker, 'fails', 0, options)
  assert.equal(admit(breaker, 40), { wait: 60 })
  const trying = admit(breaker, 100)
  assert.ok('state' in trying && trying.state === 'trying')
  assert.equal(admit(trying, 150), { wait: 50 })
  assert.is(settle(trying, 'serves', 160, options), closedBreaker)
})

test('each failed trial doubles the pause, up to its limit', () => {
  let breaker: Breaker = { state: 'open', until: 0, pause: 100 }
  const pauses = [1, 2, 3].map((round) => {
    const now = round * 1_000
    const trying = admit(breaker, now)
    assert.ok('state' in trying)
    breaker = settle(trying, 'fails', now, options)
    return breaker.state === 'open' ? breaker.until - now : undefined
  })
  assert.equal(pauses, [200, 350, 350])
})

test('a neutral outcome neither opens the breaker nor keeps it open', () => {
  assert.is(settle(closedBreaker, 'unsaid', 0, options), closedBreaker)
  const trying: Breaker = { state: 'trying', since: 0, pause: 100 }
  const next = settle(trying, 'unsaid', 10, options)
  assert.ok('state' in admit(next, 10))
})

test('a call passes within the longest pause in any case', () => {
  const step = fc.record({
    verdict: fc.constantFrom<Verdict>('serves', 'fails', 'unsaid'),
    after: fc.integer({ min: 0, max: 500 }),
  })
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      let [breaker, now]: [Breaker, number] = [closedBreaker, 0]
      for (const { verdict, after } of steps) {
        now += after
        const admitted = admit(breaker, now)
        if (!('state' in admitted)) {
          assert.ok(admitted.wait <= options.maxPause)
          continue
        }
        breaker = settle(admitted, verdict, now, options)
      }
      assert.ok('state' in admit(breaker, now + options.maxPause))
    }),
  )
})

test('429, caller mistakes and lost connections do not count as failures', () => {
  const says = (code: string, status?: number): Verdict => verdictOf({ code, status })
  assert.is(says('REQUEST_FAILED', 429), 'unsaid')
  assert.is(says('REQUEST_FAILED', 400), 'unsaid')
  assert.is(says('CANCELLED'), 'unsaid')
  assert.is(says('CONNECTION_LOST'), 'unsaid')
  assert.is(says('NOT_READY'), 'unsaid')
  assert.is(says('REQUEST_FAILED', 499), 'unsaid')
  assert.is(says('REQUEST_FAILED'), 'unsaid')
  assert.is(says('CONNECTION_LOST', 503), 'unsaid')
})

test('a server that answers with 5xx, too late or with nonsense does', () => {
  assert.is(verdictOf({ code: 'REQUEST_FAILED', status: 500 }), 'fails')
  assert.is(verdictOf({ code: 'REQUEST_FAILED', status: 503 }), 'fails')
  assert.is(verdictOf({ code: 'TIMEOUT' }), 'fails')
  assert.is(verdictOf({ code: 'INVALID_RESPONSE' }), 'fails')
})

test('what comes late to an open breaker changes nothing', () => {
  const open: Breaker = { state: 'open', until: 100, pause: 100 }
  assert.is(settle(open, 'fails', 50, options), open)
  assert.is(settle(open, 'unsaid', 50, options), open)
  assert.is(settle(open, 'serves', 50, options), closedBreaker)
})

test.run()
