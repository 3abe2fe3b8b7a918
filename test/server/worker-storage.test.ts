// second tier: third party
// time limit: 120 s
import { mkdtempSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import * as assert from 'uvu/assert'
import { durableObject } from 'caduceus/fetch'
import { suite, type TestContext } from '../support/suite.js'
import { bundleWorker, hasWorkerd, startWorker } from '../support/worker.js'

const test = suite('an engine in the storage of a Durable Object', { timeout: 60_000 })
const inWorkerd = hasWorkerd ? test : (promise: string) => test.skip(promise, 'workerd is not installed')
const program = hasWorkerd
  ? bundleWorker(`export { worker as default, Store } from './test/server/_worker-storage.ts'`)
  : undefined

async function start(t: TestContext, folder?: string) {
  const { text } = (await program) ?? { text: '' }
  const { url, end } = await startWorker(t, text, {
    durableObjects: { STORE: { className: 'Store', useSQLite: true } },
    ...(folder !== undefined && { durableObjectsPersist: folder }),
  })
  const does = async (...steps: readonly (readonly unknown[])[]): Promise<unknown> => {
    const answer = await fetch(url, { method: 'POST', body: JSON.stringify(steps) })
    assert.is(answer.status, 200, await answer.clone().text())
    return answer.json()
  }
  return { does, end }
}

inWorkerd('a session is as it was saved last, and gone when deleted or idle', async (t) => {
  const { does } = await start(t)
  const load = ['load', 'a']
  assert.equal(await does(load, ['save', 'a', 1], load, ['save', 'a', 3], ['save', 'a', 2], load), [
    null,
    1,
    3,
  ])
  assert.equal(await does(['wait', 999], load, ['save', 'a', 4], ['wait', 999], load), [3, 4])
  assert.equal(await does(['wait', 1], load, ['save', 'b', 1], ['rows']), [null, [1, 0]])
  assert.equal(await does(['delete', 'b'], ['delete', 'none'], ['load', 'b'], ['rows']), [null, [0, 0]])
})

inWorkerd('of too many sessions the one saved longest ago goes', async (t) => {
  const { does } = await start(t)
  const saved = ['a', 'b', 'c'].flatMap((id) => [
    ['save', id, 1],
    ['wait', 1],
  ])
  await does(...saved, ['save', 'a', 2])
  const all = ['a', 'b', 'c', 'd'].map((id) => ['load', id])
  assert.equal(await does(['wait', 1], ['save', 'd', 1], ...all, ['rows']), [2, null, 1, 1, [3, 0]])
  // what was deleted leaves room
  assert.equal(await does(['delete', 'c'], ['save', 'b', 5], ...all), [2, 5, null, 1])
})

inWorkerd('a value is set by whoever knows what is there, until it expires', async (t) => {
  const { does } = await start(t)
  const value = ['value', 'k']
  const set = (was: string | null, text: string | null): unknown[] => ['set', 'k', was, text, 1_000]
  assert.equal(await does(set(null, 'one'), set(null, 'two'), value), [true, false, 'one'])
  assert.equal(await does(set('two', 'three'), set('one', 'two'), value), [false, true, 'two'])
  assert.equal(await does(set('two', null), value, set(null, 'four')), [true, null, true])
  assert.equal(await does(['wait', 1_000], value, set('four', 'five'), set(null, 'five')), [
    null,
    false,
    true,
  ])
  const hour = 3_600_000
  assert.equal(await does(['wait', hour], ['set', 'other', null, 'x', 1], ['rows']), [true, [0, 1]])
})

inWorkerd('what is kept is there for another program, with its secret', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'object-'))
  t.after(() => rm(folder, { recursive: true, force: true }))
  const steps = [['secrets'], ['load', 'a'], ['value', 'k']]
  const before = await start(t, folder)
  const [secret] = (await before.does(...steps, ['save', 'a', 7], ['set', 'k', null, 'v', 1e9])) as string[]
  await before.end()
  const after = await start(t, folder)
  assert.equal(await after.does(...steps), [secret, 7, 'v'])
})

test('a storage without SQLite is refused', () => {
  const wrong = (options: unknown) => () => durableObject(options as never)
  assert.throws(
    wrong({ storage: { get() {} } }),
    /durableObject: storage: expected state\.storage of a class in new_sqlite_classes/,
  )
  assert.throws(wrong(undefined), /durableObject: options/)
  assert.throws(wrong({ storage: { sql: { exec() {} } }, keys: ['short'] }), /keys/)
})

test.run()
