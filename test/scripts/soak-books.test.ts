import * as assert from 'uvu/assert'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { HistoryLog, readEvents } from '../../scripts/soak/history-log.js'
import { judge } from '../../scripts/soak/judge.js'
import { type CallKind, Ledger } from '../../scripts/soak/ledger.js'
import { slope } from '../../scripts/soak/measure.js'
import { fewestClients, readSoakOptions } from '../../scripts/soak/options.js'
import { planOf } from '../../scripts/soak/plan.js'
import { createRandom } from '../../scripts/soak/random.js'
import { Recovery } from '../../scripts/soak/recovery.js'
import { spreadOf } from '../../scripts/soak/report.js'
import { Violations } from '../../scripts/soak/violations.js'
import type { Event, Invoke } from '../../scripts/sim/history/history.js'
import { suite } from '../support/suite.js'

const test = suite('books of the soak')

function books() {
  const violations = new Violations()
  let since = Number.NEGATIVE_INFINITY
  const free = (): number => since
  const limits = { tellWithin: 100, servedWithin: 1_500, readyWithin: 10_000, free }
  const ledger = new Ledger(violations, limits)
  const freed = (at: number): void => {
    since = at
  }
  const begin = (id: number, kind: CallKind = 'echo', client = 'a'): void =>
    ledger.begin({ id, client, kind, expected: `token ${id}`, at: 0, deadline: 1_000 })
  const kinds = (): string[] => [...violations.byKind.keys()]
  return { ledger, begin, kinds, violations, freed }
}

test('the right answer in time is accepted', () => {
  const { ledger, begin, kinds } = books()
  begin(1)
  ledger.settle(1, { code: 'ok', answer: 'token 1' }, 1_000)
  ledger.overdue(5_000)
  assert.equal(kinds(), [])
  assert.equal([ledger.open, ledger.calls, ledger.codes.get('ok')], [0, 1, 1])
})

test('two outcomes of one call are reported', () => {
  const { ledger, begin, kinds } = books()
  begin(1)
  ledger.settle(1, { code: 'ok', answer: 'token 1' }, 1)
  ledger.settle(1, { code: 'ok', answer: 'token 1' }, 2)
  assert.equal(kinds(), ['double outcome'])
})

test('a call without an outcome is reported after its time', () => {
  const { ledger, begin, kinds } = books()
  begin(1)
  ledger.overdue(1_000)
  assert.equal(kinds(), [])
  ledger.overdue(1_001)
  ledger.overdue(1_002)
  assert.equal(kinds(), ['no outcome'])
  assert.is(ledger.open, 0)
})

test('an answer after the deadline is reported', () => {
  const { ledger, begin, kinds } = books()
  begin(1)
  ledger.settle(1, { code: 'ok', answer: 'token 1' }, 1_001)
  assert.equal(kinds(), ['late'])
})

test('the answer of another call is reported', () => {
  const { ledger, begin, kinds, violations } = books()
  begin(1)
  ledger.settle(1, { code: 'ok', answer: 'token 2' }, 1)
  assert.equal(kinds(), ['wrong answer'])
  assert.match(violations.list[0] ?? '', 'token 2')
})

test('a loss is reported unless that client was cut off shortly before', () => {
  const { ledger, begin, kinds } = books()
  for (const id of [1, 2, 3]) begin(id)
  begin(4, 'echo', 'b')
  ledger.settle(1, { code: 'CONNECTION_LOST' }, 10)
  assert.equal(kinds(), ['loss without a cut'])
  ledger.mark(['a'], 20)
  ledger.settle(2, { code: 'SESSION_NOT_FOUND' }, 120)
  assert.equal(kinds(), ['loss without a cut'])
  ledger.settle(3, { code: 'CONNECTION_LOST' }, 121)
  assert.equal(kinds(), ['loss without a cut', 'loss told late'])
  ledger.settle(4, { code: 'CONNECTION_LOST' }, 21)
  assert.is(ledger.told.length, 2)
})

test('a fault of one client does not excuse another', () => {
  const { ledger, begin, kinds } = books()
  begin(1, 'echo', 'b')
  ledger.mark(['a'], 1)
  ledger.settle(1, { code: 'CONNECTION_LOST' }, 2)
  assert.equal(kinds(), ['loss without a cut'])
})

test('a requested end is accepted, and no fault excuses a wrong one', () => {
  const { ledger, begin, kinds } = books()
  begin(1, 'timeout')
  begin(2, 'abort')
  ledger.settle(1, { code: 'TIMEOUT' }, 1)
  ledger.settle(2, { code: 'CANCELLED' }, 1)
  assert.equal(kinds(), [])
  begin(3)
  begin(4, 'timeout')
  ledger.mark(['a'], 1)
  ledger.settle(3, { code: 'TIMEOUT' }, 2)
  ledger.settle(4, { code: 'ok', answer: 'token 4' }, 2)
  assert.equal(kinds(), ['unexpected TIMEOUT', 'answered without an answer'])
})

