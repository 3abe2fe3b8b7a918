// second tier: time
// shares a process
import type { AddressInfo } from 'node:net'
import * as assert from 'uvu/assert'
import { type ServerEntry, startClients } from 'caduceus/client'
import { http } from 'caduceus/transports'
import { heard } from '../../support/heard.js'
import { suite } from '../../support/suite.js'
import { end, json, listen, polite, result } from '../../transports/_http.js'

const test = suite('a reconnect storm', { timeout: 50_000 })
const many = 1_000

test('a thousand clients reconnect to a restarted server spread out, within 30 s', async (t) => {
  const answer = polite((seen) => json(seen, result(seen, {})))
  const first = await listen(t, answer)
  const { port } = first.server.address() as AddressInfo
  // Without an event stream a client finds out with its next call that its server is gone.
  const entry: ServerEntry = { transport: http(first.url, { stream: false }) }
  const entries = Object.fromEntries(Array.from({ length: many }, (_, index) => [`c${index}`, entry]))
  const clients = await startClients(entries, { required: 'all', logger: false })
  t.after(() => clients.close())
  const lost = new Set<string>()
  const allLost = heard<true>()
  const delays: number[] = []
  const waited = new Map<string, number>()
  clients.onState((name, { delay, attempt }) => {
    if (delay === undefined) return
    waited.set(name, (waited.get(name) ?? 0) + delay)
    if (lost.has(name)) return
    // on a busy machine one may have needed a second attempt before all this
    if (attempt === 1) delays.push(delay)
    lost.add(name)
    if (lost.size === many) allLost.add(true)
  })
  await end(first.server)
  const calls = [...clients].map(([, client]) => client.ping())
  await allLost.next()
  await listen(t, answer, port)
  await Promise.all(calls)
  const longest = Math.max(...waited.values())
  assert.ok(longest < 30_000, `one waited ${longest} ms`)
  // Full jitter below the first ceiling of 500 ms: each tenth of it has about a tenth of the clients.
  const tenths = Array.from(
    { length: 10 },
    (_, tenth) => delays.filter((ms) => Math.floor(ms / 50) === tenth).length,
  )
  assert.ok(Math.max(...tenths) < delays.length / 5, `the first waits bunch together: ${tenths.join(', ')}`)
})

test.run()
