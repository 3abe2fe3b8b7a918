import * as assert from 'uvu/assert'
import { Rota } from '../../../runtime/tasks/rota.js'
import { suite } from '../../support/suite.js'

const test = suite('rota')

/** A rota on a clock that moves with the work, and the turns of the event loop that it asks for. */
function make() {
  const turns: (() => void)[] = []
  const time = { ms: 0 }
  const rota = new Rota({ now: () => time.ms, setImmediate: (fn: () => void) => turns.push(fn) })
  const turn = async (): Promise<void> => {
    turns.shift()?.()
    for (let n = 0; n < 30; n++) await undefined
  }
  const work = (ms: number): void => {
    time.ms += ms
  }
  return { rota, turns, turn, work }
}

test('of pieces that take long one is done in a turn, and callers take turns', async () => {
  const { rota, turns, turn, work } = make()
  const done: string[] = []
  for (const [caller, count] of [
    ['ada', 3],
    ['bob', 1],
    ['eve', 2],
  ] as const)
    for (let n = 1; n <= count; n++)
      void rota.next(caller).then(() => {
        work(21)
        done.push(`${caller} ${n}`)
      })
  let most = 0
  while (turns.length > 0) {
    const before = done.length
    await turn()
    most = Math.max(most, done.length - before)
  }
  assert.equal(done, ['ada 1', 'bob 1', 'eve 1', 'ada 2', 'eve 2', 'ada 3'])
  assert.is(most, 1)
  // and again, when all have had theirs
  const next = rota.next('ada')
  await turn()
  await next
  assert.is(turns.length, 0)
})

test('short pieces share a turn, and nobody is asked for one while there is time', async () => {
  const { rota, turns, turn, work } = make()
  for (let n = 0; n < 1_000; n++) assert.is(rota.isFree && rota.run(() => work(0.5)), undefined)
  assert.is(turns.length, 0)
  for (let n = 0; n < 3; n++) rota.run(() => work(8))
  assert.equal([rota.isFree, turns.length], [false, 1])
  let done = 0
  for (let n = 0; n < 10; n++)
    rota.wait('ada', () => {
      work(4)
      done += 1
    })
  await turn()
  assert.equal([done, rota.isFree, turns.length], [6, false, 1])
  await turn()
  assert.equal([done, rota.isFree, turns.length], [10, true, 0])
  assert.throws(() =>
    rota.run(() => {
      work(30)
      throw new Error('broken')
    }),
  )
  assert.not(rota.isFree)
  rota.wait('ada', () => work(0))
  rota.flush()
  await turn()
  assert.ok(rota.isFree)
})

test.run()
