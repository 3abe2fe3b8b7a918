import * as assert from 'uvu/assert'
import {
  childSpec,
  createFakeClock,
  defineActor,
  describe,
  dynamicSupervisorAt,
  dynamicSupervisorSpec,
  formatTree,
  inspect,
  supervisorSpec,
  type TaskSupervisor,
  taskSupervisorSpec,
  type TreeNode,
} from 'caduceus/runtime'
import { suite } from '../../support/suite.js'
import { gate, Recorder, startTree, turn, worker, workerOf } from '../_family.js'

const test = suite('inspect')
const strategy = 'one_for_one'
const never = new Promise<never>(() => {})

function child(node: TreeNode, id: string): TreeNode {
  const found = node.children.find((candidate) => candidate.id === id)
  if (found === undefined) throw new Error(`${id} is not listed`)
  return found
}

test('OTP-113 OTP-114 a tree is read as data: children, names, times and mailboxes', async (t) => {
  const log = new Recorder()
  const clock = createFakeClock()
  const inner = supervisorSpec({
    name: 'inner',
    strategy: 'one_for_all',
    intensity: 7,
    children: [worker(log, 'x')],
  })
  const tree = await startTree(t, {
    name: 'top',
    strategy,
    clock,
    children: [worker(log, 'a', { id: 'first', name: 'alpha' }), inner],
  })
  const a = await workerOf(tree, 'first')
  await clock.advance(1_500)
  a.cast('run', () => never)
  a.cast('stop')
  a.cast('stop')
  await turn()
  const root = inspect(tree.ref)
  const { children: _, ...facts } = root
  assert.equal(facts, {
    id: 'top',
    name: 'top',
    process: tree.ref.id,
    kind: 'supervisor',
    status: 'running',
    names: [],
    mailbox: 0,
    uptime: 1_500,
    restarts: 0,
    strategy: 'one_for_one',
    restartsLeft: 3,
  })
  const first = child(root, 'first')
  assert.equal([first.name, first.kind, first.mailbox, first.names], ['a', 'actor', 2, ['alpha']])
  assert.equal([child(root, 'inner').strategy, child(root, 'inner').restartsLeft], ['one_for_all', 7])
  assert.is(child(child(root, 'inner'), 'x').status, 'running')
})

test('OTP-114 children are listed in start order, also those that do not run now', async (t) => {
  const log = new Recorder()
  const released = gate()
  const init = (ctx: { own(fn: () => Promise<void>): unknown }): void => void ctx.own(() => released.opened)
  const children = [worker(log, 'a'), worker(log, 'b', { init }), supervisorSpec({ name: 's', strategy })]
  const tree = await startTree(t, { strategy, children })
  await tree.terminateChild('a')
  await tree.terminateChild('s')
  ;(await workerOf(tree, 'b')).cast('crash')
  await log.next(4)
  await turn()
  const nodes = inspect(tree.ref).children
  assert.equal(
    nodes.map(({ id, status, kind, process }) => [id, status, kind, process]),
    [
      ['a', 'stopped', 'actor', undefined],
      ['b', 'restarting', 'actor', undefined],
      ['s', 'stopped', 'supervisor', undefined],
    ],
  )
  released.open()
  await tree.count()
  const b = child(inspect(tree.ref), 'b')
  assert.equal([b.status, b.restarts, inspect(tree.ref).restartsLeft], ['running', 1, 2])
})

test('the tree shows dynamic children and tasks', async (t) => {
  const log = new Recorder()
  const tree = await startTree(t, { strategy, children: [dynamicSupervisorSpec({ name: 'pool' })] })
  const tasks = (await tree.startChild(taskSupervisorSpec({ name: 'tasks' }))).extra as TaskSupervisor
  const pool = (await tree.children()).find(({ id }) => id === 'pool')?.ref
  assert.ok(pool)
  await dynamicSupervisorAt(pool).startChild(worker(log, 'x'))
  tasks.start(() => never, { name: 'request 1' })
  assert.is(
    formatTree(inspect(tree.ref)),
    [
      'supervisor  one_for_one, 3 restarts left',
      '├─ pool  one_for_one, 3 restarts left',
      '│  └─ x',
      '└─ tasks',
      '   └─ request 1',
    ].join('\n'),
  )
  assert.is(child(child(inspect(tree.ref), 'tasks'), 'request 1').kind, 'task')
})

