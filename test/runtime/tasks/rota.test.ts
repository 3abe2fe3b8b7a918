import * as assert from 'uvu/assert'
import { Rota } from '../../../runtime/tasks/rota.js'
import { suite } from '../../support/suite.js'

const test = suite('rota')

/** A rota on a clock that moves with the work, and the turns of the event loop that it asks for. */
function make(anybody?: string, rests = true) {
  const turns: (() => void)[] = []
  const time = { ms: 0, cpu: 0 }
  let timer: { readonly at: number; readonly fn: () => void } | undefined
  const rota = new Rota(
    {
      now: () => time.ms,
      cpu: () => time.cpu,
      setImmediate: (fn: () => void) => turns.push(fn),
      setTimeout(fn: () => void, ms: number) {
        timer = { at: time.ms + ms, fn }
      },
      clearTimeout() {
        timer = undefined
      },
    },
    anybody,
    20,
    rests,
  )
  const run = (ms: number): unknown =>
    rota.run(
      () => 'ada',
      () => work(ms),
    )
  /** The time until the timer that is set; how long that was. */
  const sleep = (): number => {
    const { at = Number.NaN, fn } = timer ?? {}
    const ms = at - time.ms
    timer = undefined
    time.ms = at
    fn?.()
    return ms
  }
  const turn = async (): Promise<void> => {
    turns.shift()?.()
    for (let n = 0; n < 30; n++) await undefined
  }
  const work = (ms: number, cpu = ms): void => {
    time.ms += ms
    time.cpu += cpu
  }
  return { rota, turns, turn, work, run, sleep }
}

test('of pieces that take long one is done in a turn, and callers take turns', async () => {
  const { rota, turns, turn, work, sleep } = make()
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
  const rests: number[] = []
  while (done.length < 6) {
    const before = done.length
    if (turns.length === 0) rests.push(sleep())
    await turn()
    most = Math.max(most, done.length - before)
  }
  assert.equal(done, ['ada 1', 'bob 1', 'eve 1', 'ada 2', 'eve 2', 'ada 3'])
  assert.is(most, 1)
  // three times as long as a piece of theirs took, less what others did meanwhile
  assert.equal(rests, [21, 21, 21])
})

test('after a long piece its caller waits, and nobody else', async () => {
  const { rota, turns, turn, work, sleep } = make()
  const done: string[] = []
  const piece = (name: string, ms: number): void =>
    rota.wait(name, () => {
      work(ms)
      done.push(name)
    })
  rota.run(
    () => 'ada',
    () => work(3_000),
  )
  piece('ada', 1)
  piece('bob', 1)
  while (turns.length > 0) await turn()
  assert.equal(done, ['bob'])
  piece('eve', 1)
  while (turns.length > 0) await turn()
  assert.equal(done, ['bob', 'eve'])
  // five seconds at most
  assert.is(sleep(), 4_998)
  while (turns.length > 0) await turn()
  assert.equal(done, ['bob', 'eve', 'ada'])
  assert.ok(rota.isFree)
})

test('callers that cannot be told apart do not rest for each other', async () => {
  const { rota, turns, turn, work } = make('anybody')
  let done = 0
  for (let n = 0; n < 3; n += 1)
    rota.wait('anybody', () => {
      work(100)
      done += 1
    })
  while (turns.length > 0) await turn()
  assert.equal([done, rota.isFree], [3, true])
})

test('on a machine that is busy otherwise nobody rests for what it did meanwhile', async () => {
  const { rota, turns, turn, work, sleep } = make()
  const piece = (caller: string, ms: number, cpu: number): void =>
    rota.run(
      () => caller,
      () => work(ms, cpu),
    )
  piece('ada', 1_000, 5)
  while (turns.length > 0) await turn()
  assert.ok(rota.isFree)
  for (let n = 0; n < 3; n += 1)
    rota.wait('ada', () => {
      assert.is(turns.length, 0)
      work(400, 3)
    })
  while (turns.length > 0) await turn()
  assert.ok(rota.isFree)
  // its own part counts
  piece('bob', 1_000, 100)
  assert.not(rota.isFree)
  work(299)
  let isDone = false
  rota.wait('bob', () => {
    isDone = true
  })
  await turn()
  assert.not(isDone)
  sleep()
  await turn()
  assert.ok(isDone)
})

