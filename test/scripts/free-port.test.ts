import * as assert from 'uvu/assert'
import { freePort } from '../support/free-port.js'
import { suite } from '../support/suite.js'

const test = suite('free ports')

test('ports that are asked for at once are different ones, below those of the system', async () => {
  const ports = await Promise.all(Array.from({ length: 20 }, freePort))
  assert.is(new Set(ports).size, 20)
  for (const port of ports) assert.ok(port >= 15_000 && port < 30_000)
})

test.run()
