// time limit: 180 s
import { suite } from '../../support/suite.js'
import { startFake } from './_servers.js'
import { threeNodesSuite } from './_three-suite.js'

const test = suite('three nodes over the simulated engine', { timeout: 20_000 })

threeNodesSuite(test, async () => startFake().wayTo)

test.run()
