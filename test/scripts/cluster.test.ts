// second tier: redis
// time limit: 180 s
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import * as assert from 'uvu/assert'
import { clusterFaults, faultNames } from '../../scripts/cluster/faults.js'
import { readClusterOptions } from '../../scripts/cluster/options.js'
import { placesOf } from '../../scripts/cluster/plan.js'
import type { ClusterReport } from '../../scripts/cluster/report.js'
import { redisTest } from '../support/redis.js'
import { inRoot, root } from '../support/root.js'
import { suite } from '../support/suite.js'

const test = suite('clusters under faults', { timeout: 150_000 })

redisTest(test, 'a few clients of three nodes lose nothing when a node is killed', async (t) => {
  const args = ['--minutes', '0.2', '--clients', '10', '--seed', '3', '--faults', 'kill', '--json']
  const child = spawn(process.execPath, [inRoot('scripts', 'run.mjs'), 'cluster', ...args], {
    cwd: root,
    signal: t.signal,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  child.on('error', () => {}) // what the signal of the test does
  let said = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    said += text
  })
  const [code] = await once(child, 'close')
  const report = JSON.parse(said.trimEnd().split('\n').at(-1) ?? '') as ClusterReport
  assert.equal(report.violationList, [])
  assert.equal([code, report.clients, report.seed], [0, 10, 3])
  assert.ok((report.faults.kill ?? 0) > 0)
  assert.ok(report.servedAfterKill.count > 0)
  assert.ok((report.outcomes.ok ?? 0) > 20, JSON.stringify(report.outcomes))
})

test('options are parsed, and a wrong one is explained in a sentence', () => {
  const read = (...args: string[]) => readClusterOptions(args, faultNames, () => 7)
  assert.equal(read(), { minutes: 1, clients: 300, seed: 7, faults: faultNames, json: false })
  assert.equal(read('--minutes', '10', '--faults', 'kill,cut', '--json', '--seed', '1', '--clients', '5'), {
    minutes: 10,
    clients: 5,
    seed: 1,
    faults: ['kill', 'cut'],
    json: true,
  })
  assert.match(String(read('--faults', 'kill,rain')), /--faults: rain is none of kill, stall, /)
  assert.match(String(read('--clients', '1')), /--clients: expected a whole number from 5 to 2000, got 1/)
  assert.match(String(read('--minutes', 'long')), /--minutes: expected a number above 0/)
  assert.match(String(read('--what')), /^cluster: /)
})

test('a plan has every kind of client in both eras, and distinct fault names', () => {
  const kinds = new Set(placesOf(10).map(({ kind, era }) => `${kind} ${era}`))
  assert.equal([...kinds].sort(), ['ours modern', 'ours session', 'v1 session', 'v2 modern', 'v2 session'])
  assert.is(new Set(placesOf(300).map(({ name }) => name)).size, 300)
  assert.is(new Set(faultNames).size, clusterFaults.length)
})

test.run()
