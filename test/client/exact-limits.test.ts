import { readFileSync } from 'node:fs'
import * as assert from 'uvu/assert'
import { stdio, TransportError } from 'caduceus/transports'
import { type LogEvent, type Phase, subscribeClient, type WarningEvent } from 'caduceus/client'
import { Reports } from '../../client/holdings/reports.js'
import { firstState } from '../../client/base/state.js'
import { readClientOptions } from '../../client/options/options.js'
import { pauseLeft, Setbacks } from '../../client/base/backoff.js'
import { Cache } from '../../client/holdings/cache.js'
import { readCallOptions } from '../../client/options/call-options.js'
import { callError } from '../../client/base/errors.js'
import { isExpiring } from '../../client/auth/tokens.js'
import { createJob } from '../../client/calls/job.js'
import { beginsWithProbe } from '../../client/connection/probe.js'
import { type RetryFacts, retryDelay } from '../../client/calls/repeat.js'
import { RetryBudget } from '../../client/holdings/retry-budget.js'
import { ToolBook } from '../../client/holdings/tool-book.js'
import { heard } from '../support/heard.js'
import { inRoot } from '../support/root.js'
import { suite } from '../support/suite.js'
import { worldAt } from '../support/world.js'

const test = suite('limits of a client, to the last one')

/** Milliseconds before its end that a token is got anew. */
const margin = 30_000
/** Tools that are remembered. */
const maxTools = 10_000
const backoff = { base: 500, cap: 30_000, awaitedCap: 1_000, stable: 10_000, random: () => 1 }

test('a pause within awaitedCap is not shortened when somebody waits', () => {
  assert.is(pauseLeft(1_000, 0, backoff), 1_000)
  assert.is(pauseLeft(1_001, 0, backoff), 500)
  assert.is(pauseLeft(3_000, 300, backoff), 3_000)
})

test('a verdict for the older era holds for an hour', () => {
  const hour = 3_600_000
  const older = { era: 'handshake', at: 5, proven: true } as const
  assert.equal(
    [hour + 4, hour + 5].map((now) => beginsWithProbe('auto', older, now)),
    [false, true],
  )
  assert.is(beginsWithProbe('auto', { ...older, era: 'modern' }, 6), true)
  assert.is(beginsWithProbe('auto', undefined, 6), true)
  assert.equal(
    [beginsWithProbe('modern', older, 6), beginsWithProbe('handshake', undefined, 6)],
    [true, false],
  )
  const newer = { ...older, era: 'modern' } as const
  assert.equal(
    [beginsWithProbe('handshake', older, 6), beginsWithProbe('handshake', newer, 6)],
    [false, true],
  )
})

test('a retry budget of two a minute refills every 30 s and never exceeds two', () => {
  const budget = new RetryBudget({ perMinute: 2 })
  const taken = [0, 0, 0, 29_999, 30_000, 30_000, 600_000, 600_000, 600_000].map((now) => budget.take(now))
  assert.equal(taken, [true, true, false, false, true, false, true, true, false])
})

function busy(status: number, retryAfter: string): TransportError {
  return new TransportError('HTTP_STATUS', 'busy', { data: { status, retryAfter }, retryable: true })
}

test('a call is retried after Retry-After if that is before its deadline', () => {
  for (const status of [429, 503]) {
    const budget = new RetryBudget({ perMinute: 9 })
    assert.is(budget.waitFor(busy(status, '2'), 2_000, worldAt(0)), undefined)
    assert.is(budget.waitFor(busy(status, '2'), 2_001, worldAt(0)), 2_000)
  }
  assert.is(new RetryBudget({ perMinute: 9 }).waitFor(busy(500, '2'), 9_000, worldAt(0)), undefined)
})

test('a retry policy allows its number of retries before the deadline', () => {
  const error = callError('REQUEST_FAILED', 'lost', { sent: true })
  const delay = (pause: number, tries: number, port: Partial<RetryFacts> = {}): number | undefined => {
    const retry = { attempts: 3, safe: true, backoff: () => pause }
    const call = readCallOptions({ timeout: 1_000, retry }, 1_000)
    const parts = { params: undefined, onProgress: undefined, progressToken: undefined }
    const job = createJob({ method: 'tools/call', wantsAnswer: true, call, now: 0, ...parts })
    job.tries = tries
    const facts = { tools: new ToolBook(), budget: undefined, backoff, world: worldAt(0), ...port }
    return retryDelay(job, error, facts)
  }
  assert.equal([delay(0, 1), delay(999, 2), delay(1_000, 2), delay(0, 3)], [0, 999, undefined, undefined])
  assert.equal([delay(0, 1, { world: worldAt(999) }), delay(0, 1, { world: worldAt(1_000) })], [0, undefined])
  assert.throws(() => delay(-1, 1), /retry.backoff/)
})

