// second tier: time
import { suite } from '../../support/suite.js'
import { clientsSuite } from './_clients-suite.js'
import { startFake } from './_servers.js'

const test = suite('clients of three nodes over the simulated engine', { timeout: 20_000 })

clientsSuite(test, async () => startFake().wayTo)

test.run()
