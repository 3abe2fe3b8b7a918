// second tier: redis
import { redis } from 'caduceus/server'
import { noRedis, startRedis } from '../../support/redis.js'
import { suite } from '../../support/suite.js'
import { clientsSuite } from './_clients-suite.js'

const test = suite('clients of three nodes over Redis', { timeout: 20_000 })

if (noRedis === undefined)
  clientsSuite(test, async (t) => {
    const { url } = await startRedis(t)
    return () => redis({ url })
  })
else test.skip('all tests of this file', noRedis)

test.run()
