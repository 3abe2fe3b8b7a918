import { readFile } from 'node:fs/promises'
import { get } from 'node:http'
import * as assert from 'uvu/assert'
import { startClient } from 'caduceus/client'
import { defineServer, defineTool, startServer, ToolError } from 'caduceus/server'
import { http, serveHttp } from 'caduceus/transports'
import { freePort } from '../../support/free-port.js'
import { inRoot } from '../../support/root.js'
import { suite, type TestContext } from '../../support/suite.js'

const test = suite('metrics for Prometheus')

/** Reads the text format strictly: what is told before it is named, or told twice, is an error. */
function parse(text: string): Map<string, number> {
  assert.ok(text.endsWith('\n'))
  const types = new Map<string, string>()
  const values = new Map<string, number>()
  for (const line of text.trimEnd().split('\n')) {
    const [, named, type] = /^# TYPE ([a-z_]+) (counter|gauge|histogram)$/.exec(line) ?? []
    if (named !== undefined && type !== undefined) {
      assert.not.ok(types.has(named), line)
      types.set(named, type)
      continue
    }
    if (/^# HELP [a-z_]+ \S.*$/.test(line)) continue
    const [, name = '', labels = '', value] =
      /^([a-z_]+)(\{(?:[a-z_]+="(?:[^"\\\n]|\\["\\n])*",?)+\})? (\S+)$/.exec(line) ?? []
    const family = types.get(name) === undefined ? name.replace(/_(?:bucket|sum|count)$/, '') : name
    assert.ok(types.has(family), `${line} was not named before`)
    assert.not.ok(values.has(name + labels), `twice: ${line}`)
    assert.ok(Number.isFinite(Number(value)), line)
    values.set(name + labels, Number(value))
  }
  return values
}

async function open(t: TestContext, metrics = true) {
  const boom = defineTool({
    run() {
      throw new Error('boom')
    },
  })
  const refuse = defineTool({
    run() {
      throw new ToolError('no')
    },
  })
  const tools = { ok: defineTool({ run: () => 'ok' }), boom, refuse }
  const server = await startServer(defineServer({ name: 'the "shop"', version: '1', tools }), {
    transport: serveHttp({ port: 0, metrics, limits: { messageBytes: 100_000 } }),
    logger: false,
  })
  t.after(() => server.stop())
  const client = startClient({
    name: 'orders',
    transport: http(server.url ?? ''),
    era: 'handshake',
    logger: false,
  })
  t.after(() => client.close())
  const { origin } = new URL(server.url ?? '')
  return { client, origin, scrape: async () => parse(await (await fetch(`${origin}/metrics`)).text()) }
}

test('requests, calls, sessions and crashes are counted, with their outcome', async (t) => {
  const { client, scrape } = await open(t)
  for (let i = 0; i < 3; i += 1) await client.callTool('ok')
  await client.callTool('boom')
  await client.callTool('refuse')
  await client.callTool('made-up').catch(() => {})
  await client.request('no/such', {}).catch(() => {})
  const values = await scrape()
  const server = 'server="the \\"shop\\""'
  assert.is(values.get(`caduceus_requests_total{${server},method="tools/call",outcome="ok"}`), 3)
  assert.is(values.get(`caduceus_requests_total{${server},method="tools/call",outcome="tool_error"}`), 2)
  assert.is(values.get(`caduceus_requests_total{${server},method="tools/call",outcome="error"}`), 1)
  assert.equal(
    [...values].filter(([name]) => name.startsWith('caduceus_tool_calls_total')),
    [
      [`caduceus_tool_calls_total{${server},tool="ok",outcome="ok"}`, 3],
      [`caduceus_tool_calls_total{${server},tool="boom",outcome="tool_error"}`, 1],
      [`caduceus_tool_calls_total{${server},tool="refuse",outcome="tool_error"}`, 1],
    ],
  )
  assert.is(values.get(`caduceus_tool_call_duration_seconds_count{${server},tool="ok"}`), 3)
  assert.is(values.get(`caduceus_requests_total{${server},method="other",outcome="error"}`), 1)
  const calls = (outcome: string) =>
    values.get(`caduceus_calls_total{client="orders",method="tools/call",outcome="${outcome}"}`)
  assert.equal([calls('ok'), calls('tool_error'), calls('error')], [3, 2, 1])
  assert.is(values.get(`caduceus_request_duration_seconds_count{${server},method="tools/call"}`), 6)
  assert.is(
    values.get(`caduceus_request_duration_seconds_bucket{${server},method="tools/call",le="+Inf"}`),
    6,
  )
  assert.is(values.get('caduceus_crashes_total'), 1)
  assert.is(values.get('caduceus_sessions_opened_total{server="the \\"shop\\""}'), 1)
  assert.is(values.get('caduceus_sessions{server="the \\"shop\\""}'), 1)
  assert.ok((values.get('caduceus_processes') ?? 0) > 5)
  assert.ok((values.get('process_resident_memory_bytes') ?? 0) > 1_000_000)
})

test('refusals of listeners are counted by reason', async (t) => {
  const { origin, scrape } = await open(t)
  const post = (headers: Record<string, string>, body: string) =>
    fetch(`${origin}/mcp`, {
      method: 'POST',
      headers: {
        accept: 'application/json, text/event-stream',
        'content-type': 'application/json',
        ...headers,
      },
      body,
    })
  assert.is((await post({ origin: 'https://evil.example' }, '{}')).status, 403)
  assert.is((await post({}, ' '.repeat(100_001))).status, 413)
  const values = await scrape()
  for (const status of [403, 413])
    assert.is(values.get(`caduceus_refusals_total{transport="http",reason="${status}"}`), 1)
})

test('the program exports start time, usage and build under Prometheus names', async (t) => {
  const { scrape } = await open(t)
  const values = await scrape()
  const started = values.get('process_start_time_seconds') ?? 0
  assert.ok(Math.abs(started - performance.timeOrigin / 1_000) < 1)
  assert.ok((values.get('process_cpu_seconds_total') ?? 0) > 0)
  const { version } = JSON.parse(await readFile(inRoot('package.json'), 'utf8'))
  assert.is(values.get(`caduceus_build_info{version="${version}",node="${process.version}"}`), 1)
  if (process.platform !== 'linux') return
  assert.ok((values.get('process_open_fds') ?? 0) > 3)
  assert.ok((values.get('process_max_fds') ?? 0) >= (values.get('process_open_fds') ?? 0))
})

test('several scrapers do not disturb one another', async (t) => {
  const { origin, client, scrape } = await open(t)
  const busy = async () => (await scrape()).get('caduceus_event_loop_busy_seconds_total') ?? 0
  const first = await busy()
  assert.ok(first > 0)
  await client.callTool('ok')
  assert.is((await fetch(`${origin}/metrics`)).status, 200)
  assert.ok((await busy()) >= first)
})

test('every metric is documented in the page', async (t) => {
  const { origin } = await open(t)
  const text = await (await fetch(`${origin}/metrics`)).text()
  const told = [...text.matchAll(/^# HELP (\S+) (.*)\n# TYPE \S+ (\S+)$/gm)].map(
    ([, name, help, type]) => `| \`${name}\` | ${type} | ${help} |`,
  )
  const page = await readFile(inRoot('transports/guide/telemetry.md'), 'utf8')
  const rows = page.split('\n').filter((line) => /^\| `[a-z]+_/.test(line))
  assert.equal(rows, told)
})

test('histogram buckets are cumulative and end with the total', async (t) => {
  const { client, scrape } = await open(t)
  await client.callTool('ok')
  const values = await scrape()
  const ends = [...values].filter(([key]) => /request_duration_seconds_bucket\{.*tools\/call/.test(key))
  assert.is(ends.length, 14)
  assert.equal(
    ends.map(([, value]) => value),
    ends.map(([, value]) => value).sort((a, b) => a - b),
  )
})

test('without the option there is no metrics path; only GET and HEAD work', async (t) => {
  const off = await open(t, false)
  assert.is((await fetch(`${off.origin}/metrics`)).status, 404)
  const { origin } = await open(t)
  assert.is((await fetch(`${origin}/metrics`, { method: 'POST' })).status, 405)
  const head = await fetch(`${origin}/metrics`, { method: 'HEAD' })
  assert.is(head.status, 200)
  assert.match(head.headers.get('content-type') ?? '', /^text\/plain; version=0\.0\.4/)
})

test('metrics have a port of their own, and are nowhere else', async (t) => {
  const port = await freePort()
  const server = await startServer(defineServer({ name: 'shop', version: '1', tools: [] }), {
    transport: serveHttp({ port: 0, metrics: { port } }),
    logger: false,
  })
  t.after(() => server.stop())
  const own = `http://127.0.0.1:${port}`
  const answer = await fetch(`${own}/metrics`)
  assert.is(answer.status, 200)
  assert.match(await answer.text(), /^caduceus_processes [1-9]/m)
  assert.is((await fetch(`${own}/mcp`)).status, 404)
  // a page whose name leads here
  assert.is(await statusFor(`${own}/metrics`, `evil.example:${port}`), 403)
  assert.is(await statusFor(`${own}/metrics`, `localhost:${port}`), 200)
  assert.is((await fetch(new URL('/metrics', server.url))).status, 404)
  await server.stop()
  await assertRejects(fetch(`${own}/metrics`))
  assert.throws(() => serveHttp({ metrics: { port: 0 } }), /metrics\.port: expected a port from 1/)
})

function statusFor(url: string, host: string): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    get(url, { headers: { host } }, (response) => {
      response.resume()
      resolve(response.statusCode)
    }).on('error', reject)
  })
}

async function assertRejects(promise: Promise<unknown>): Promise<void> {
  assert.ok(
    await promise.then(
      () => false,
      () => true,
    ),
  )
}

test.run()
