import * as assert from 'uvu/assert'
import { childSpec, defineActor, Registry, startSupervisor } from 'caduceus/runtime'
import { stillThere } from '../../support/collected.js'
import { suite } from '../../support/suite.js'

const test = suite('what is left of a tree')

// Without a scope: that would hold what is to be gone.
function noop(): void {}

type Weak = Record<string, WeakRef<object>>

/** Starts and stops a tree, of which nothing but a timer and a promise, and what is answered, is left. */
async function startAndStop(hold: () => void, kill: boolean): Promise<Weak> {
  const weak: Weak = {}
  const worker = defineActor({
    name: 'worker',
    init() {
      hold()
      const state = {}
      weak.state = new WeakRef(state)
      return state
    },
  })
  const registry = new Registry()
  const children = [childSpec(worker, undefined, { id: 'worker' })]
  const below = await startSupervisor({ strategy: 'one_for_one', children, registry, logger: false })
  weak.registry = new WeakRef(registry)
  weak.spec = new WeakRef(children[0] as object)
  const ended = new Promise((resolve) => below.ref.onExit(resolve))
  if (kill) below.ref.kill()
  else await below.stop()
  await ended
  return weak
}

for (const [how, kill] of [
  ['stopped', false],
  ['killed', true],
] as const) {
  test(`a timer that outlives its tree does not retain it: ${how}`, async (t) => {
    const timers: NodeJS.Timeout[] = []
    const hold = (): unknown => timers.push(setTimeout(noop, 1_000_000))
    t.after(() => timers.forEach(clearTimeout))
    const weak = await startAndStop(hold, kill)
    assert.is(timers.length, 1)
    assert.equal(Object.keys(weak), ['state', 'registry', 'spec'])
    assert.equal(await stillThere(weak), [])
  })
}

test('a pending promise does not retain the tree it was made in', async () => {
  const promises: Promise<void>[] = []
  const weak = await startAndStop(() => promises.push(new Promise<void>(noop).then()), false)
  assert.equal(await stillThere(weak), [])
  assert.is(promises.length, 1)
})

test.run()
