import { createHash } from 'node:crypto'
import * as assert from 'uvu/assert'
import { defineServer, defineTool, startServer } from 'caduceus/server'
import { serveHttp } from 'caduceus/transports'
import { lineOf } from '../../runtime/faults/lines.js'
import { suite, type TestContext } from '../support/suite.js'
import { RawClient } from './_client.js'
import { posted } from './_stateless.js'

const test = suite('lines of faults')

const trace = '0af7651916cd43dd8448eb211c80319c'
const found = {
  traceparent: `00-${trace}-b7ad6b7169203331-01`,
  'x-request-id': `proxy-7${'x'.repeat(500)}`,
  authorization: 'Bearer canary',
}

async function start(t: Pick<TestContext, 'after'>) {
  const lines: { category: string; tool?: string; about: Record<string, string>; msg: string }[] = []
  const write = (facts: object, msg: string): void =>
    void lines.push({ ...(facts as (typeof lines)[0]), msg })
  const tools = [
    defineTool({ name: 'crash', input: { type: 'object' }, run: () => Promise.reject(new Error('a bug')) }),
  ]
  const server = await startServer(defineServer({ name: 'test', version: '1', tools }), {
    transport: serveHttp({ authenticate: () => ({ issuer: 'https://id.example', subject: 'ada' }) }),
    logger: { debug: write, info: write, warn: write, error: write },
    logLevels: { 'server.request': 'info' },
  })
  t.after(() => server.stop())
  const of = (category: string) => lines.filter((line) => line.category === category)
  return { url: server.url, of, lines }
}

const expected = {
  tool: 'crash',
  request: 1,
  issuer: 'https://id.example',
  subject: 'ada',
  address: '127.0.0.1',
  trace,
  'x-request-id': found['x-request-id'].slice(0, 200),
}

test('a crash line names the request, its client and the id others use', async (t) => {
  const { url, of, lines } = await start(t)
  const client = await new RawClient(t, url).open()
  const params = { name: 'crash', arguments: { secret: 'canary' } }
  const { messages } = await client.post({ jsonrpc: '2.0', id: 1, method: 'tools/call', params }, found)
  const session = createHash('sha256').update(String(client.sessionId)).digest('hex').slice(0, 8)
  const { tool, request, ...rest } = expected
  const about = { tool, request, session, ...rest }
  const [crash] = of('crash') as unknown as { about: object; report: string }[]
  assert.equal(crash?.about, about)
  const text = messages.at(-1)?.result?.content?.[0]?.text
  assert.is(text, `Internal error (report ${crash?.report})`)
  // the line of the request, too, where it is wanted
  const [failed] = of('server.request')
  assert.is(failed?.msg, 'server.request error')
  assert.is(failed?.tool, 'crash')
  assert.equal(failed?.about, { session, trace, 'x-request-id': about['x-request-id'] })
  const all = JSON.stringify(lines)
  assert.not.match(all, /canary/)
  assert.not.match(all, String(client.sessionId))
  const line = lineOf(crash as object, '') ?? ''
  assert.match(
    line,
    `(report ${crash?.report}): tool crash, request 1, session ${session}, issuer https://id.example, subject ada, address 127.0.0.1, trace ${trace}, x-request-id proxy-7xxx`,
  )
})

test('a request without a session says the same, with the trace of its _meta first', async (t) => {
  const { url, of } = await start(t)
  const own = 'a'.repeat(32)
  const _meta = { traceparent: `00-${own}-b7ad6b7169203331-01` }
  const { body, headers } = posted('tools/call', { name: 'crash', _meta }, found)
  await new RawClient(t, url).post(body, headers)
  assert.equal(of('crash')[0]?.about, { ...expected, trace: own })
  assert.is(of('server.request')[0]?.about.trace, own)
})

test('a refusal line has an id to find it by, and no client text', async (t) => {
  const { url, of } = await start(t)
  const { body, headers } = posted('tools/call', { name: 'canary' }, { 'x-request-id': 'proxy-8' })
  await new RawClient(t, url).post(body, headers)
  const [refused] = of('server.request')
  assert.equal(refused?.about, { 'x-request-id': 'proxy-8' })
  assert.not.match(JSON.stringify(refused), 'canary')
})

test.run()
