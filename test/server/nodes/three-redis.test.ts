// second tier: redis
// time limit: 180 s
import { redis } from 'caduceus/server'
import { noRedis, startRedis } from '../../support/redis.js'
import { suite } from '../../support/suite.js'
import { threeNodesSuite } from './_three-suite.js'

const test = suite('three nodes over Redis', { timeout: 20_000 })

if (noRedis === undefined)
  threeNodesSuite(test, async (t) => {
    const { url } = await startRedis(t)
    return () => redis({ url })
  })
else test.skip('all tests of this file', noRedis)

test.run()
