// second tier: redis
// shares a process
// time limit: 180 s
import { setTimeout as sleep } from 'node:timers/promises'
import * as assert from 'uvu/assert'
import { redisTest } from '../../../support/redis.js'
import { suite, type TestContext } from '../../../support/suite.js'
import { FaultyCluster, servedAfter, type Session, until } from './_cluster.js'

const test = suite('an engine that is away', { timeout: 50_000 })

/** Milliseconds in which a node that knows it refuses. */
const atOnce = 50

redisTest(test, 'Redis restarts: sessions are refused at once, then continue', async (t) => {
  const cluster = await FaultyCluster.start(t)
  const sessions = await cluster.open(6)
  const end = cluster.load(sessions)
  for (const session of sessions) await session.ask('append', 0)
  await cluster.engine.kill()
  await refuses(t, cluster, sessions)
  await cluster.engine.start({ wiped: false })
  await cluster.whole()
  for (const session of sessions) await servedAfter(cluster, session, [0, 1, 2])
  await end()
  await cluster.judge(sessions)
})

redisTest(test, 'Redis freezes: sessions are refused at once, then continue', async (t) => {
  const cluster = await FaultyCluster.start(t)
  const sessions = await cluster.open(6)
  const end = cluster.load(sessions)
  for (const session of sessions) await session.ask('append', 0)
  cluster.engine.freeze()
  t.after(() => cluster.engine.thaw())
  await refuses(t, cluster, sessions)
  cluster.engine.thaw()
  await cluster.whole()
  for (const session of sessions) await servedAfter(cluster, session, [0, 1, 2])
  await end()
  await cluster.judge(sessions)
})

/** Every node refuses sessions, says when to come back, and serves who has none. */
async function refuses(t: TestContext, cluster: FaultyCluster, sessions: readonly Session[]): Promise<void> {
  for (const [node] of cluster.nodes.entries()) await until(t, async () => !(await cluster.isReady(node)))
  const times: number[] = []
  for (const session of sessions)
    for (const [node] of cluster.nodes.entries()) {
      const since = cluster.now()
      const { status, headers, body } = await session
        .at(node)
        .post({ jsonrpc: '2.0', id: 'ping', method: 'ping' })
      times.push(cluster.now() - since)
      assert.is(status, 503)
      assert.not.match(body, /redis|127\.0\.0\.1/)
      assert.ok(Number(headers['retry-after']) >= 1)
      await sleep(20)
    }
  times.sort((a, b) => a - b)
  const median = times[times.length >> 1] ?? 0
  assert.ok(median < atOnce, `refused after ${times.map(Math.round)} ms`)
  for (const [node] of cluster.nodes.entries()) assert.is((await cluster.modern(node)).status, 200)
}

test.run()
