// second tier: redis
// shares a process
// time limit: 180 s
import * as assert from 'uvu/assert'
import { redisTest } from '../../../support/redis.js'
import { suite } from '../../../support/suite.js'
import { FaultyCluster, insist, lease, promised, servedAfter, until } from './_cluster.js'

const test = suite('nodes that end without goodbye', { timeout: 50_000 })

redisTest(test, 'sessions are served by other nodes within 3 s after their owner was killed', async (t) => {
  const cluster = await FaultyCluster.start(t)
  const sessions = await cluster.open(9)
  const end = cluster.load(sessions, [1, 2])
  for (const session of sessions) await insist(session, 'append', 0)
  await cluster.nodes[0]?.host.kill()
  const times = await Promise.all(sessions.map((session) => servedAfter(cluster, session, [1, 2])))
  assert.ok(Math.max(...times) <= promised, `served after ${times.map(Math.round)} ms`)
  await cluster.nodes[0]?.host.start()
  await cluster.whole()
  await end()
  await cluster.judge(sessions)
})

redisTest(test, 'a node stopped beyond its lease writes nothing', async (t) => {
  const cluster = await FaultyCluster.start(t)
  const sessions = await cluster.open(9)
  const owners = await Promise.all(sessions.map((session) => cluster.ownerOf(session)))
  const own = sessions.filter((_, number) => owners[number] === 0)
  assert.ok(own.length > 0)
  const endAll = cluster.load(sessions)
  const endOwn = cluster.load(own, [0])
  cluster.nodes[0]?.host.signal('SIGSTOP')
  const times = await Promise.all(own.map((session) => servedAfter(cluster, session, [1, 2])))
  assert.ok(Math.max(...times) <= promised, `served after ${times.map(Math.round)} ms`)
  for (let turn = 0; turn < 3; turn++) for (const session of own) await insist(session, 'append', 1)
  const since = cluster.now()
  await until(t, async () => cluster.now() - since > lease)
  cluster.nodes[0]?.host.signal('SIGCONT')
  await cluster.whole()
  for (const session of own) await servedAfter(cluster, session, [0])
  await Promise.all([endAll(), endOwn()])
  await cluster.judge(sessions)
})

test.run()
