import * as assert from 'uvu/assert'
import { createFakeClock } from 'caduceus/runtime'
import { http } from 'caduceus/transports'
import { suite } from '../../support/suite.js'
import { json, listen, polite, result, type Seen, status } from '../../transports/_http.js'
import { rejection, watch } from '../_raw.js'

const test = suite('retries of calls')

const tools = [{ name: 'looks', inputSchema: { type: 'object' }, annotations: { readOnlyHint: true } }]

/** A server that refuses the first calls, and answers the rest. */
async function refusing(t: Parameters<typeof watch>[0], refusals: number, headers = {}, code = 503) {
  const made: Seen[] = []
  const { url } = await listen(
    t,
    polite((one) => {
      if (one.message.method === 'tools/list') return json(one, result(one, { tools }))
      made.push(one)
      if (made.length <= refusals) return status(one, code, headers)
      json(one, result(one, { content: [{ type: 'text', text: 'done' }], contents: [] }))
    }),
  )
  return { made, transport: http(url, { stream: false }) }
}

test('a read-only call is retried after 503 as often and as long as its policy says', async (t) => {
  const { made, transport } = await refusing(t, 2)
  const { client } = watch(t, { transport })
  const failed: number[] = []
  const backoff = (attempt: number): number => {
    failed.push(attempt)
    return 1
  }
  await client.readResource('a:b', { retry: { attempts: 3, backoff } })
  assert.equal([failed, made.length, client.inspect().counts.repeated], [[1, 2], 3, 2])
  made.length = 0
  const error = await rejection(client.readResource('a:b', { retry: { attempts: 2, backoff } }))
  assert.equal([error.code, error.retryable, made.length], ['REQUEST_FAILED', true, 2])
})

test('a tool is retried only if it is listed as safe or its caller allows it', async (t) => {
  const { made, transport } = await refusing(t, 100)
  const retry = { attempts: 3, backoff: () => 0 }
  const { client } = watch(t, { transport, retry })
  const counts: number[] = []
  const count = async (name: string, options = {}): Promise<void> => {
    made.length = 0
    await rejection(client.callTool(name, {}, options))
    counts.push(made.length)
  }
  await count('looks')
  await client.listTools()
  await count('looks')
  await count('changes')
  await count('changes', { retry: { ...retry, safe: true } })
  await count('looks', { retry: 'never' })
  assert.equal(counts, [1, 3, 1, 3, 1])
})

test('an error that a retry cannot change is not retried', async (t) => {
  const { made, transport } = await refusing(t, 100, {}, 403)
  const { client } = watch(t, { transport })
  await rejection(client.callTool('any', {}, { retry: { safe: true, backoff: () => 0 } }))
  assert.is(made.length, 1)
})

test('a retry waits for Retry-After within the deadline of the call', async (t) => {
  const { made, transport } = await refusing(t, 1, { 'retry-after': '2' })
  const clock = createFakeClock()
  const { client } = watch(t, { transport, clock })
  await client.ready()
  const retry = { safe: true, backoff: () => 10 }
  const call = client.callTool('any', {}, { retry })
  while (client.inspect().counts.repeated === 0) await new Promise(setImmediate)
  await clock.advance(1_900)
  assert.is(made.length, 1)
  await clock.advance(200)
  assert.is((await call).text, 'done')
  made.length = 0
  const error = await rejection(client.callTool('any', {}, { retry, timeout: 1_000 }))
  assert.equal([error.code, made.length], ['REQUEST_FAILED', 1])
})

test('all retries share one budget, and a call that waits to retry can be aborted', async (t) => {
  const { made, transport } = await refusing(t, 100)
  const clock = createFakeClock()
  const { client } = watch(t, { transport, clock, retryBudget: { perMinute: 2 } })
  await client.ready()
  await rejection(client.callTool('any', {}, { retry: { attempts: 9, safe: true, backoff: () => 0 } }))
  assert.is(made.length, 3)
  await clock.advance(60_000)
  const controller = new AbortController()
  const retry = { safe: true, backoff: () => 50_000 }
  const call = rejection(client.callTool('any', {}, { retry, signal: controller.signal }))
  while (client.inspect().counts.repeated < 3) await new Promise(setImmediate)
  controller.abort()
  const error = await call
  assert.equal([error.code, error.data], ['CANCELLED', { sent: true }])
})

test('closing the client rejects a call that waits for its retry at once', async (t) => {
  const { transport } = await refusing(t, 1)
  const { client } = watch(t, { transport })
  let isAsked = (): void => {}
  const asked = new Promise<void>((resolve) => {
    isAsked = resolve
  })
  const backoff = (): number => {
    isAsked()
    return 20_000
  }
  const failed = rejection(client.readResource('a:b', { retry: { attempts: 2, backoff } }))
  await asked
  await client.close()
  assert.is((await failed).code, 'CLOSED')
})

test('a wrong retry policy is refused in the caller, before anything is sent', async (t) => {
  const { transport } = await refusing(t, 0)
  const { client } = watch(t, { transport })
  for (const [retry, field] of [
    ['often', 'retry'],
    [{ attempts: 0 }, 'retry.attempts'],
    [{ attempts: 1.5 }, 'retry.attempts'],
    [{ backoff: 100 }, 'retry.backoff'],
    [{ safe: 'yes' }, 'retry.safe'],
  ] as const) {
    const error = await rejection(client.callTool('any', {}, { retry: retry as never }))
    assert.equal([error.code, (error.data as { field: string }).field], ['BAD_OPTION', field])
  }
})

test.run()
