// second tier: redis
import { redis } from 'caduceus/server'
import { redisTest, startRedis } from '../../support/redis.js'
import { suite } from '../../support/suite.js'
import { engineSuite } from '../nodes/_engine-suite.js'

const test = suite('redis engine')

engineSuite(
  (promise, body, options) => redisTest(test, promise, body, options),
  async (t) => {
    const server = await startRedis(t)
    return {
      at: () => redis({ url: server.url }),
      stop: () => server.stop(),
      start: () => server.start({ wiped: true }),
      freeze: () => server.freeze(),
      thaw: () => server.thaw(),
      wipe: () => void server.cli('FLUSHALL'),
    }
  },
)

test.run()
