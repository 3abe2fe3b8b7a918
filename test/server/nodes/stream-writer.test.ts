import { equal, is } from 'uvu/assert'
import { worldOn } from '../../support/world.js'
import type { Engine, StreamEntry, StreamLimits } from '../../../server/engine/engine.js'
import { Seal } from '../../../server/nodes/seal.js'
import { StreamWriter } from '../../../server/nodes/stream-writer.js'
import { unavailable } from '../../../server/nodes/unavailable.js'
import { suite } from '../../support/suite.js'
import { fakeClock } from 'caduceus/testing'
import { roomy } from '../../transports/http/streams/_logs.js'

const test = suite('what writes event streams to the engine')
const place = { stream: 'c1', sessionId: 's', log: 'here', requestId: 7 }

interface Append {
  readonly entries: readonly StreamEntry[]
  readonly limits: StreamLimits
  readonly answer: (isOpen: boolean) => void
  readonly fail: () => void
}

function startWriter() {
  const clock = fakeClock(1_000_000)
  const appends: Append[] = []
  const append: Engine['append'] = (_place, entries, limits) =>
    new Promise((answer, reject) => {
      appends.push({ entries, limits, answer, fail: () => reject(unavailable('engine', 'away')) })
    })
  const engine = { isUp: true, append } as Partial<Engine> as Engine
  const writer = new StreamWriter({
    world: worldOn(clock),
    seal: new Seal(undefined),
    limits: { ...roomy, maxAge: 60_000 },
    engine: () => engine,
    closed: () => {},
  })
  const event = (number: number): void =>
    writer.event({ type: 'event', stream: 'c1', number, data: `${number}` })
  const next = async (): Promise<Append> => {
    while (appends.length === 0) await clock.advance(1)
    return appends.shift() as Append
  }
  return { clock, writer, event, next, appends }
}

/** What the engine keeps of a stream, when it does each append. */
function keep(kept: readonly StreamEntry[], { entries, limits }: Append): readonly StreamEntry[] {
  return [...kept, ...entries].slice(-limits.maxEntries)
}

test('duplicate entries after a lost answer evict no older ones', async () => {
  const { writer, event, next } = startWriter()
  writer.began({ type: 'began', kind: 'call', ...place })
  for (const number of [1, 2, 3]) event(number)
  const first = await next()
  let kept = keep([], first)
  first.answer(true)
  for (const number of [4, 5, 6]) event(number)
  const second = await next()
  kept = keep(kept, second)
  second.fail()
  await new Promise((resolve) => setImmediate(resolve))
  writer.tend()
  const again = await next()
  kept = keep(kept, again)
  again.answer(true)
  equal(
    [...new Set(kept.map(({ number }) => number))].sort((a, b) => a - b),
    [1, 3, 6, 9, 12, 15, 18],
  )
  event(7)
  const last = await next()
  equal([...new Set(keep(kept, last).map(({ number }) => number))].length, 8)
})

test('a stream has one writer at a time, also for keep-alive writes', async () => {
  const { clock, writer, event, next, appends } = startWriter()
  writer.began({ type: 'began', kind: 'call', ...place })
  const first = await next()
  first.answer(true)
  await clock.advance(31_000)
  writer.tend()
  const keeping = await next()
  is(keeping.entries.length, 0)
  event(1)
  await clock.advance(5)
  is(appends.length, 0)
  keeping.answer(true)
  const { entries } = await next()
  equal(
    entries.map(({ number }) => number),
    [3],
  )
})

test('streams of a log that went are kept for as long as clients may return', async () => {
  const { clock, writer, next, appends } = startWriter()
  writer.began({ type: 'began', kind: 'listen', ...place })
  writer.began({ type: 'began', kind: 'listen', ...place, stream: 'c2', log: 'another' })
  for (const _ of [1, 2]) (await next()).answer(true)
  writer.left('here')
  await clock.advance(31_000)
  writer.tend()
  for (const _ of [1, 2]) (await next()).answer(true)
  await clock.advance(30_000)
  writer.tend()
  const asked: string[] = []
  writer.repeat(({ stream }) => void asked.push(stream))
  equal(asked, ['c2'])
  await clock.advance(31_000)
  writer.tend()
  ;(await next()).answer(true)
  await clock.advance(5)
  is(appends.length, 0)
})

test.run()
