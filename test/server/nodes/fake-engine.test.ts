import { equal, is } from 'uvu/assert'
import { fakeEngine } from '../../../scripts/sim/store/engine.js'
import { suite } from '../../support/suite.js'
import { openEngine } from './_open-engine.js'

const test = suite('fake engine')
const facts = { isRetiring: false, sessions: 0, incarnation: 1 }

test('nodes see each other, and what they send', async (t) => {
  const shared = fakeEngine()
  const [one, two] = await Promise.all(
    ['one', 'two'].map(async (name) => (await openEngine(t, shared.at(name), name)).engine),
  )
  if (one === undefined || two === undefined) throw new Error('not open')
  const rang = new Promise<string>((resolve) => two.onBell(resolve))
  await one.beat('one', 1_000, facts)
  const { nodes } = await two.beat('two', 1_000, facts)
  equal(nodes.map(({ name }) => name).sort(), ['one', 'two'])
  is(await one.send('two', 'one', ['a', 'b'], 10), 'taken')
  is(await rang, 'inbox')
  equal(await two.take('two', 10), ['a', 'b'])
})

test.run()
