import * as assert from 'uvu/assert'
import { createFakeClock } from 'caduceus/runtime'
import { http } from 'caduceus/transports'
import { suite } from '../../support/suite.js'
import {
  end,
  greet,
  json,
  listen,
  polite,
  result,
  type Seen,
  status,
  stream,
} from '../../transports/_http.js'
import { modern, refuse, stateless, tool } from '../_modern.js'
import { rejection, watch } from '../_raw.js'

const test = suite('the era of a server over http')
const slow = { base: 60_000, cap: 60_000, random: () => 1 }

function asked({ all }: { readonly all: readonly Seen[] }): readonly string[] {
  return all.filter(({ method }) => method === 'POST').map(({ message }) => String(message.method))
}

/** Refusals of a probe that no modern server gives, and after which the handshake is tried (protocol.md 2.4). */
for (const [what, refusal] of [
  ['400 with an error of its own', (seen: Seen) => refuse(seen, -32000, 400)],
  ['400 without a body', (seen: Seen) => status(seen, 400)],
  ['404 without a body', (seen: Seen) => status(seen, 404)],
  ['405', (seen: Seen) => status(seen, 405)],
  ['404 with -32601', (seen: Seen) => refuse(seen, -32601, 404)],
  ['200 with -32601', (seen: Seen) => refuse(seen, -32601, 200)],
  [
    '-32022 with older revisions only',
    (seen: Seen) => refuse(seen, -32022, 400, { supported: ['2025-11-25'] }),
  ],
  ['-32022 without a list', (seen: Seen) => refuse(seen, -32022, 400, {})],
] as const) {
  test(`probe refused with ${what}: a handshake, and no later probe`, async (t) => {
    const { url, seen } = await listen(t, (one) => {
      if (one.message.method === 'server/discover') return refusal(one)
      return polite((other) => json(other, result(other, {})))(one)
    })
    const { client, kill, phase } = watch(t, { transport: http(url), era: 'auto' })
    await client.ping()
    assert.is(client.server?.revision, '2025-11-25')
    const [probe] = seen.all
    assert.is(probe?.headers['mcp-protocol-version'], modern)
    assert.is(probe?.headers['mcp-method'], 'server/discover')
    assert.is(typeof probe?.message.id, 'string')
    kill('client')
    await phase('ready')
    await client.ping()
    assert.is(asked(seen).filter((method) => method === 'server/discover').length, 1)
    assert.is(asked(seen).filter((method) => method === 'initialize').length, 2)
  })
}

for (const [what, outage] of [
  ['500', (seen: Seen) => status(seen, 500)],
  ['503 with a JSON-RPC error', (seen: Seen) => refuse(seen, -32603, 503)],
  ['429', (seen: Seen) => status(seen, 429)],
  ['429 with a JSON-RPC error', (seen: Seen) => refuse(seen, -32000, 429)],
  ['a connection that breaks', (seen: Seen) => seen.response.destroy()],
] as const) {
  test(`an outage in the probe (${what}) is probed again`, async (t) => {
    let broken = true
    const { url, seen } = await listen(t, (one) => (broken ? outage(one) : stateless()(one)))
    const { client, states } = watch(t, { transport: http(url), era: 'auto', backoff: { base: 50, cap: 50 } })
    await states.next(({ reason }) => reason !== undefined)
    broken = false
    await client.ready()
    assert.is(client.server?.revision, modern)
    assert.not.ok(asked(seen).includes('initialize'))
  })
}

test('a probe that times out counts as an outage, and the error names it', async (t) => {
  const clock = createFakeClock()
  const { url, seen } = await listen(t, () => {})
  const options = { era: 'auto', handshakeTimeout: 100, backoff: slow, clock } as const
  const { states } = watch(t, { transport: http(url), ...options })
  await seen.next()
  await clock.advance(100)
  const { reason } = await states.next((state) => state.reason !== undefined)
  assert.match(reason?.message ?? '', 'the answer to server/discover did not come within 100 ms')
  assert.equal(asked(seen), ['server/discover'])
})

