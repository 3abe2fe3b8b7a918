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

test('a server is told of eight resources at a time, and callers take turns', async () => {
  const { wants, told, answer } = start()
  for (let n = 0; n < 20; n++) wants.changed(`x:${n}`, 'ada')
  wants.changed('y:1', 'bob')
  wants.changed('y:2', 'bob')
  assert.is(told.length, 8)
  for (let n = 0; n < 4; n++) await answer()
  assert.equal(told.slice(8), ['x:8', 'y:1', 'x:9', 'y:2'])
  for (let n = 0; n < 18; n++) await answer()
  assert.is(told.length, 22)
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
  assert.is(told.length, 10)
})

test.run()