/** What is found of clients `a-1` and `b-2`, by what they and their servers wrote. */
function judged(own: Readonly<Record<string, readonly Event[]>>, ...servers: readonly Event[]): string[] {
  const violations = new Violations()
  const members = ['a-1', 'b-2'].map((name) => ({ name, durable: name === 'a-1' }))
  judge(members, { read: (name) => [...(own[name] ?? [])] }, servers, violations)
  return [...violations.byKind.keys()].sort()
}

function asked(client: string, token: string, more: Partial<Invoke> = {}): Event {
  const usual = { program: 'soak', era: 'session', operation: 'append', noted: true, most: 1 } as const
  return { type: 'invoke', at: 1, call: token, client, token, timeout: 1_000, ...usual, ...more }
}
const ok = (call: string, elements: string[], list = 's/0'): Event => ({
  type: 'ok',
  at: 2,
  call,
  list,
  elements,
})
const failed = (call: string, sent: boolean): Event => ({ type: 'fail', at: 2, call, code: 'TIMEOUT', sent })
const ran = (token: string, run = token, session = 's'): Event => ({
  type: 'ran',
  at: 0,
  program: 'host-0',
  run,
  token,
  operation: 'append',
  session,
})

test('records of servers agree with those of clients', () => {
  const [a, b] = ['a-1-append-1', 'b-2-append-2']
  const clients = { 'a-1': [asked('a-1', a), ok(a, [a])], 'b-2': [asked('b-2', b), failed(b, true)] }
  assert.equal(judged(clients, ran(a)), [])
  assert.equal(judged(clients, ran(a), ran(b, b, 't')), [])
})

test('a double, lost, unasked or unsent append is reported', () => {
  const a = 'a-1-append-1'
  const done = { 'a-1': [asked('a-1', a), ok(a, [a])] }
  assert.equal(judged(done, ran(a), ran(a, 'again')), ['truth: ran too often'])
  assert.equal(judged(done), ['truth: answered, not run'])
  assert.equal(judged(done, ran(a), ran('a-1-append-7')), ['truth: ran, never asked for'])
  assert.equal(judged(done, ran(a), ran('c-3-append-7')), ['done, never asked for'])
  assert.equal(judged({ 'a-1': [asked('a-1', a), failed(a, false)] }, ran(a)), [
    'truth: ran, though told unsent',
  ])
})

test('a session of two clients, or one that did not last, is reported', () => {
  const [a, b, c] = ['a-1-append-1', 'b-2-append-2', 'a-1-append-3']
  const shared = { 'a-1': [asked('a-1', a), failed(a, true)], 'b-2': [asked('b-2', b), failed(b, true)] }
  assert.equal(judged(shared, ran(a), ran(b)), ['one session of two clients'])
  const anew = (name: string, one: string, other: string) => ({
    [name]: [asked(name, one), ok(one, [one], 's/0'), asked(name, other), ok(other, [other], 't/0')],
  })
  const runs = [ran(a), ran(c, c, 't')]
  assert.equal(judged(anew('a-1', a, c), ...runs), ['lists: session lost'])
  assert.equal(
    judged(anew('a-1', a, c), ...runs, { type: 'ended', at: 0, program: 'host-0', session: 's' }),
    [],
  )
  const d = 'b-2-append-4'
  assert.equal(judged(anew('b-2', b, d), ran(b), ran(d, d, 't')), [], 'its sessions are in memory')
})

test('clients write history files, and a line cut by a kill is no event', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'soak-books-'))
  t.after(() => rmSync(folder, { recursive: true }))
  let now = 0
  const log = new HistoryLog(join(folder, 'history'), () => now)
  for (now = 1; now <= 120; now++) log.add(now % 2 === 0 ? 'a' : 'b', { type: 'cancel', call: `${now}` })
  assert.equal(
    log.read('b').map(({ at }) => at),
    Array.from({ length: 60 }, (_, i) => 2 * i + 1),
  )
  assert.equal(log.read('c'), [])
  const text = '{"type":"cancel","call":"1"}\n\n{"type":"can\n{"type":"cancel","call":"2","at":5}\n{"type":'
  assert.equal(readEvents(text), [
    { at: 0, type: 'cancel', call: '1' },
    { at: 5, type: 'cancel', call: '2' },
  ])
})

function recovery() {
  const violations = new Violations()
  const watched = new Recovery(violations, 100)
  watched.watch('a')
  return { watched, kinds: () => [...violations.byKind.entries()] }
}

test('a client ready in time passes, measured from the return of its server', () => {
  const { watched, kinds } = recovery()
  watched.block(['a'])
  watched.changed('a', 'disconnected', 10)
  watched.check(500)
  watched.free(['a'], 500)
  watched.changed('a', 'ready', 540)
  assert.equal(watched.times, [40])
  assert.equal(kinds(), [])
})

