import * as assert from 'uvu/assert'
import {
  asyncStream,
  awaitTask,
  createFakeClock,
  defineActor,
  getState,
  Registry,
  replaceState,
  yieldTask,
} from 'caduceus/runtime'
import { Recording } from 'caduceus/testing'
import { suite } from '../support/suite.js'
import { deferred, start } from './_actors.js'
import { place } from './tasks/_tasks.js'

const test = suite('how long the runtime waits unless told otherwise')
const never = (): Promise<never> => new Promise(() => {})

const busy = defineActor({
  name: 'busy',
  init: () => ({}),
  call: { ask: never },
  cast: { hang: never },
  terminateTimeout: Number.POSITIVE_INFINITY,
  terminate: never,
})

/** Everything to wait in: an actor that answers nothing, a name that never comes up, and tasks. */
async function scene(t: Parameters<typeof place>[0]) {
  const clock = createFakeClock()
  const registry = new Registry()
  const { tasks } = await place(t, {}, { clock })
  const ref = await start(t, busy, undefined, { clock })
  ref.cast('hang')
  const coming = deferred()
  const slow = defineActor({
    name: 'slow',
    init: () => coming.promise.then(() => ({})),
    call: { ask: () => 1 },
  })
  const starting = start(t, slow, undefined, {
    clock,
    registry,
    name: 'slow',
    startTimeout: Number.POSITIVE_INFINITY,
  })
  t.after(async () => {
    coming.resolve()
    await starting
  })
  return { clock, registry, tasks, ref, slow }
}

type Scene = Awaited<ReturnType<typeof scene>>

const waits: Readonly<Record<string, (at: Scene) => Promise<unknown>>> = {
  call: ({ ref }) => ref.call('ask'),
  'call of a name that is starting': ({ registry, slow }) => registry.named<typeof slow>('slow').call('ask'),
  whenUp: ({ registry }) => registry.whenUp('slow'),
  getState: ({ ref }) => getState(ref),
  replaceState: ({ ref }) => replaceState(ref, (state) => state),
  awaitTask: ({ tasks }) => awaitTask(tasks.start(never)),
  yieldTask: ({ tasks }) => yieldTask(tasks.start(never)),
  asyncStream: ({ tasks }) => asyncStream(tasks, [1], never).next(),
  stop: ({ ref }) => ref.stop(),
  'next of a recording': ({ clock }) => new Recording<string>('a test').next(() => true, { clock }),
}

for (const [name, wait] of Object.entries(waits))
  test(`${name}: 5,000 ms, neither more nor less`, async (t) => {
    const at = await scene(t)
    const begun = at.clock.now()
    let waited: number | undefined
    const settled = (): void => {
      waited = at.clock.now() - begun
    }
    wait(at).then(settled, settled)
    await at.clock.advance(4_999)
    assert.is(waited, undefined)
    await at.clock.advance(1)
    assert.is(waited, 5_000)
  })

test('a task stream runs 8 at once, in item order, and a task timeout ends it', async (t) => {
  const { tasks, clock } = await scene(t)
  const gates = Array.from({ length: 9 }, () => deferred<number>())
  const stream = asyncStream(tasks, gates, (gate) => gate.promise)
  const first = stream.next()
  await clock.advance(0)
  assert.is(tasks.running, 8)
  gates[1]?.resolve(1)
  gates[0]?.resolve(0)
  assert.equal((await first).value, { type: 'ok', value: 0 })
  assert.equal((await stream.next()).value, { type: 'ok', value: 1 })
  const third = stream.next().then(
    () => 'a value',
    ({ code }) => code,
  )
  await clock.advance(5_000)
  assert.is(await third, 'TIMEOUT')
})

test.run()