for (const code of [401, 403]) {
  test(`a probe refused with ${code} asks for authorization and leaves the era open`, async (t) => {
    const { url, seen } = await listen(t, (one) => status(one, code))
    const { client } = watch(t, { transport: http(url), era: 'auto' })
    const error = await rejection(client.ready())
    assert.match(error.message, String(code))
    assert.equal(asked(seen), ['server/discover'])
  })
}

test('a modern server gets envelope and headers, no session, stream or DELETE', async (t) => {
  const { url, seen } = await listen(
    t,
    stateless((one) => tool(one, 'hello')),
  )
  const { client } = watch(t, { transport: http(url), era: 'auto' })
  assert.is((await client.callTool('grüße', { x: 1 })).text, 'hello')
  assert.equal(client.server?.info, { name: 'modern', version: '3' })
  const call = seen.all.find(({ message }) => message.method === 'tools/call')
  assert.is(call?.headers['mcp-protocol-version'], modern)
  assert.is(call?.headers['mcp-method'], 'tools/call')
  assert.is(call?.headers['mcp-name'], `=?base64?${Buffer.from('grüße').toString('base64')}?=`)
  assert.is(call?.headers['mcp-session-id'], undefined)
  await client.close()
  assert.equal(
    seen.all.map(({ method }) => method),
    ['POST', 'POST'],
  )
})

test('a probe refused for its revision is repeated, and the second answer decides', async (t) => {
  let probes = 0
  const { url, seen } = await listen(t, (one) => {
    if (one.message.method !== 'server/discover') return
    probes += 1
    if (probes === 1) refuse(one, -32022, 400, { supported: [modern], requested: modern })
    else stateless()(one)
  })
  const { client } = watch(t, { transport: http(url), era: 'auto' })
  await client.ready()
  assert.equal(asked(seen), ['server/discover', 'server/discover'])
})

test('a call refused for its revision is made again, once', async (t) => {
  let refusals = 1
  const { url, seen } = await listen(
    t,
    stateless((one) => {
      if (refusals-- > 0) refuse(one, -32022, 400, { supported: [modern], requested: modern })
      else tool(one, 'at last')
    }),
  )
  const { client } = watch(t, { transport: http(url), era: 'modern' })
  assert.is((await client.callTool('any')).text, 'at last')
  const ids = seen.all
    .filter(({ message }) => message.method === 'tools/call')
    .map(({ message }) => message.id)
  assert.is(new Set(ids).size, 2)
})

test('a server that drops the revision is probed again and used in the other era', async (t) => {
  let updated = false
  const { url } = await listen(t, (one) => {
    if (!updated) {
      return stateless((call) => {
        updated = true
        refuse(call, -32022, 400, { supported: ['2025-11-25'] })
      })(one)
    }
    if (one.message.method === 'server/discover') return refuse(one, -32601, 404)
    return polite((call) => tool(call, 'older'))(one)
  })
  const { client } = watch(t, { transport: http(url), era: 'auto', backoff: slow })
  assert.is((await rejection(client.callTool('any'))).code, -32022)
  assert.is((await client.callTool('any')).text, 'older')
  assert.is(client.server?.revision, '2025-11-25')
})

for (const [what, refusal] of [
  ['names the newer revision (-32022)', (seen: Seen) => refuse(seen, -32022, 400, { supported: [modern] })],
  ['does not know the method (-32601)', (seen: Seen) => refuse(seen, -32601, 404)],
] as const)
  test(`handshake refused, ${what}: modern, and at once later`, async (t) => {
    const { url, seen } = await listen(t, (one) =>
      one.message.method === 'initialize' ? refusal(one) : stateless((call) => tool(call, 'newer'))(one),
    )
    const { client, kill, phase } = watch(t, { transport: http(url) })
    assert.is((await client.callTool('any')).text, 'newer')
    assert.is(client.server?.revision, modern)
    kill('client')
    await phase('ready')
    assert.is((await client.callTool('any')).text, 'newer')
    assert.equal(asked(seen), [
      ...['initialize', 'server/discover', 'tools/call'],
      ...['server/discover', 'tools/call'],
    ])
  })

