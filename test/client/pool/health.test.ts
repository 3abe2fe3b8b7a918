import * as assert from 'uvu/assert'
import { type PoolEvent, startClientPool } from 'caduceus/client'
import { isRequest } from 'caduceus/protocol'
import { createFakeClock } from 'caduceus/runtime'
import type { ClientTransport } from 'caduceus/transports'
import { heard } from '../../support/heard.js'
import { suite } from '../../support/suite.js'
import { startProgramPool } from './_pool.js'

const test = suite('health of a pool')

test.slow(
  'a frozen server gets no calls until it answers again',
  async (t) => {
    const { pool, event } = await startProgramPool(t, { size: 2, health: { every: 300, misses: 2 } })
    const frozen = await pool.transaction(async (client) => ({
      name: client.name,
      pid: Number((await client.callTool('pid')).text),
    }))
    t.after(() => process.kill(frozen.pid, 'SIGCONT'))
    process.kill(frozen.pid, 'SIGSTOP')
    const { reason } = await event('unhealthy', frozen.name)
    assert.match(reason?.message ?? '', 'ping: no answer within 300 ms')
    const status = () => pool.members().find(({ name }) => name === frozen.name)
    assert.is(status()?.status, 'unhealthy')
    assert.is(status()?.misses, 2)
    for (let call = 0; call < 4; call++) assert.is.not(Number((await pool.callTool('pid')).text), frozen.pid)
    process.kill(frozen.pid, 'SIGCONT')
    await event('healthy', frozen.name)
    const seen = new Set<number>()
    while (!seen.has(frozen.pid)) seen.add(Number((await pool.callTool('pid')).text))
    assert.is(status()?.state?.attempt, 0)
  },
  { timeout: 20_000 },
)

/** A transport that answers what it is asked, `ping` only while `answers` is true. */
function quiet() {
  const asked: string[] = []
  const facts = { answers: true, refuses: false }
  const serverInfo = { name: 'quiet', version: '1' }
  const greeting = { protocolVersion: '2025-11-25', capabilities: {}, serverInfo }
  const transport: ClientTransport = {
    name: 'quiet',
    connect(events) {
      events.opened()
      return {
        send(_, message) {
          if (!isRequest(message)) return
          const { id, method } = message
          asked.push(method)
          if (method === 'ping' && !facts.answers) return
          const error = { code: -32601, message: 'no such method' }
          const refused = method === 'ping' && facts.refuses
          const answer = refused ? { error } : { result: method === 'initialize' ? greeting : {} }
          events.message(JSON.stringify({ jsonrpc: '2.0', id, ...answer }))
        },
        close: () => events.closed({}),
      }
    },
  }
  const pings = (): number => asked.filter((method) => method === 'ping').length
  return { transport, facts, pings }
}

test('a member is out after so many missed health checks in a row, and not before', async (t) => {
  const clock = createFakeClock()
  const { transport, facts, pings } = quiet()
  const starting = startClientPool({
    transport,
    size: 1,
    clock,
    logger: false,
    health: { every: 1_000, misses: 3 },
  })
  await clock.advance(0)
  const pool = await starting
  t.after(() => pool.close())
  const events = heard<PoolEvent>()
  pool.onEvent(events.add)
  await clock.advance(5_000)
  assert.is(pings(), 5)
  facts.answers = false
  await clock.advance(1_000)
  facts.answers = true
  await clock.advance(3_000)
  assert.equal(events.all, [])
  facts.answers = false
  await clock.advance(5_000)
  assert.equal(
    events.all.map(({ type }) => type),
    ['unhealthy'],
  )
  facts.answers = true
  await clock.advance(2_000)
  assert.equal(
    events.all.map(({ type }) => type),
    ['unhealthy', 'healthy'],
  )
  const closed = pool.close()
  await clock.advance(100)
  await closed
})

test('a server that refuses ping counts as alive', async (t) => {
  const clock = createFakeClock()
  const { transport, facts, pings } = quiet()
  facts.refuses = true
  const starting = startClientPool({
    transport,
    size: 1,
    clock,
    logger: false,
    health: { every: 1_000, misses: 1 },
  })
  await clock.advance(0)
  const pool = await starting
  t.after(() => pool.close())
  await clock.advance(10_000)
  assert.is(pings(), 10)
  assert.is(pool.members()[0]?.status, 'ready')
  const closed = pool.close()
  await clock.advance(100)
  await closed
})

test.run()
