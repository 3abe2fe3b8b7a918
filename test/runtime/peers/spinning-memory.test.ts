// second tier: time
import { existsSync } from 'node:fs'
import { Worker } from 'node:worker_threads'
import * as assert from 'uvu/assert'
import { definePeer, type RefOf, type RuntimeError, startActor } from 'caduceus/runtime'
import { suite, type TestContext } from '../../support/suite.js'
import type glutton from './_glutton.js'

const test = suite('memory of peers', { timeout: 30_000 })
const module = new URL('./_glutton.js', import.meta.url)
const memory = 256 * 2 ** 20

for (const kind of ['thread', 'process'] as const) {
  const promise = `${kind}: a spinning peer whose Buffers exceed its memory ends`
  const canTell =
    kind === 'process' ? existsSync('/proc/self/status') : 'getHeapStatistics' in Worker.prototype
  if (!canTell) test.skip(promise, 'this Node or system does not say what it uses')
  else
    test(promise, async (t) => {
      const peer = await start(t, kind)
      const since = performance.now()
      const error = await peer.call('devour', 4, { timeout: 20_000 }).catch((error: RuntimeError) => error)
      assert.is((error as RuntimeError).code, 'NOCONNECTION')
      assert.match((error as RuntimeError).message, /it took \d+ bytes of 268435456: it was killed/)
      const { reason } = (error as RuntimeError).data as { reason: { error: RuntimeError } }
      assert.is((reason.error.data as { why: string }).why, 'memory')
      assert.ok(performance.now() - since < 10_000)
    })
}

test.run()

async function start(t: TestContext, kind: 'thread' | 'process'): Promise<RefOf<typeof glutton>> {
  const behaviour = definePeer<typeof glutton>({
    kind,
    module,
    memory,
    blockedTimeout: Number.POSITIVE_INFINITY,
  })
  const peer = await startActor(behaviour, undefined, { startTimeout: 20_000, logger: false })
  t.after(() => peer.alive && peer.stop())
  return peer
}
