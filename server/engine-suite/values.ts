import { deepEqual, equal } from 'node:assert/strict'
import { type DefineTrial, eventually, long, soon, two } from './trial.js'

/** What all nodes keep under a key. */
export function valueTests(test: DefineTrial): void {
  test('a value is set by whoever says what it replaces, and read by all', async (t) => {
    const [a, b] = await two(t)
    equal(await b.value('key'), undefined)
    equal(await a.setValue('key', undefined, 'one', long), true)
    equal(await b.value('key'), 'one')
    equal(await b.setValue('key', undefined, 'two', long), false)
    equal(await b.setValue('key', 'other', 'two', long), false)
    equal(await a.value('key'), 'one')
    equal(await b.setValue('key', 'one', 'two', long), true)
    equal(await a.value('key'), 'two')
    equal(await a.value('other'), undefined)
  })

  test('a value is deleted by whoever says what it was', async (t) => {
    const [a, b] = await two(t)
    await a.setValue('key', undefined, 'one', long)
    equal(await b.setValue('key', 'two', undefined, long), false)
    equal(await b.setValue('key', 'one', undefined, long), true)
    equal(await a.value('key'), undefined)
    equal(await a.setValue('key', 'one', 'two', long), false)
    equal(await a.setValue('key', undefined, undefined, long), true)
  })

  test('of nodes that replace a value at once, one does', async (t) => {
    const [a, b] = await two(t)
    await a.setValue('key', undefined, '0', long)
    const all = Array.from({ length: 20 }, (_, at) =>
      [a, b][at % 2]?.setValue('key', '0', String(at + 1), long),
    )
    const done = await Promise.all(all)
    deepEqual(
      done.filter((isSet) => isSet),
      [true],
    )
    equal(await b.value('key'), String(done.indexOf(true) + 1))
  })

  test('a value expires, and another may be set', async (t) => {
    const [a, b] = await two(t)
    await a.setValue('key', undefined, 'one', soon)
    await eventually(async () => (await b.value('key')) === undefined)
    equal(await b.setValue('key', undefined, 'two', long), true)
  })
}
