// time limit: 60 s
import { redisTest } from '../../../support/redis.js'
import { suite } from '../../../support/suite.js'
import { FaultyCluster, insist, servedAfter } from './_cluster.js'

const test = suite('an engine that forgets', { timeout: 50_000 })

redisTest(test, 'wiped: what its nodes still know is brought back', async (t) => {
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

redisTest(test, 'a fail-over that loses the last second loses nothing that was acknowledged', async (t) => {
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
