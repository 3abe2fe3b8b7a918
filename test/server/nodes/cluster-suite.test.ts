// second tier: time
import { fakeEngine } from '../../../scripts/sim/store/engine.js'
import { suite } from '../../support/suite.js'
import { startNodes } from '../cluster/_nodes.js'
import { clusterDefinition, clusterSuite } from './_cluster-suite.js'
import { startEngineNodes } from './_nodes.js'

const three = [clusterDefinition, clusterDefinition, clusterDefinition]

const hosted = suite('cluster of the processes of one program', { timeout: 15_000 })
clusterSuite(hosted, async (t, limits) => {
  const { nodes } = await startNodes(t, three, { limits })
  return nodes.map((node) => ({ ...node, kill: () => node.ref.kill() }))
})
hosted.run()

const fake = suite('cluster over the simulated engine', { timeout: 15_000 })
clusterSuite(fake, async (t, limits) => {
  const engine = fakeEngine({ lease: 1_000 })
  return startEngineNodes(t, three, (name) => engine.at(name), { limits })
})
fake.run()
