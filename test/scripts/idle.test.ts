import * as assert from 'uvu/assert'
import { inRoot } from '../support/root.js'
import { suite, type TestContext } from '../support/suite.js'

interface Processor {
  readonly times: { readonly user: number; readonly idle: number }
}
const { watchIdle } = (await import(inRoot('scripts', 'house', 'idle.mjs'))) as {
  watchIdle(ms: number, read: () => Processor[]): { next(): Promise<boolean>; stop(): void }
}
const test = suite('idle processors')

test('half a processor that is idle lets one file begin at each look', async (t) => {
  const { idle, looks } = watch(t, (look) => (look > 3 ? 0.25 : 0.2))
  assert.is(await idle.next(), true)
  assert.is(looks.count, 4)
  assert.equal(await Promise.all([idle.next(), idle.next()]), [true, true])
  assert.is(looks.count, 6)
})

test('where nothing is idle nothing begins, also when there is nothing to wait for', async (t) => {
  const { idle, looks } = watch(t, () => 0)
  const next = idle.next()
  await looks.some
  idle.stop()
  assert.equal([await next, await idle.next()], [false, false])
})

test.run()

/** Two processors, of whose time before each look a share was idle. */
function watch(t: TestContext, share: (look: number) => number) {
  let resolve = (): void => {}
  const some = new Promise<void>((done) => {
    resolve = done
  })
  const looks = { count: -1, some }
  const times = { user: 0, idle: 0 }
  const idle = watchIdle(1, () => {
    looks.count += 1
    if (looks.count === 5) resolve()
    times.idle += 100 * share(looks.count)
    times.user += 100 * (1 - share(looks.count))
    return [{ times: { ...times } }, { times: { ...times } }]
  })
  t.after(() => idle.stop())
  return { idle, looks }
}
