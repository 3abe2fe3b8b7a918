// second tier: redis
// shares a process
// time limit: 180 s
import * as assert from 'uvu/assert'
import { redisTest } from '../../../support/redis.js'
import { suite } from '../../../support/suite.js'
import type { TcpProxy } from '../../../support/tcp-proxy.js'
import { FaultyCluster, insist, promised, servedAfter, until } from './_cluster.js'

const test = suite('cuts between a node and its engine', { timeout: 50_000 })

const cuts: Record<string, (way: TcpProxy) => void> = {
  'a full cut': (way) => way.cut(),
  'a cut that ends no connection': (way) => way.hold(),
  'a cut of what the node says': (way) => way.silence('client'),
  'a cut of what the engine says': (way) => way.silence('server'),
}

for (const [name, cut] of Object.entries(cuts))
  redisTest(test, `${name}: others take over until it is back`, async (t) => {
    const cluster = await FaultyCluster.start(t)
    const sessions = await cluster.open(6)
    const owners = await Promise.all(sessions.map((session) => cluster.ownerOf(session)))
    const own = sessions.filter((_, number) => owners[number] === 0)
    const [first] = own
    if (first === undefined) throw new Error('node 0 has no session')
    const end = cluster.load(sessions)
    const [way] = cluster.engine.ways
    if (way === undefined) throw new Error('no way')
    cut(way)
    const times = await Promise.all(own.map((session) => servedAfter(cluster, session, [1, 2])))
    assert.ok(Math.max(...times) <= promised, `served after ${times.map(Math.round)} ms`)
    await until(t, async () => !(await cluster.isReady(0)))
    const refused = await first.at(0).post({ jsonrpc: '2.0', id: 'ping', method: 'ping' })
    assert.is(refused.status, 503)
    assert.ok(Number(refused.headers['retry-after']) >= 1)
    // without a session nothing is shared
    assert.is((await cluster.modern(0)).status, 200)
    for (const session of own) await servedAfter(cluster, session, [1, 2])
    way.clear()
    await cluster.whole()
    for (const session of own) await insist(session, 'append', 0)
    await end()
    await cluster.judge(sessions)
  })

test.run()
