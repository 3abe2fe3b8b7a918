import * as assert from 'uvu/assert'
import { suite } from '../../support/suite.js'
import { gone } from '../../transports/_processes.js'
import { rejection, watch } from '../_raw.js'

const test = suite('client in a crash loop', { timeout: 10_000 })

test('fault 36: a client in a crash loop restarts up to its intensity, then gives up', async (t) => {
  const reports: string[] = []
  const note = (level: string) => (fields: object, text?: string) =>
    void reports.push(`${level} ${text ?? ''} ${JSON.stringify(fields)}`)
  const logger = { debug: () => {}, info: note('info'), warn: note('warn'), error: note('error') }
  const { client, kill, phase } = watch(t, { intensity: 3, periodMs: 60_000, logger: logger as never })
  const pids: number[] = []
  for (let crash = 0; crash < 4; crash++) {
    await phase('ready')
    pids.push(Number((await client.callTool('pid')).text))
    if (crash === 3) {
      const restarts = client.inspect().tree?.children.map((child) => child.restarts)
      assert.equal(restarts, [3, 3])
    }
    kill(crash % 2 === 0 ? 'client' : 'transport')
  }
  assert.is((await rejection(client.closed)).code, 'GAVE_UP')
  assert.is(client.state.phase, 'failed')
  assert.is(new Set(pids).size, 4)
  await Promise.all(pids.map(gone))
  const gaveUp = reports.filter((report) => /intensity|gave up|given up/i.test(report))
  assert.is(gaveUp.length, 1, reports.join('\n'))
})

test.run()
