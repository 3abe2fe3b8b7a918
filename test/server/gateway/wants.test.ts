import * as assert from 'uvu/assert'
import { Wants } from '../../../server/gateway/wants.js'
import { suite } from '../../support/suite.js'

const test = suite('gateway: wants')

function start() {
  const told: string[] = []
  const open: (() => void)[] = []
  const wants = new Wants({
    tell(uri) {
      told.push(uri)
      return new Promise((resolve) => open.push(resolve))
    },
  })
  const answer = async (): Promise<void> => {
    open.shift()?.()
    await Promise.resolve()
    await Promise.resolve()
  }
  return { wants, told, answer }
}

test('a server is told of four resources of each caller at a time', async () => {
  const { wants, told, answer } = start()
  for (let n = 0; n < 20; n++) wants.changed(`x:${n}`, 'ada')
  assert.is(told.length, 4)
  // whatever one's are waited for, those of another are told of
  wants.changed('y:1', 'bob')
  wants.changed('y:2', 'bob')
  assert.equal(told.slice(4), ['y:1', 'y:2'])
  await answer()
  assert.equal(told.slice(6), ['x:4'])
  for (let n = 0; n < 21; n++) await answer()
  assert.equal([told.length, new Set(told).size], [22, 22])
})

test('of very many callers sixty-four are told of, and then they take turns', async () => {
  const { wants, told, answer } = start()
  for (let n = 0; n < 100; n++) wants.changed(`x:${n}`, `caller ${n}`)
  assert.is(told.length, 64)
  for (let n = 0; n < 100; n++) await answer()
  assert.equal(
    told,
    Array.from({ length: 100 }, (_, n) => `x:${n}`),
  )
})

test('what changes while a server is told of it is told again, once', async () => {
  const { wants, told, answer } = start()
  wants.changed('x:1', 'ada')
  wants.changed('x:1', 'ada')
  wants.changed('x:1', 'bob')
  assert.equal(told, ['x:1'])
  await answer()
  assert.equal(told, ['x:1', 'x:1'])
  await answer()
  assert.is(told.length, 2)
  for (let n = 0; n < 20; n++) wants.changed(`x:${n}`, 'ada')
  wants.end()
  for (let n = 0; n < 20; n++) await answer()
  assert.is(told.length, 6)
})

test.run()
