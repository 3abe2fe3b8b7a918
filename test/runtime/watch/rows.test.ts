import * as assert from 'uvu/assert'
import {
  childSpec,
  defineActor,
  supervisorSpec,
  systemWorld,
  taskSupervisorAt,
  taskSupervisorSpec,
} from 'caduceus/runtime'
import { until } from 'caduceus/testing'
import { crashActor } from '../../../runtime/watch/crash.js'
import type { Row, Rows } from '../../../runtime/watch/row.js'
import { compareRows, findProcess, Places, readRows } from '../../../runtime/watch/rows.js'
import { type Happening, Timeline } from '../../../runtime/watch/timeline.js'
import { TreeWatcher } from '../../../runtime/watch/tree-watcher.js'
import { suite } from '../../support/suite.js'
import { startTree } from '../_family.js'

const test = suite('rows and timeline')
const none: ReadonlySet<number> = new Set()
const plain = defineActor({ name: 'plain', init: () => ({}) })
const many = (count: number) =>
  Array.from({ length: count }, (_, i) => childSpec(plain, undefined, { id: `child ${i}` }))

function named(rows: Rows, id: string): Row {
  const found = [...rows.values()].find((row) => row.id === id)
  if (found === undefined) throw new Error(`no row ${id}`)
  return found
}

test('a child keeps its row through a restart, and changes only are sent', async (t) => {
  const tree = await startTree(t, { name: 'top', strategy: 'one_for_one', children: many(3) })
  const places = new Places()
  const look = (): Rows => readRows(places, { most: 100, leaveOut: none })
  const before = look()
  assert.equal(compareRows(before, look()), { rows: [], gone: [] })
  const row = named(before, 'child 1')
  assert.is(row.parent, named(before, 'top').key)
  const process = findProcess(places, row.key, none)?.process
  assert.is(process?.name, 'plain')
  if (process === undefined) return
  await crashActor(process.ref, new Error('on purpose'))
  await until(() => named(look(), 'child 1').restarts === 1)
  const after = look()
  const { rows, gone } = compareRows(before, after)
  assert.equal(gone, [])
  assert.equal(
    rows.map(({ id, key, restarts }) => [id, key, restarts]),
    [
      ['top', named(before, 'top').key, 0],
      ['child 1', row.key, 1],
    ],
  )
  assert.not.equal(named(after, 'child 1').process, row.process)
  await tree.terminateChild('child 2')
  await tree.deleteChild('child 2')
  assert.equal(compareRows(after, look()).gone, [named(after, 'child 2').key])
})

test('rows leave out registry names, which may be secret', async (t) => {
  const child = childSpec(plain, undefined, { name: 'a secret' })
  await startTree(t, { name: 'top', strategy: 'one_for_one', children: [child] })
  const rows = readRows(new Places(), { most: 100, leaveOut: none })
  assert.not.ok(JSON.stringify([...rows.values()]).includes('a secret'))
})

test('rows keep the begin of a name, an id and a reason, however long they are', async (t) => {
  const long = 'x'.repeat(100_000)
  const actor = defineActor({ name: long, init: () => ({}) })
  const tree = await startTree(t, {
    strategy: 'one_for_one',
    children: [childSpec(actor, undefined, { id: long })],
  })
  const rows = [...readRows(new Places(), { most: 10, leaveOut: new Set() }).values()]
  const row = rows.find(({ id }) => id.startsWith('xx'))
  assert.equal([row?.id, row?.name], Array(2).fill(`${'x'.repeat(300)}…`))
  await tree.stop()
})

test('a restart in order is for all whom somebody starts again, and for nobody else', async (t) => {
  const traps = defineActor({ name: 'traps', trapExit: true, init: () => ({}), info: { exit() {} } })
  const tree = await startTree(t, {
    name: 'top',
    strategy: 'one_for_one',
    intensity: 10,
    children: [
      childSpec(traps),
      childSpec(plain),
      childSpec(plain, undefined, { id: 'transient', restart: 'transient' }),
      childSpec(plain, undefined, { id: 'temporary', restart: 'temporary' }),
      taskSupervisorSpec({ name: 'tasks' }),
      supervisorSpec({ name: 'below', strategy: 'one_for_one', children: [] }),
    ],
  })
  const tasks = (await tree.children()).find(({ id }) => id === 'tasks')?.ref
  taskSupervisorAt(tasks).start(() => new Promise(() => {}), { name: 'task' })
  const timeline = new Timeline(systemWorld.date, none)
  const watcher = new TreeWatcher({ world: systemWorld, timeline, leaveOut: none, most: 100, nodes: false })
  t.after(() => {
    watcher.leave()
    timeline[Symbol.dispose]()
  })
  watcher.look()
  const before = watcher.rows
  const end = (id: string) => watcher.end(named(before, id).key, 'restart')
  const restarted = ['traps', 'plain', 'tasks', 'below']
  // a task ends with its supervisor: it is asked first
  for (const id of ['top', 'transient', 'temporary', 'task']) assert.is(end(id), 'final', id)
  for (const id of restarted) assert.is(end(id), 'done', id)
  await until(() => {
    watcher.look()
    return restarted.every((id) => named(watcher.rows, id).restarts === 1)
  })
  for (const id of restarted) assert.is.not(named(watcher.rows, id).process, named(before, id).process)
  for (const id of ['transient', 'temporary'])
    assert.is(named(watcher.rows, id).process, named(before, id).process)
  assert.is(watcher.end(99_999, 'restart'), 'gone')
})

test('excess rows are counted, and a tree can be left out', async (t) => {
  const tree = await startTree(t, { name: 'top', strategy: 'one_for_one', children: many(50) })
  const rows = readRows(new Places(), { most: 11, leaveOut: none })
  assert.is(rows.size, 11)
  const top = named(rows, 'top')
  assert.is(top.hidden, 40)
  assert.is(top.tree > 0, true)
  const others = readRows(new Places(), { most: 11, leaveOut: new Set([top.tree]) })
  assert.is(others.size, 0)
  assert.is(tree.ref.alive, true)
})

test('the timeline tells what died and what came back, with the frames of its stack', async (t) => {
  const told: Happening[] = []
  const timeline = new Timeline(
    () => 17,
    none,
    (happening) => told.push(happening),
  )
  t.after(() => timeline[Symbol.dispose]())
  await startTree(t, { name: 'top', strategy: 'one_for_one', children: many(1) })
  const places = new Places()
  const row = named(readRows(places, { most: 10, leaveOut: none }), 'child 0')
  const process = findProcess(places, row.key, none)?.process
  if (process === undefined) throw new Error('it does not run')
  await crashActor(process.ref, new Error('on purpose'))
  await until(() => told.some(({ what }) => what === 'restart'))
  assert.equal(
    told.map(({ id, at, what, name, text }) => [id, at, what, name, text]),
    [
      [1, 17, 'crash', 'plain', 'crash: on purpose (in crash)'],
      [2, 17, 'restart', 'child 0', 'runs again, below top'],
    ],
  )
  assert.is(told[0]?.process, row.process)
  assert.match(told[0]?.stack?.[0] ?? '', /rows\.test\.ts/)
  assert.equal(timeline.all, told)
})

test.run()
