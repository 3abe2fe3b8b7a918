// time limit: 180 s
import { redis } from '../../../server/redis/redis.js'
import { redisTest, startRedis } from '../../support/redis.js'
import { suite } from '../../support/suite.js'
import { clusterDefinition, clusterSuite } from '../nodes/_cluster-suite.js'
import { eventually } from '../nodes/_engine-suite.js'
import { startEngineNodes } from '../nodes/_nodes.js'

const test = suite('cluster over Redis', { timeout: 15_000 })
const three = [clusterDefinition, clusterDefinition, clusterDefinition]

clusterSuite(
  (promise, body, options) => redisTest(test, promise, body, options),
  async (t, limits) => {
    const { url } = await startRedis(t)
    const keys = ['a secret of 32 characters or more, for all']
    return startEngineNodes(t, three, () => redis({ url, keys, lease: 1_000 }), { limits })
  },
)

redisTest(test, 'a Redis that refuses to write is told of with its own words', async (t) => {
  const server = await startRedis(t)
  const engine = redis({ url: server.url, lease: 1_000 })
  const [node] = await startEngineNodes(t, [clusterDefinition], () => engine)
  server.cli('CONFIG', 'SET', 'maxmemory', '1')
  await eventually(() => /does not take this node's beats: .*OOM/.test(node?.cluster.view.problem ?? ''))
  server.cli('CONFIG', 'SET', 'maxmemory', '0')
  await eventually(() => node?.cluster.view.problem === undefined)
})

test.run()
