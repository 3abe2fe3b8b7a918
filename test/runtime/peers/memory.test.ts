import * as assert from 'uvu/assert'
import { definePeer, startActor } from 'caduceus/runtime'
import { suite } from '../../support/suite.js'
import type glutton from './_glutton.js'

const test = suite('memory of peers', { timeout: 30_000 })
const memory = 256 * 2 ** 20

test('a responsive thread over its memory is killed, whatever Node can tell', async (t) => {
  const peer = await startActor(
    definePeer<typeof glutton>({ kind: 'thread', module: new URL('./_hoarder.js', import.meta.url), memory }),
    undefined,
    { startTimeout: 20_000, logger: false },
  )
  t.after(() => peer.alive && peer.stop())
  const reason = await new Promise((resolve) => peer.onExit(resolve))
  assert.match(String((reason as { error: Error }).error.message), /it was killed/)
})

test.run()