test('a client late or failed is reported once', () => {
  const { watched, kinds } = recovery()
  watched.changed('a', 'disconnected', 10)
  assert.is(watched.ready, 0)
  watched.check(110)
  assert.equal(kinds(), [])
  watched.check(111)
  watched.check(112)
  assert.equal(kinds(), [['not ready in time', 1]])
  watched.changed('a', 'failed', 120)
  assert.equal(kinds(), [
    ['not ready in time', 1],
    ['failed', 1],
  ])
})

test('arguments are checked, and what is wrong is said in a sentence', () => {
  const read = (...args: string[]) => readSoakOptions(args, () => 5)
  assert.equal(read(), { minutes: 1, clients: 200, seed: 5, json: false })
  assert.equal(read('--minutes', '0.2', '--clients', '12', '--seed', '0', '--json'), {
    minutes: 0.2,
    clients: 12,
    seed: 0,
    json: true,
  })
  assert.match(String(read('--minutes', '0')), '--minutes: expected a number above 0')
  assert.match(String(read('--minutes', 'x')), 'got x')
  assert.match(String(read('--clients', '2')), '--clients: expected a whole number from 12')
  assert.match(String(read('--seed', '-1')), '--seed')
  assert.match(String(read('--seed', '1.5')), '--seed: expected a whole number')
  assert.match(String(read('--colour')), '--colour')
  assert.match(String(read('now')), 'now')
})

test('a plan has all clients, every transport, and some clients without faults', () => {
  for (const clients of [fewestClients, 40, 200]) {
    const { places } = planOf(clients)
    assert.is(places.length, clients)
    assert.is(new Set(places.map(({ name }) => name)).size, clients)
    assert.ok(places.some(({ way }) => way.calm))
    for (const type of ['stdio', 'memory', 'other', 'http'])
      assert.ok(
        places.some(({ way }) => way.type === type),
        `${type} of ${clients}`,
      )
  }
  const types = new Set(planOf(200).places.map(({ way, era }) => `${way.type} ${era}`))
  for (const one of ['http handshake', 'http auto', 'http modern', 'sse handshake', 'websocket handshake'])
    assert.ok(types.has(one), one)
})

test('a seed gives the same numbers, and weights are respected', () => {
  const five = (seed: number): number[] => Array.from({ length: 5 }, createRandom(seed).next)
  assert.equal(five(7), five(7))
  assert.not.equal(five(7), five(8))
  const { pick, between } = createRandom(1)
  assert.equal(
    Array.from({ length: 50 }, () => pick(['never', 'always'], (one) => (one === 'never' ? 0 : 1))),
    Array(50).fill('always'),
  )
  assert.is(pick([]), undefined)
  const drawn = new Set(Array.from({ length: 200 }, () => between(1, 3)))
  assert.equal([...drawn].sort(), [1, 2, 3])
})

test('slope and spread are computed right', () => {
  assert.is(
    slope([
      [0, 1],
      [1, 3],
      [2, 5],
    ]),
    2,
  )
  assert.is(slope([[0, 1]]), 0)
  assert.equal(spreadOf([3, 1, 2]), { count: 3, p50: 2, p99: 3, most: 3 })
  assert.equal(spreadOf([]), { count: 0, p50: 0, p99: 0, most: 0 })
})

test('an overdue call that settles later has one outcome', () => {
  const { ledger, begin, kinds } = books()
  begin(1)
  ledger.overdue(1_001)
  ledger.settle(1, { code: 'ok', answer: 'token 1' }, 1_100)
  assert.equal(kinds(), ['no outcome'])
  ledger.settle(1, { code: 'ok', answer: 'token 1' }, 1_200)
  assert.equal(kinds(), ['no outcome', 'double outcome'])
})

test('a call may time out only while its server is away or just back', () => {
  const { ledger, begin, kinds, freed } = books()
  begin(1)
  freed(Number.POSITIVE_INFINITY)
  ledger.settle(1, { code: 'TIMEOUT' }, 900)
  begin(2)
  freed(500)
  ledger.settle(2, { code: 'TIMEOUT' }, 900)
  assert.equal(kinds(), [])
  begin(3)
  freed(-20_000)
  ledger.settle(3, { code: 'TIMEOUT' }, 900)
  assert.equal(kinds(), ['unexpected TIMEOUT'])
})

test('the first call answered after a return is timed, and reported when late', () => {
  const { ledger, begin, kinds } = books()
  const settle = (id: number, at: number): void =>
    ledger.settle(id, { code: 'ok', answer: `token ${id}` }, at)
  for (const id of [1, 2, 3]) begin(id)
  ledger.back(['a'], 100)
  settle(1, 700)
  settle(2, 900)
  assert.equal([ledger.served, kinds()], [[600], []])
  ledger.back(['a'], 150)
  settle(3, 1_651)
  // too late for itself as well
  assert.equal(
    [ledger.served, kinds()],
    [
      [600, 1_501],
      ['served late', 'late'],
    ],
  )
})

test.run()
