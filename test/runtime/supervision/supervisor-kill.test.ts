import * as assert from 'uvu/assert'
import { childSpec, createFakeClock, defineActor, supervisorSpec } from 'caduceus/runtime'
import { suite } from '../../support/suite.js'
import { ending, Recorder, startTree, worker, workerOf } from '../_family.js'

const test = suite('supervisor kill')
const strategy = 'one_for_one'

test('OTP-30 a killed supervisor ends its children, trapping ones by terminate', async (t) => {
  const log = new Recorder()
  const trapping = {
    trapExit: true,
    terminate: (reason: { type: string }) => log.note(`terminate c ${reason.type}`),
  }
  const inner = supervisorSpec({ name: 'inner', strategy, children: [worker(log, 'b')] })
  const tree = await startTree(t, {
    strategy,
    children: [worker(log, 'a'), inner, worker(log, 'c', trapping)],
  })
  const a = ending(await workerOf(tree, 'a'))
  tree.ref.kill()
  assert.is((await a).type, 'killed')
  const seen = await log.next(7)
  assert.equal(seen.sort(), [
    'end a',
    'end b',
    'end c',
    'start a',
    'start b',
    'start c',
    'terminate c killed',
  ])
})

test('OTP-30 a trapping child of a killed supervisor has its terminateTimeout', async (t) => {
  const log = new Recorder()
  const clock = createFakeClock()
  const stuck = defineActor({
    name: 'stuck',
    trapExit: true,
    terminateTimeout: 300,
    init(_: undefined, ctx) {
      ctx.own(() => log.note('end stuck'))
      return 0
    },
    terminate: () => {
      log.note('terminate stuck')
      return new Promise(() => {})
    },
  })
  const tree = await startTree(t, { strategy, clock, children: [childSpec(stuck)] })
  tree.ref.kill()
  await clock.advance(299)
  assert.equal(log.rest(), ['terminate stuck'])
  await clock.advance(1)
  assert.equal(log.rest(), ['end stuck'])
})

test.run()
