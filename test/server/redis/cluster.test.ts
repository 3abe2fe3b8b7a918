// second tier: redis
// time limit: 180 s
import { equal, is, match } from 'uvu/assert'
import { subscribe } from 'caduceus/runtime'
import { type NodeEvent, redis, startServer, subscribeServer } from 'caduceus/server'
import { serveHttp, type TransportError } from 'caduceus/transports'
import { heard } from '../../support/heard.js'
import { initialize, RawClient } from '../_client.js'
import { redisTest, startRedis } from '../../support/redis.js'
import { suite } from '../../support/suite.js'
import { clusterDefinition, clusterSuite } from '../nodes/_cluster-suite.js'
import { eventually } from '../nodes/_eventually.js'
import { startEngineNodes } from '../nodes/_nodes.js'
import { startNode } from '../nodes/_servers.js'

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

redisTest(test, 'a Redis write refusal is reported in its own words', async (t) => {
  const server = await startRedis(t)
  const engine = redis({ url: server.url, lease: 1_000 })
  const [node] = await startEngineNodes(t, [clusterDefinition], () => engine)
  server.cli('CONFIG', 'SET', 'maxmemory', '1')
  await eventually(() => /does not take this node's beats: .*OOM/.test(node?.cluster.view.problem ?? ''))
  server.cli('CONFIG', 'SET', 'maxmemory', '0')
  await eventually(() => node?.cluster.view.problem === undefined)
})

for (const keys of [undefined, ['a secret of 32 characters or more, for all']]) {
  const how = keys === undefined ? 'without keys' : 'with keys'
  redisTest(test, `a node does not start on a refusing Redis, ${how}, and says why`, async (t) => {
    const server = await startRedis(t)
    const none = await startRedis(t, { args: ['--cluster-enabled', 'yes'] })
    server.cli('ACL', 'SETUSER', 'mcp', 'on', '>secret', '~else:*', '&*', '+@all')
    const refused = async (url: string): Promise<string> => {
      const cluster = redis({ url, keys, lease: 1_000 })
      const options = { transport: serveHttp(), engine: cluster, logger: false, signals: false } as const
      return startServer(clusterDefinition, options).then(
        (started) => started.stop().then(() => 'it has started'),
        (error: TransportError) => `${error.code}: ${error.message}`,
      )
    }
    match(await refused(server.url.replace('//', '//mcp:secret@')), /^CLUSTER_UNAVAILABLE: .*NOPERM/)
    // no node of Redis Cluster has the slot
    match(await refused(none.url), /^CLUSTER_UNAVAILABLE: .*CLUSTERDOWN/)
  })
}

redisTest(test, 'a full Redis is reported at once and causes no crash', async (t) => {
  const server = await startRedis(t)
  const cluster = redis({ url: server.url, lease: 10_000 })
  const node = await startNode(t, cluster, clusterDefinition)
  const client = await new RawClient(t, node.url).open()
  const told = heard<NodeEvent>()
  t.after(subscribeServer('node', (event) => void (event.type === 'unsaved' && told.add(event))))
  const crashes: unknown[] = []
  t.after(subscribe('crash', (crash) => void crashes.push(crash)))
  server.cli('CONFIG', 'SET', 'maxmemory', '1')
  for (let calls = 0; calls < 10; calls += 1)
    match((await client.call('count')).error?.message ?? '', /could not be saved/)
  is((await new RawClient(t, node.url).post(initialize())).status, 503)
  match((await told.next()).problem ?? '', /^sessions are not saved \(\d+ times until now\): .*OOM/)
  equal(crashes, [])
})

test.run()