test('a cached answer is used until it expires', () => {
  const cache = new Cache({ cacheSize: 2, cacheBytes: 10_000 })
  const keep = (uri: string): void =>
    cache.keep('resources/read', { uri }, { contents: [], ttlMs: 1_000, cacheScope: 'private' }, 0)
  const holds = (uri: string, now: number): boolean =>
    cache.find('resources/read', { uri }, now) !== undefined
  keep('a:1')
  assert.equal([holds('a:1', 999), holds('a:1', 1_000)], [true, false])
  keep('a:2')
  assert.equal([holds('a:1', 0), holds('a:2', 0)], [true, true])
  keep('a:3')
  assert.equal([holds('a:1', 0), holds('a:2', 0), holds('a:3', 0)], [false, true, true])
})

test('a token is renewed once less than its margin is left', () => {
  const token = {
    accessToken: 'x',
    refreshToken: undefined,
    expiresAt: 100_000,
    scope: undefined,
    issuer: 'i',
  }
  assert.equal(
    [100_000 - margin, 100_001 - margin].map((now) => isExpiring(token, now)),
    [false, true],
  )
  assert.is(isExpiring({ ...token, expiresAt: undefined }, 1e15), false)
})

test('the newest tools are remembered up to the limit', () => {
  const tools = new ToolBook()
  const learn = (name: string): void =>
    tools.learn({ name, inputSchema: { type: 'object' }, annotations: { readOnlyHint: true } }, false)
  for (let tool = 0; tool < maxTools; tool++) learn(`t${tool}`)
  assert.equal([tools.isIdempotent('t0'), tools.isIdempotent(`t${maxTools - 1}`)], [true, true])
  learn('more')
  assert.equal(
    [tools.isIdempotent('t0'), tools.isIdempotent('t1'), tools.isIdempotent('more')],
    [false, true, true],
  )
})

test('failures are forgotten after the stable time, and not before', () => {
  const backoff = { base: 100, cap: 10_000, awaitedCap: 10_000, stable: 1_000, random: () => 1 }
  const setbacks = new Setbacks(backoff)
  const pauses: number[] = []
  let now = 0
  for (const ran of [0, 0, 999, 1_000, 0]) {
    setbacks.began(now)
    now += ran
    pauses.push(setbacks.next(worldAt(now), false))
  }
  assert.equal(pauses, [100, 200, 400, 100, 200])
})

test('defaults are filled in, and the version we tell is that of the package', () => {
  const settings = readClientOptions({ transport: stdio({ command: 'never-started' }) })
  const { version } = JSON.parse(readFileSync(inRoot('package.json'), 'utf8'))
  assert.equal(settings.clientInfo, { name: 'caduceus', version })
  assert.equal([settings.timeout, settings.handshakeTimeout, settings.maxCalls], [60_000, 30_000, 10_000])
  assert.is(settings.maxInFlight, Number.POSITIVE_INFINITY)
  assert.equal([settings.intensity, settings.periodMs], [3, 5_000])
  const { base, cap, stable } = settings.backoff
  assert.equal([base, cap, stable], [500, 30_000, 10_000])
})

test('failed attempts 1, 10, 100 are reported, and the first after it was ready', (t) => {
  const warnings = heard<WarningEvent>()
  t.after(subscribeClient('warning', warnings.add))
  const reports = new Reports({ name: 'counted', tree: -1 }, () => 0)
  const reason = new Error('nobody there')
  const goes = (from: Phase, to: Phase): void =>
    reports.look({ ...firstState, phase: from }, { ...firstState, phase: to, reason })
  const fail = (times: number): void => {
    for (let at = 0; at < times; at += 1) {
      goes('connecting', at % 2 === 0 ? 'disconnected' : 'initializing')
      if (at % 2 === 1) goes('initializing', 'disconnected')
      // a call that begins to wait makes the pause shorter, and is no attempt
      goes('disconnected', 'disconnected')
    }
  }
  fail(150)
  goes('initializing', 'ready')
  goes('ready', 'disconnected')
  fail(1)
  const counts = warnings.all.map(({ reason: text }) => Number(text.match(/^attempt (\d+) /)?.[1]))
  assert.equal(counts, [1, 10, 100, 1])
})

test('what was held back is counted with the next that is told', (t) => {
  const events = heard<LogEvent>()
  t.after(subscribeClient('log', events.add))
  let now = 0
  const reports = new Reports({ name: 'counted', tree: -1 }, () => now)
  for (let at = 0; at < 250; at += 1) reports.log({ level: 'info', data: at })
  assert.is(events.all.length, 100)
  now = 10_000
  reports.log({ level: 'info', data: 'later' })
  assert.equal([events.all.at(-1)?.data, events.all.at(-1)?.heldBack], ['later', 150])
})

test.run()
