// second tier: redis
// time limit: 180 s
import { redisTest } from '../../../support/redis.js'
import { suite } from '../../../support/suite.js'
import { FaultyCluster, insist, servedAfter, until } from './_cluster.js'

const test = suite('an engine that forgets', { timeout: 50_000 })

redisTest(test, 'a wiped Redis gets back what its nodes know', async (t) => {
  const cluster = await FaultyCluster.start(t)
  const sessions = await cluster.open(6)
  const end = cluster.load(sessions)
  for (const session of sessions) await session.ask('append', 0)
  await cluster.engine.kill()
  await cluster.engine.start({ wiped: true })
  await cluster.whole()
  for (const session of sessions) await servedAfter(cluster, session, [0, 1, 2])
  for (const session of sessions) await insist(session, 'append', 1)
  await end()
  await cluster.judge(sessions)
})

redisTest(test, 'a wiped Redis gets back unchanged sessions that were taken over', async (t) => {
  const cluster = await FaultyCluster.start(t)
  const sessions = await cluster.open(6)
  for (const session of sessions) await session.ask('append', 0)
  await cluster.nodes[0]?.host.kill()
  for (const session of sessions) await servedAfter(cluster, session, [1, 2])
  await cluster.engine.kill()
  await cluster.engine.start({ wiped: true })
  for (const node of [1, 2]) await until(t, () => cluster.isReady(node))
  // the record is there for others, too
  await cluster.nodes[1]?.host.kill()
  for (const session of sessions) await servedAfter(cluster, session, [2])
  for (const node of [0, 1]) await cluster.nodes[node]?.start()
  await cluster.whole()
  await cluster.judge(sessions)
})

redisTest(test, 'a failover that loses the last second loses nothing acknowledged', async (t) => {
  const cluster = await FaultyCluster.start(t)
  const sessions = await cluster.open(6)
  const end = cluster.load(sessions)
  for (const session of sessions) await session.ask('append', 0)
  await cluster.engine.failOver()
  await cluster.whole()
  for (const session of sessions) await servedAfter(cluster, session, [0, 1, 2])
  for (const session of sessions) await insist(session, 'append', 1)
  await end()
  await cluster.judge(sessions)
})

test.run()
