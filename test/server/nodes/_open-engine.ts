import { defineActor, startActor } from 'caduceus/runtime'
import type { ClusterEngine } from 'caduceus/server'
import type { Engine, NodeName } from '../../../server/engine/engine.js'
import type { TestContext } from '../../support/suite.js'

const holder = defineActor({
  name: 'engine',
  init: ({ engine, ...name }: NodeName & { engine: ClusterEngine }, ctx) => engine.open(ctx, name),
  call: { share: (engine) => engine },
})

/** What a node sees of an engine, until `close` or the end of the test. */
export async function openEngine(
  t: Pick<TestContext, 'after'>,
  engine: ClusterEngine,
  node: string,
  server = 'tests',
): Promise<{ readonly engine: Engine; close(): Promise<void> }> {
  const ref = await startActor(holder, { engine, node, server }).catch((error) => {
    throw (error as Error).cause
  })
  const close = async (): Promise<void> => {
    if (ref.alive) await ref.stop()
  }
  t.after(close)
  return { engine: await ref.call('share'), close }
}