test('by default, a server that moves from the modern era to handshakes is followed', async (t) => {
  let older = false
  const { url } = await listen(t, (one) => {
    const { method } = one.message
    if (!older) return method === 'initialize' ? refuse(one, -32601, 404) : stateless()(one)
    if (method === 'server/discover') return refuse(one, -32601, 404)
    return polite((call) => tool(call, 'older'))(one)
  })
  const { client, kill, phase } = watch(t, { transport: http(url) })
  await client.ready()
  older = true
  kill('client')
  await phase('ready')
  assert.is((await client.callTool('any')).text, 'older')
  assert.is(client.server?.revision, '2025-11-25')
})

test('a client set to handshakes does not probe a server that has one', async (t) => {
  const { url, seen } = await listen(
    t,
    polite((one) => json(one, result(one, {}))),
  )
  const { client } = watch(t, { transport: http(url) })
  await client.ping()
  assert.equal(asked(seen).slice(0, 1), ['initialize'])
})

for (const how of ['json', 'stream'] as const) {
  test(`an aborted call closes its response (${how}) without a notification`, async (t) => {
    const { url, seen } = await listen(
      t,
      stateless((one) => (how === 'stream' ? stream(one) : undefined)),
    )
    const { client } = watch(t, { transport: http(url), era: 'modern' })
    await client.ready()
    const controller = new AbortController()
    const call = rejection(client.callTool('hang', {}, { signal: controller.signal }))
    const { response } = await seen.next(({ message }) => message.method === 'tools/call')
    const closed = new Promise((resolve) => response.once('close', resolve))
    controller.abort()
    assert.is((await call).code, 'CANCELLED')
    await closed
    assert.equal(asked(seen), ['server/discover', 'tools/call'])
  })
}

test('an unreachable server is pinged in its own era', async (t) => {
  const first = await listen(
    t,
    stateless((one) => tool(one, 'one')),
  )
  const { client, states } = watch(t, {
    transport: http(first.url),
    era: 'auto',
    backoff: { base: 20, cap: 20 },
  })
  await client.ready()
  const port = Number(new URL(first.url).port)
  await end(first.server)
  const call = client.callTool('any')
  await states.next(({ reason }) => reason !== undefined)
  const second = await listen(
    t,
    stateless((one) => tool(one, 'two')),
    port,
  )
  assert.is((await call).text, 'two')
  assert.equal(asked(second.seen), ['server/discover', 'tools/call'])
})

for (const [what, value, message] of [
  ['an unknown type of result', { resultType: 'weird' }, /resultType/],
  ['a task without an id', { resultType: 'task', content: [] }, /taskId/],
  ['questions without anything in them', { resultType: 'input_required' }, /inputRequests or requestState/],
] as const) {
  test(`${what} is an invalid answer in the modern era`, async (t) => {
    const { url } = await listen(
      t,
      stateless((one) => json(one, result(one, value))),
    )
    const { client } = watch(t, { transport: http(url), era: 'modern' })
    const error = await rejection(client.callTool('any'))
    assert.is(error.code, 'INVALID_RESPONSE')
    assert.match(error.message, message)
  })
}

test('a list with questions is invalid; a result without a type is complete', async (t) => {
  const { url } = await listen(
    t,
    stateless((one) => {
      if (one.message.method === 'tools/list')
        json(one, result(one, { resultType: 'input_required', requestState: 'x' }))
      else json(one, result(one, { content: [] }))
    }),
  )
  const { client } = watch(t, { transport: http(url), era: 'modern' })
  assert.is((await rejection(client.listTools())).code, 'INVALID_RESPONSE')
  assert.equal((await client.callTool('any')).content, [])
})

test('resultType is ignored in handshake revisions', async (t) => {
  const { url } = await listen(t, (one) => {
    if (one.message.method === 'initialize') return greet(one)
    return polite((call) => tool(call, 'fine', { resultType: 'weird' }))(one)
  })
  const { client } = watch(t, { transport: http(url) })
  assert.is((await client.callTool('any')).text, 'fine')
})

test.run()
