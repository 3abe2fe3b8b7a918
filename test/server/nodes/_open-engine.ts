import { defineActor } from '../../../runtime/process/behaviour.js'
import { startActor } from '../../../runtime/process/root.js'
import type { ClusterEngine, Engine } from '../../../server/nodes/engine.js'
import type { TestContext } from '../../support/suite.js'

const holder = defineActor({
  name: 'engine',
  init: ({ engine, node }: { engine: ClusterEngine; node: string }, ctx) => engine.open(ctx, node),
  call: { share: (engine) => engine },
})

/** What a node sees of an engine, until `close` or the end of the test. */
export async function openEngine(
  t: Pick<TestContext, 'after'>,
  engine: ClusterEngine,
  node: string,
): Promise<{ readonly engine: Engine; close(): Promise<void> }> {
  const ref = await startActor(holder, { engine, node }).catch((error) => {
    throw (error as Error).cause
  })
  const close = async (): Promise<void> => {
    if (ref.alive) await ref.stop()
  }
  t.after(close)
  return { engine: await ref.call('share'), close }
}
