import * as assert from 'uvu/assert'
import { lineOf } from '../../../runtime/faults/lines.js'
import { suite } from '../../support/suite.js'
import { runProgram, runtimeUrl } from '../_program.js'

const test = suite('lines for people')

function failed(): Error {
  return new TypeError('bad order')
}

test('a crash line has reason, first own frame and what is lost', () => {
  const facts = {
    category: 'crash',
    tree: 1,
    report: '1.24',
    actor: 'worker',
    during: 'pay',
    mailbox: 2,
    err: failed(),
  }
  const line = lineOf(facts, 'worker crashed') ?? ''
  assert.match(
    line,
    /^worker crashed: bad order, at failed \(\S*lines\.test\.[jt]s:\d+:\d+\); 2 waiting messages are lost$/,
  )
  const task = lineOf({ ...facts, during: 'task', mailbox: 0, err: 'a text' }, '')
  assert.is(task, 'worker crashed: a text; whoever called it is told (report 1.24)')
})

test('frames of Node, packages and this library are not own frames', () => {
  const err = new Error('x')
  err.stack = `Error: x
    at read (node:fs:12:3)
    at load (/app/node_modules/other/index.js:1:2)
    at run (/app/shop/price.js:4:41)`
  assert.is(
    lineOf({ category: 'crash', actor: 'a', err }, ''),
    'a crashed: x, at run (/app/shop/price.js:4:41)',
  )
})

test('lines of a supervisor do not repeat the crash of a child', () => {
  const child = { id: 'worker', process: 2, restart: 'permanent' }
  const of = (facts: object) => lineOf({ category: 'supervisor', supervisor: 'top', child, ...facts }, '')
  assert.is(of({ context: 'child_terminated', reason: 'crash: boom' }), undefined)
  assert.is(of({ context: 'child_terminated', reason: 'killed' }), 'worker ended: killed')
  assert.is(of({ context: 'start_error', reason: 'crash: no port' }), 'worker cannot start: no port')
  assert.match(
    of({ context: 'shutdown', reason: 'reached_max_restart_intensity' }) ?? '',
    /^top gave up after too many restarts/,
  )
  const progress = { category: 'progress', supervisor: 'top', child, restarted: true }
  assert.is(lineOf(progress, ''), 'worker runs again, below top')
})

test('no text of others steers a terminal, or changes the order of what is read', () => {
  const log = {
    category: 'client.log',
    client: 'a\u202eb',
    logger: 'c\u{e0041}d',
    data: 'e\u2028f\u001b[2Jg\u200fh\ni',
  }
  assert.is(lineOf(log, ''), 'ab (cd) says: ef [2Jgh i')
})

test('strays, warnings, client and other events have lines of their own', () => {
  const stray = { category: 'stray', owner: undefined, err: new Error('late'), outcome: 'reported' }
  assert.match(
    lineOf(stray, '') ?? '',
    /^an error that nobody caught, of no process: late, at .*; all goes on$/,
  )
  assert.is(lineOf({ ...stray, outcome: 'failed' }, ''), undefined)
  assert.is(lineOf({ category: 'notice', actor: 'a', notice: 'mailbox_full' }, ''), 'a: mailbox full')
  const blocked = { category: 'blocked', stack: ['hash (node:crypto:1:1)', 'spin (/app/spin.js:2:3)'] }
  assert.is(
    lineOf(blocked, 'the event loop was blocked'),
    'the event loop was blocked, at spin (/app/spin.js:2:3)',
  )
  assert.is(
    lineOf({ category: 'client.warning', client: 'files', type: 'waiting', reason: 'slow' }, ''),
    'files: slow',
  )
  assert.is(
    lineOf({ category: 'client.log', client: 'files', logger: 'db', data: 'up' }, ''),
    'files (db) says: up',
  )
  assert.is(
    lineOf({ category: 'server.node', tree: 1, node: 'n1', type: 'lost' }, 'server.node lost'),
    'server.node lost: node n1, type lost',
  )
})

test('a line is one line, without codes that steer a terminal, and of bounded length', () => {
  const line =
    lineOf({ category: 'client.log', client: 'evil', data: `a\nb\u001b[2J${'x'.repeat(10_000)}` }, '') ?? ''
  assert.match(line, /^evil says: a b \[2Jx+$/)
  assert.is(line.length, 1_000)
})

test.slow('logger: text writes them to standard error; a restart is told, too', async (t) => {
  const { stderr } = await runProgram(
    t,
    `
    import { childSpec, defineActor, startSupervisor } from '${runtimeUrl}'
    const worker = defineActor({ name: 'worker', init: () => ({}), cast: { boom() { throw new Error('boom') } } })
    const top = await startSupervisor({ name: 'top', strategy: 'one_for_one', logger: 'text', children: [childSpec(worker)] })
    const [{ ref }] = await top.children()
    ref.cast('boom')
    await new Promise((resolve) => ref.onExit(resolve))
    await new Promise((resolve) => setTimeout(resolve, 50))
    await top.stop()
    `,
  )
  const lines = stderr
    .trim()
    .split('\n')
    .map((line) => line.replace(/^\d\d:\d\d:\d\d /, ''))
  assert.is(lines.length, 2, stderr)
  assert.match(lines[0] ?? '', /^error worker crashed: boom, at Entry\.boom \(.*\)$/)
  assert.is(lines[1], 'info worker runs again, below top')
})

test.run()
