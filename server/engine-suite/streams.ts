import { deepEqual, equal } from 'node:assert/strict'
import { type DefineTrial, eventually, limits, long, soon, stream, two } from './trial.js'

export function streamTests(test: DefineTrial): void {
  test('an event log is found at its last place until it expires', async (t) => {
    const [a, b] = await two(t)
    equal(await a.placeOfLog('log'), undefined)
    await a.placeLog('log', 'a', long)
    equal(await b.placeOfLog('log'), 'a')
    await b.placeLog('log', 'b', long)
    equal(await a.placeOfLog('log'), 'b')
    await b.placeLog('log', 'b', soon)
    await eventually(async () => (await a.placeOfLog('log')) === undefined)
  })

  test('a stream returns its entries in order when it is closed', async (t) => {
    const [a, b] = await two(t)
    const first = [
      { number: 1, text: 'one' },
      { number: 2, text: 'two é\u2028' },
    ]
    equal(await a.append(stream, first, limits), true)
    equal(await a.append(stream, [{ number: 7, text: '' }], limits), true)
    const kept = [...first, { number: 7, text: '' }]
    deepEqual(await b.closeStream(stream), kept)
    equal(await a.append(stream, [{ number: 8, text: 'late' }], limits), false)
    deepEqual(await b.closeStream(stream), kept, 'it is asked again when the answer was lost')
  })

  test('an empty stream can be closed as well', async (t) => {
    const [a, b] = await two(t)
    deepEqual(await b.closeStream(stream), [])
    equal(await a.append(stream, [{ number: 1, text: 'late' }], limits), false)
    deepEqual(await b.closeStream(stream), [])
  })

  test('a stream keeps its last entries only', async (t) => {
    const [a] = await two(t)
    const entries = Array.from({ length: 5 }, (_, at) => ({ number: at + 1, text: String(at + 1) }))
    await a.append(stream, entries, { ...limits, maxEntries: 3 })
    await a.append(stream, [{ number: 6, text: '6' }], { ...limits, maxEntries: 3 })
    deepEqual(
      (await a.closeStream(stream)).map(({ number }) => number),
      [4, 5, 6],
    )
  })

  test('a stream expires some time after its last entry', async (t) => {
    const [a] = await two(t)
    const other = { session: 's', stream: 'y' }
    await a.append(stream, [{ number: 1, text: 'one' }], { ...limits, ttl: soon })
    await a.append(stream, [{ number: 2, text: 'two' }], limits)
    await a.append(other, [{ number: 1, text: 'one' }], limits)
    await a.append(other, [{ number: 2, text: 'two' }], { ...limits, ttl: soon })
    await a.placeLog('log', 'a', soon + 1)
    await eventually(async () => (await a.placeOfLog('log')) === undefined)
    equal((await a.closeStream(stream)).length, 2)
    deepEqual(await a.closeStream(other), [])
  })

  test('an append without entries keeps a stream alive', async (t) => {
    const [a] = await two(t)
    await a.append(stream, [{ number: 1, text: 'one' }], { ...limits, ttl: soon })
    equal(await a.append(stream, [], limits), true)
    await a.placeLog('log', 'a', soon + 1)
    await eventually(async () => (await a.placeOfLog('log')) === undefined)
    equal((await a.closeStream(stream)).length, 1)
    equal(await a.append(stream, [], limits), false)
  })

  test('a stream accepts a repeated append', async (t) => {
    const [a] = await two(t)
    const entries = [1, 2].map((number) => ({ number, text: String(number) }))
    equal(await a.append(stream, entries, limits), true)
    equal(await a.append(stream, [...entries, { number: 3, text: '3' }], limits), true)
    const numbers = (await a.closeStream(stream)).map(({ number }) => number)
    deepEqual([...new Set(numbers)], [1, 2, 3])
  })

  test('a dropped stream is forgotten, and no other one', async (t) => {
    const [a, b] = await two(t)
    const others = [
      { session: 's', stream: 'y' },
      { session: 't', stream: 'x' },
    ]
    for (const place of [stream, ...others]) await a.append(place, [{ number: 1, text: 'one' }], limits)
    await b.dropStream(stream)
    deepEqual(await b.closeStream(stream), [])
    for (const place of others) equal((await b.closeStream(place)).length, 1)
    await b.dropStream({ session: 'unknown', stream: 'unknown' })
  })

  test('a stream may be kept for ever', async (t) => {
    const [a, b] = await two(t)
    const endless = { ...limits, ttl: Number.POSITIVE_INFINITY }
    equal(await a.append(stream, [{ number: 1, text: 'one' }], endless), true)
    deepEqual(await b.closeStream(stream), [{ number: 1, text: 'one' }])
  })
}
