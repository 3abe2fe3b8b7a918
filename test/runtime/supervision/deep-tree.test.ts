import * as assert from 'uvu/assert'
import {
  type ActorContext,
  type ActorRef,
  defineActor,
  formatTree,
  inspect,
  type TreeNode,
} from 'caduceus/runtime'
import { suite, type TestContext } from '../../support/suite.js'
import { start } from '../_actors.js'

const test = suite('deep trees')
const depth = 3_000

/** Actors that were each started by the one before. */
async function startChain(t: TestContext): Promise<ActorRef[]> {
  const contexts: ActorContext[] = []
  const link = defineActor({
    name: 'link',
    init(_: undefined, ctx) {
      contexts.push(ctx)
      return {}
    },
    cast: {
      crash() {
        throw new Error('the last of them crashes')
      },
    },
  })
  const chain: ActorRef[] = [await start(t, link)]
  while (chain.length < depth) chain.push((await contexts.at(-1)?.start(link)) as unknown as ActorRef)
  return chain
}

function living(chain: readonly ActorRef[]): number {
  return chain.filter((ref) => ref.alive).length
}

test('killing the root ends every actor of a long chain at once', async (t) => {
  const chain = await startChain(t)
  chain[0]?.kill()
  assert.is(living(chain), 0)
  assert.equal(chain.at(-1)?.reason, { type: 'killed' })
})

test('a crash at the end of a chain of thousands ends every one of them', async (t) => {
  const chain = await startChain(t)
  const ended = new Promise((resolve) => chain[0]?.onExit(resolve))
  ;(chain.at(-1) as unknown as { cast(name: 'crash'): boolean }).cast('crash')
  await ended
  assert.is(living(chain), 0)
})

test('a long chain releases everything before its root counts as stopped', async (t) => {
  const released: number[] = []
  let innermost: ActorContext | undefined
  const owner = defineActor({
    name: 'owner',
    init(level: number, ctx) {
      innermost = ctx
      ctx.own(async () => {
        await null
        released.push(level)
      })
      return {}
    },
  })
  const root = await start(t, owner, 0)
  for (let level = 1; level < 200; level++) await innermost?.start(owner, level)
  await root.stop()
  assert.is(released.length, 200)
})

test('a tree of thousands of levels can be inspected and printed', async (t) => {
  const chain = await startChain(t)
  const [root] = chain
  if (root === undefined) throw new Error('one was started')
  const top = inspect(root)
  let levels = 0
  for (let at: TreeNode | undefined = top; at !== undefined; at = at.children[0]) levels += 1
  assert.is(levels, depth)
  assert.is(formatTree(top).split('\n').length, depth)
})

test.run()
