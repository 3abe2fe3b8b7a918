import * as assert from 'uvu/assert'
import { startClient, startClients } from 'caduceus/client'
import { isRequest } from 'caduceus/protocol'
import { createFakeClock } from 'caduceus/runtime'
import { type ClientTransport, TransportError } from 'caduceus/transports'
import { suite } from '../../support/suite.js'
import { gone } from '../../transports/_processes.js'
import { closeWith } from '../_flaky.js'
import { raw, rejection, watch } from '../_raw.js'

const test = suite('many calls', { timeout: 15_000 })

/** A server that answers when it has been asked `count` times, all at once and in an order of its own. */
function shuffling(count: number): ClientTransport {
  return {
    name: 'shuffling',
    connect(events) {
      const waiting: { readonly id: number | string; readonly text: string }[] = []
      const answer = (id: number | string, result: object): void =>
        events.message(JSON.stringify({ jsonrpc: '2.0', id, result }))
      events.opened()
      return {
        send(_, message) {
          if (!isRequest(message)) return
          const serverInfo = { name: 'shuffling', version: '1' }
          if (message.method !== 'tools/call')
            return answer(message.id, {
              protocolVersion: '2025-11-25',
              capabilities: { tools: {} },
              serverInfo,
            })
          const { text = '' } = (message.params?.arguments ?? {}) as { text?: string }
          if (waiting.push({ id: message.id, text }) < count) return
          // each number is met once, since 7 has no divisor in common with the count
          for (let i = 0; i < count; i++) {
            const one = waiting[(i * 7 + 3) % count]
            if (one !== undefined) answer(one.id, { content: [{ type: 'text', text: one.text }] })
          }
        },
        close: () => events.closed({}),
      }
    },
  }
}

test('S064, S065: 1,000 concurrent calls each get their own answer and leave nothing', async (t) => {
  const clock = createFakeClock()
  const client = startClient({ transport: shuffling(1_000), clock, logger: false })
  t.after(() => closeWith(client, clock))
  await client.ready()
  const texts = Array.from({ length: 1_000 }, (_, i) => `text ${i}`)
  const answers = await Promise.all(texts.map(async (text) => (await client.callTool('echo', { text })).text))
  assert.equal(answers, texts)
  const { inFlight, waiting } = client.inspect()
  assert.equal([inFlight, waiting], [0, 0])
  await closeWith(client, clock)
  assert.is(clock.pending, 0)
})

/** A server that is away once it has been asked `count` times, tells so of each call, and is back at a ping. */
function away(count: number, seen: number[]): ClientTransport {
  return {
    name: 'away',
    connect(events) {
      const lost: (string | number)[] = []
      let isBack = false
      events.opened()
      return {
        send(_, message) {
          if (!isRequest(message)) return
          const { id, method, params } = message
          const answer = (result: object): void =>
            events.message(JSON.stringify({ jsonrpc: '2.0', id, result }))
          const serverInfo = { name: 'away', version: '1' }
          if (method === 'initialize')
            return answer({ protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo })
          isBack ||= method === 'ping'
          if (method === 'ping') return answer({})
          if (isBack) {
            const { n } = (params?.arguments ?? {}) as { n: number }
            seen.push(n)
            return answer({ content: [] })
          }
          if (lost.push(id) < count) return
          for (const each of lost)
            events.lost(each, new TransportError('CONNECT_FAILED', 'refused', { retryable: true }))
        },
        close: () => events.closed({}),
      }
    },
  }
}

test.slow('10,000 calls returned unsent one by one are resent soon and in order', async (t) => {
  const count = 10_000
  const seen: number[] = []
  const { client } = watch(t, { transport: away(count, seen), backoff: { random: () => 0 } })
  await client.ready()
  const order = Array.from({ length: count }, (_, n) => n)
  await Promise.all(order.map((n) => client.callTool('count', { n })))
  assert.equal(seen, order)
})

test.slow('S059, S068: a segmentation fault of one server fails its call only', async (t) => {
  const names = Array.from({ length: 10 }, (_, i) => `s${i}`)
  const entries = Object.fromEntries(names.map((name) => [name, { transport: raw() }]))
  const clients = await startClients(entries, {
    required: 'all',
    logger: false,
    client: { backoff: { base: 1, cap: 1 } },
  })
  t.after(() => clients.close())
  const all = names.map((name) => clients.get(name) as NonNullable<ReturnType<typeof clients.get>>)
  const pids = await Promise.all(all.map(async (client) => Number((await client.callTool('pid')).text)))
  const [victim] = all
  const hanging = rejection(victim?.callTool('hang') ?? Promise.resolve())
  await victim?.ping()
  process.kill(Number(pids[0]), 'SIGSEGV')
  const error = await hanging
  assert.is((error.data as { signal: string }).signal, 'SIGSEGV')
  await gone(Number(pids[0]))
  const after = await Promise.all(all.map(async (client) => Number((await client.callTool('pid')).text)))
  assert.is.not(after[0], pids[0])
  assert.equal(after.slice(1), pids.slice(1))
  assert.equal(
    all.map((client) => client.inspect().counts.sessions),
    [2, 1, 1, 1, 1, 1, 1, 1, 1, 1],
  )
})

test.run()
