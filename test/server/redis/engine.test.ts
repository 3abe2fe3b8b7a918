// second tier: redis
import { redis } from 'caduceus/server'
import { engineSuite } from 'caduceus/testing'
import { redisTest, startRedis } from '../../support/redis.js'
import { suite } from '../../support/suite.js'

const test = suite('redis engine', { timeout: 20_000 })

engineSuite(
  (name, fn) => redisTest(test, name, fn),
  async () => {
    const undo: (() => unknown)[] = []
    const server = await startRedis({ after: (fn) => undo.push(fn) })
    return {
      at: () => redis({ url: server.url }),
      stop: () => server.stop(),
      start: () => server.start({ wiped: true }),
      freeze: () => server.freeze(),
      thaw: () => server.thaw(),
      wipe: () => void server.cli('FLUSHALL'),
      close: async () => {
        for (const fn of undo) await fn()
      },
    }
  },
)

test.run()