test('who has had no company for two seconds does not rest, until there is some', async () => {
  const { rota, turns, turn, work, sleep } = make()
  const done: string[] = []
  const piece = (caller: string, ms: number): void =>
    rota.wait(caller, () => {
      work(ms)
      done.push(caller)
    })
  const ada = async (): Promise<number> => {
    piece('ada', 100)
    let rests = 0
    for (const before = done.length; done.length === before; ) {
      if (turns.length === 0) rests += sleep()
      await turn()
    }
    while (turns.length > 0) await turn()
    return rests
  }
  const rests: number[] = []
  for (let n = 0; n < 30; n += 1) rests.push(await ada())
  assert.equal(rests, [0, 300, 300, 300, 300, 300, ...Array(24).fill(0)])
  piece('bob', 1)
  while (turns.length > 0) await turn()
  assert.equal([await ada(), await ada()], [0, 300])
})

test('nobody who rests keeps a timer, and the next piece finds that they have', async () => {
  const { rota, turns, turn, work, run, sleep } = make()
  run(100)
  while (turns.length > 0) await turn()
  assert.not(rota.isFree)
  assert.ok(Number.isNaN(sleep()))
  const other = make()
  other.run(100)
  other.work(300)
  let isDone = false
  other.rota.wait('ada', () => {
    isDone = true
  })
  while (other.turns.length > 0) await other.turn()
  assert.ok(isDone && other.rota.isFree)
  work(0)
})

test('short pieces share a turn, which is asked for by milliseconds', async () => {
  const { rota, turns, turn, work, run } = make()
  run(0.5)
  assert.is(turns.length, 0)
  let count = 1
  for (; rota.isFree; count += 1) run(0.5)
  assert.equal([count, turns.length], [42, 1])
  await turn()
  assert.equal([rota.isFree, turns.length], [true, 0])
  for (let n = 0; n < 3; n++) run(8)
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
    rota.run(
      () => 'bob',
      () => {
        work(30)
        throw new Error('broken')
      },
    ),
  )
  assert.not(rota.isFree)
  rota.wait('ada', () => work(90))
  rota.flush()
  await turn()
  assert.ok(rota.isFree)
})

test('a piece that is done elsewhere is waited for, a turn at most', async () => {
  const { rota, turns, turn, run } = make('ada')
  const done: string[] = []
  run(30)
  let finish: (() => void) | undefined
  const late = new Promise<void>((resolve) => {
    finish = resolve
  })
  rota.wait('ada', () => Promise.resolve().then(() => done.push('soon')))
  rota.wait('bob', () => late)
  rota.wait('eve', () => void done.push('after'))
  await turn()
  assert.equal(done, ['soon'], 'who waits for the other one waits')
  while (turns.length > 0) await turn()
  assert.equal(done, ['soon', 'after'], 'and goes on in the next turn')
  finish?.()
  assert.ok(rota.isFree)
})

test('one who comes hears whether it would wait too long, as things went lately', async () => {
  const { rota, turns, turn, work, run } = make('ada')
  assert.not(rota.wouldWait('ada', 0))
  run(30)
  let left = 100
  const again = (): void => {
    work(30)
    left -= 1
    if (left > 0) rota.wait('ada', again)
  }
  for (let n = 0; n < 4; n += 1) rota.wait('ada', again)
  while (left > 10) await turn()
  const would = (caller: string, ...all: number[]) => all.map((ms) => rota.wouldWait(caller, ms))
  assert.equal(would('bob', 28, 32), [true, false])
  assert.equal(would('ada', 140, 160), [true, false])
  while (turns.length > 0) await turn()
  assert.equal([...would('bob', 0), ...would('ada', 0)], [false, false])
})

test('who comes after one stop of the event loop is not refused', async () => {
  const { rota, turns, turn, work, run } = make('ada')
  run(30)
  for (let n = 0; n < 10; n += 1) rota.wait('ada', () => work(1))
  work(3_000)
  await turn()
  rota.wait('ada', () => work(1))
  assert.not(rota.wouldWait('ada', 10_000))
  while (turns.length > 0) await turn()
})

test('where nobody rests, long pieces follow each other', async () => {
  const { rota, turns, turn, work, sleep } = make(undefined, false)
  let done = 0
  for (const caller of ['ada', 'bob', 'ada', 'bob'])
    rota.wait(caller, () => {
      work(100)
      done += 1
    })
  while (turns.length > 0) await turn()
  assert.equal([done, Number.isNaN(sleep())], [4, true])
})

test.run()
