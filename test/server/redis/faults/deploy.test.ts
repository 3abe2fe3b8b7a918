// second tier: redis
// shares a process
// time limit: 180 s
import * as assert from 'uvu/assert'
import { redisTest } from '../../../support/redis.js'
import { suite } from '../../../support/suite.js'
import { FaultyCluster, servedAfter } from './_cluster.js'

const test = suite('nodes that are replaced in order', { timeout: 55_000 })

/** Milliseconds after an orderly stop. */
const atOnce = 500

redisTest(test, 'three nodes are replaced under load without delaying a session', async (t) => {
  const cluster = await FaultyCluster.start(t)
  const sessions = await cluster.open(9)
  for (const [node, { host }] of cluster.nodes.entries()) {
    const others = [0, 1, 2].filter((each) => each !== node)
    const end = cluster.load(sessions, others)
    await host.stop()
    const times = await Promise.all(sessions.map((session) => servedAfter(cluster, session, others)))
    assert.ok(Math.max(...times) <= atOnce, `served after ${times.map(Math.round)} ms`)
    await host.start()
    await cluster.whole()
    await end()
  }
  // nobody who asked those that stay was refused, or has lost a call
  assert.equal([...cluster.statuses.keys()], [200])
  await cluster.judge(sessions)
})

redisTest(test, 'setting the clock changes nothing', async (t) => {
  const cluster = await FaultyCluster.start(t)
  const sessions = await cluster.open(6)
  const end = cluster.load(sessions)
  for (const jump of ['later', 'earlier', 'earlier'] as const) {
    cluster.nodes[0]?.host.tell(jump)
    for (const session of sessions) for (const node of [0, 1, 2]) await session.ask('append', node)
  }
  await end()
  assert.equal([...cluster.statuses.keys()], [200])
  await cluster.judge(sessions)
})

test.run()
