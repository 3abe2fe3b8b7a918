import { type FakeEngine, fakeEngine } from '../../../scripts/sim/store/engine.js'
import { suite } from '../../support/suite.js'
import { type EngineBench, engineSuite } from './_engine-suite.js'

const test = suite('fake engine')

engineSuite(test, () => benchOf(fakeEngine()))

test.run()

function benchOf(engine: FakeEngine): EngineBench {
  let places = 0
  return {
    at: () => {
      places += 1
      return engine.at(`machine ${places}`)
    },
    stop: () => engine.stop(),
    start: () => engine.start({ wiped: true }),
    freeze: () => engine.freeze(),
    thaw: () => engine.thaw(),
    wipe: () => engine.wipe(),
  }
}