test('an actor may describe its state in a few words', async (t) => {
  class State {
    hits = 2;
    [describe](): string {
      return `${this.hits} hits`
    }
  }
  const counter = defineActor({ name: 'counter', init: () => new State() })
  const tree = await startTree(t, { strategy, children: [childSpec(counter)] })
  assert.is(child(inspect(tree.ref), 'counter').about, '2 hits')
  assert.match(formatTree(inspect(tree.ref)), '└─ counter  2 hits')
})

test('a user describe that throws or is invalid does not break inspection', async (t) => {
  const states: Record<string, unknown> = {
    throwing: {
      [describe]() {
        throw new Error('boom')
      },
    },
    odd: { [describe]: 'text' },
    number: { [describe]: () => 7 },
    hostile: {
      [describe]: () => ({
        toString() {
          throw new Error('boom')
        },
      }),
    },
    late: { [describe]: async () => Promise.reject(new Error('boom')) },
    long: { [describe]: () => 'x'.repeat(1_000_000) },
    lines: { [describe]: () => 'all\n   └─ bank  well\r\u2028' },
    none: null,
    text: 'text',
  }
  const children = Object.entries(states).map(([name, state]) =>
    childSpec(defineActor({ name, init: () => state })),
  )
  const tree = await startTree(t, { strategy, children })
  const about = Object.fromEntries(inspect(tree.ref).children.map(({ id, about }) => [id, about]))
  const failed = '(its describe failed)'
  const expected = { throwing: failed, odd: failed, number: '7', hostile: failed }
  const bad = {
    late: '(its describe is async)',
    long: `${'x'.repeat(500)}…`,
    lines: 'all\n   └─ bank  well\r\u2028',
  }
  assert.equal(about, { ...expected, ...bad, none: undefined, text: undefined })
  const lines = formatTree(inspect(tree.ref)).split('\n')
  assert.is(lines.length, 10)
  assert.ok(lines.includes('├─ lines  all └─ bank  well '))
})

test('ended processes show their reason, and starting ones their phase', async (t) => {
  const log = new Recorder()
  const ready = gate()
  const tree = await startTree(t, { strategy })
  const starting = tree.startChild(worker(log, 'slow', { init: () => ready.opened }))
  await turn()
  assert.is(formatTree(inspect(tree.ref)), 'supervisor  one_for_one, 3 restarts left\n└─ slow  starting')
  ready.open()
  await starting
  const slow = await workerOf(tree, 'slow')
  slow.kill()
  const dead = inspect(slow)
  assert.equal([dead.status, dead.reason], ['ended', 'killed'])
  await tree.stop()
  assert.is(formatTree(inspect(tree.ref)), 'supervisor  one_for_one, 2 restarts left, ended, shutdown')
})

test('the indentation of a tree grows for 100 levels', () => {
  const blank = {
    id: 'a',
    name: 'a',
    process: 1,
    kind: 'actor',
    status: 'running',
    names: [],
    mailbox: 0,
    uptime: 0,
    restarts: 0,
  } as const
  let tree: TreeNode = { ...blank, children: [] }
  for (let level = 0; level < 103; level++) tree = { ...blank, children: [tree] }
  const indents = formatTree(tree)
    .split('\n')
    .map((line) => line.search(/[^ ]/))
  assert.equal(indents.slice(0, 3), [0, 0, 3])
  assert.equal(indents.slice(-4), [297, 300, 300, 300])
})

test.run()
