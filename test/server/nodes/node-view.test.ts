import * as assert from 'uvu/assert'
import { worldOn } from '../../support/world.js'
import { TreeWatcher } from '../../../runtime/watch/tree-watcher.js'
import { Timeline } from '../../../runtime/watch/timeline.js'
import { suite } from '../../support/suite.js'
import { members } from './_members.js'

const test = suite('nodes that look at each other')

test('the view of a node shows the other nodes while they live', async (t) => {
  const { clock, start, pass, during } = members(t)
  await start('first')
  const second = await start('second')
  await start('third')
  await pass(400)
  const leaveOut: ReadonlySet<number> = new Set()
  const timeline = new Timeline(() => 0, leaveOut)
  t.after(() => timeline[Symbol.dispose]())
  const world = worldOn(clock)
  const watcher = new TreeWatcher({ world, timeline, leaveOut, most: 1_000, nodes: true })
  const nodes = (): string[] =>
    [...watcher.rows.values()].filter(({ name }) => name === 'node').map(({ id }) => id)
  watcher.look()
  // each of the three, all in this thread, tells of the two others
  assert.equal(nodes().sort(), ['first', 'first', 'second', 'second', 'third', 'third'])
  await pass(100)
  watcher.look()
  const [node] = [...watcher.rows.values()].filter(({ name }) => name === 'node')
  assert.match(node?.about ?? '', /^\d+ MB, \d+ % busy$/)
  const below = [...watcher.rows.values()].filter(({ parent }) => parent === node?.key)
  assert.ok(below.length >= 3, 'the trees of that program')
  // one that is looked at looks at nobody: else this would never end
  const told = [...watcher.rows.values()].length
  for (let i = 0; i < 2; i += 1) {
    await pass(1_000)
    watcher.look()
  }
  assert.is([...watcher.rows.values()].length, told)
  await during(second.supervisor.stop())
  await pass(400)
  watcher.look()
  assert.equal(nodes().sort(), ['first', 'third'])
  watcher.leave()
})

test('the view of a node cannot end anything on another node', async (t) => {
  const { clock, start, pass } = members(t)
  await start('first')
  const second = await start('second')
  await pass(400)
  const [there] = second.cluster.others
  there?.look(clock.now())
  await pass(100)
  const member = [...(there?.rows.values() ?? [])].find(({ name }) => name === 'member')
  there?.end(member?.key ?? 0, 'kill')
  await pass(100)
  assert.ok((await second.actor('member')).alive)
  there?.leave()
})

test.run()
