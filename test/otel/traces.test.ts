import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import {
  context,
  createNoopMeter,
  diag,
  propagation,
  SpanKind,
  SpanStatusCode,
  trace,
} from '@opentelemetry/api'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import { W3CTraceContextPropagator, W3CBaggagePropagator, CompositePropagator } from '@opentelemetry/core'
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from '@opentelemetry/sdk-metrics'
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  type ReadableSpan,
  SimpleSpanProcessor,
} from '@opentelemetry/sdk-trace-base'
import * as assert from 'uvu/assert'
import { startClient } from 'caduceus/client'
import { instrument } from 'caduceus/otel'
import { McpError } from 'caduceus/protocol'
import { definePrompt, defineResource, defineServer, defineTool, gateway, startServer } from 'caduceus/server'
import { connect, type Connected, crash, scriptedServer, until } from 'caduceus/testing'
import { http, serveHttp } from 'caduceus/transports'
import { heard } from '../support/heard.js'
import { suite, type TestContext } from '../support/suite.js'

const test = suite('OpenTelemetry', { timeout: 20_000 })
const eras = ['handshake', 'modern'] as const

context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable())
const propagator = new CompositePropagator({
  propagators: [new W3CTraceContextPropagator(), new W3CBaggagePropagator()],
})
propagation.setGlobalPropagator(propagator)

const noopMeter = createNoopMeter()

/** The tenant that each call was for, from its baggage. */
const seen: unknown[] = []
const shop = defineServer({
  name: 'shop',
  version: '1',
  tools: {
    price: defineTool({
      async run() {
        seen.push(propagation.getActiveBaggage()?.getEntry('tenant')?.value)
        return await trace.getTracer('mine').startActiveSpan('look up', async (span) => {
          await new Promise((resolve) => setImmediate(resolve))
          span.end()
          return '5'
        })
      },
    }),
    hello: defineTool({ run: () => 'hello' }),
    refuse: defineTool({ run: () => ({ content: [], isError: true }) as const }),
    boom: defineTool({
      run() {
        throw new Error('boom')
      },
    }),
    hang: defineTool({ run: () => new Promise<string>(() => {}) }),
  },
  prompts: { review: definePrompt({ get: () => 'review this' }) },
  resources: [defineResource({ uri: 'note://one', name: 'one', read: () => 'a note' })],
})

/** The SDK of OpenTelemetry with what it exports in memory, and this library with it. */
function observed(t: TestContext) {
  const exporter = new InMemorySpanExporter()
  const provider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] })
  trace.disable()
  trace.setGlobalTracerProvider(provider)
  const metricExporter = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE)
  const reader = new PeriodicExportingMetricReader({ exporter: metricExporter, exportIntervalMillis: 60_000 })
  const meters = new MeterProvider({ readers: [reader] })
  const undo = instrument({ meter: meters.getMeter('test') })
  t.after(async () => {
    undo[Symbol.dispose]()
    await provider.shutdown()
    await meters.shutdown()
  })
  const spans = (): readonly ReadableSpan[] => exporter.getFinishedSpans()
  const of = (kind: SpanKind, name: string): ReadableSpan => {
    const found = spans().find((span) => span.kind === kind && span.name === name)
    if (found === undefined) throw new Error(`no span ${name}: ${spans().map((span) => span.name)}`)
    return found
  }
  const measured = async (): Promise<Map<string, { attributes: object; value: unknown }[]>> => {
    await meters.forceFlush()
    const metrics =
      metricExporter
        .getMetrics()
        .at(-1)
        ?.scopeMetrics.flatMap((scope) => scope.metrics) ?? []
    return new Map(metrics.map(({ descriptor, dataPoints }) => [descriptor.name, dataPoints as never]))
  }
  return { spans, of, measured, undo }
}

async function open(t: TestContext, era: (typeof eras)[number]): Promise<Connected> {
  const pair = await connect(shop, { client: { era }, logger: false } as never)
  t.after(() => pair.close())
  return pair
}

for (const era of eras) {
  test(`${era}: a call is one trace of caller, client, server and handler`, async (t) => {
    const { of, spans } = observed(t)
    const { client } = await open(t, era)
    seen.length = 0
    const baggage = propagation.createBaggage({ tenant: { value: 'acme' } })
    await context.with(propagation.setBaggage(context.active(), baggage), () =>
      trace.getTracer('mine').startActiveSpan('order', async (span) => {
        await client.callTool('price')
        span.end()
      }),
    )
    await until(() =>
      spans().some(({ name, kind }) => name === 'tools/call price' && kind === SpanKind.SERVER),
    )
    const [order, called, served, own] = [
      of(SpanKind.INTERNAL, 'order'),
      of(SpanKind.CLIENT, 'tools/call price'),
      of(SpanKind.SERVER, 'tools/call price'),
      of(SpanKind.INTERNAL, 'look up'),
    ]
    const idOf = (span: ReadableSpan): string => span.spanContext().spanId
    assert.equal(
      [called, served, own].map((span) => span.parentSpanContext?.spanId),
      [order, called, served].map(idOf),
    )
    assert.is(new Set([order, called, served, own].map((span) => span.spanContext().traceId)).size, 1)
    assert.equal(seen, ['acme'])
    const revision = client.server?.revision
    assert.equal(served.attributes, {
      'mcp.method.name': 'tools/call',
      'mcp.protocol.version': revision,
      'gen_ai.operation.name': 'execute_tool',
      'gen_ai.tool.name': 'price',
      'caduceus.server': 'shop',
      'jsonrpc.request.id': served.attributes['jsonrpc.request.id'],
    })
    assert.is(called.attributes['mcp.protocol.version'], revision)
  })

  test(`${era}: failures have their own status, and an aborted call ends its span`, async (t) => {
    const { of, spans } = observed(t)
    const { client } = await open(t, era)
    await client.callTool('refuse')
    await client.callTool('boom').catch(() => {})
    await client.callTool('none').catch(() => {})
    await client.callTool('hang', {}, { timeout: 300 }).catch(() => {})
    await client.readResource('note://one')
    await client.getPrompt('review')
    await until(() => spans().filter(({ name }) => name === 'tools/call hang').length === 2)
    const told = (kind: SpanKind, name: string) => {
      const { status, attributes } = of(kind, name)
      return [status.code, attributes['error.type']]
    }
    const { ERROR, UNSET } = SpanStatusCode
    for (const kind of [SpanKind.CLIENT, SpanKind.SERVER]) {
      assert.equal(told(kind, 'tools/call refuse'), [ERROR, 'tool_error'])
      assert.equal(told(kind, 'resources/read'), [UNSET, undefined])
      assert.equal(told(kind, 'prompts/get review'), [UNSET, undefined])
    }
    assert.equal(told(SpanKind.CLIENT, 'tools/call boom'), [ERROR, 'tool_error'])
    assert.is(told(SpanKind.SERVER, 'tools/call boom')[0], ERROR)
    assert.equal(told(SpanKind.CLIENT, 'tools/call none'), [ERROR, '-32602'])
    assert.equal(told(SpanKind.CLIENT, 'tools/call hang'), [ERROR, 'TIMEOUT'])
    assert.equal(told(SpanKind.SERVER, 'tools/call hang'), [ERROR, 'cancelled'])
    assert.is(of(SpanKind.SERVER, 'resources/read').attributes['mcp.resource.uri'], 'note://one')
  })

  test(`${era}: through a gateway, over HTTP, it stays one trace`, async (t) => {
    const { spans } = observed(t)
    const behind = await startServer(shop, { transport: serveHttp({ port: 0 }), logger: false })
    t.after(() => behind.stop())
    const up = startClient({ name: 'up', transport: http(behind.url ?? ''), logger: false })
    t.after(() => up.close())
    const server = await startServer(gateway({ shop: up }), {
      transport: serveHttp({ port: 0 }),
      logger: false,
    })
    t.after(() => server.stop())
    const client = startClient({ transport: http(server.url ?? ''), era, logger: false })
    t.after(() => client.close())
    assert.is((await client.callTool('shop__price')).text, '5')
    const chain = () =>
      spans().filter(
        ({ name }) => name === 'tools/call shop__price' || name === 'tools/call price' || name === 'look up',
      )
    await until(() => chain().length === 5)
    assert.is(new Set(chain().map((span) => span.spanContext().traceId)).size, 1)
    const ids = new Map(chain().map((span) => [span.spanContext().spanId, span]))
    const roots = chain().filter((span) => !ids.has(span.parentSpanContext?.spanId ?? ''))
    assert.equal(
      roots.map(({ name, kind }) => [name, kind]),
      [['tools/call shop__price', SpanKind.CLIENT]],
    )
  })
}

test('durations, sessions and restarts are measured', async (t) => {
  const { measured } = observed(t)
  const { client, server } = await open(t, 'handshake')
  await client.callTool('price')
  await client.callTool('refuse')
  const metrics = await measured()
  const counts = (name: string) =>
    metrics
      .get(name)
      ?.map(({ attributes, value }) => [
        (attributes as Record<string, unknown>)['gen_ai.tool.name'],
        (attributes as Record<string, unknown>)['error.type'],
        (value as { count?: number }).count ?? value,
      ])
  for (const name of ['mcp.client.operation.duration', 'mcp.server.operation.duration'])
    assert.equal(counts(name), [
      ['price', undefined, 1],
      ['refuse', 'tool_error', 1],
    ])
  assert.equal(counts('caduceus.server.sessions'), [[undefined, undefined, 1]])
  assert.is((await server.sessions()).length, 1)
})

test('a request adds trace context to the metadata of its caller, or nothing', async (t) => {
  const { spans, undo } = observed(t)
  const server = scriptedServer({ 'tools/call': { content: [] } })
  const client = startClient({ transport: server.transport, logger: false })
  t.after(() => client.close())
  const metaOf = async (): Promise<Record<string, unknown>> => {
    const params = { name: 'any', _meta: { 'example.com/own': 1 } }
    const [sent] = await Promise.all([server.next('tools/call'), client.request('tools/call', params)])
    const { _meta } = sent.params as { _meta: Record<string, unknown> }
    return _meta
  }
  const meta = await metaOf()
  const { traceId, spanId } = spans().at(-1)?.spanContext() ?? {}
  assert.is(meta.traceparent, `00-${traceId}-${spanId}-01`)
  assert.is(meta['example.com/own'], 1)
  undo[Symbol.dispose]()
  const before = spans().length
  const bare = await metaOf()
  assert.is('traceparent' in bare, false)
  assert.is(bare['example.com/own'], 1)
  assert.is(spans().length, before)
})

test('the official client sends its context, and the server goes on with it', async (t) => {
  const { of } = observed(t)
  const server = await startServer(shop, { transport: serveHttp({ port: 0 }), logger: false })
  t.after(() => server.stop())
  const client = new Client({ name: 'official', version: '1' })
  await client.connect(new StreamableHTTPClientTransport(new URL(server.url ?? '')) as never)
  t.after(() => client.close())
  const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'
  await client.callTool({ name: 'price', arguments: {}, _meta: { traceparent } })
  const served = of(SpanKind.SERVER, 'tools/call price')
  assert.is(served.parentSpanContext?.spanId, 'b7ad6b7169203331')
  assert.is(of(SpanKind.INTERNAL, 'look up').spanContext().traceId, '0af7651916cd43dd8448eb211c80319c')
})

test('requests answered at once have spans, too: lists, pings, unknown methods', async (t) => {
  for (const era of eras) {
    const { of, undo } = observed(t)
    const { client } = await open(t, era)
    await client.listTools()
    await client.callTool('no such tool').catch(() => {})
    await client.request('no/such', {}).catch(() => {})
    if (era === 'handshake') {
      await client.ping()
      assert.is(
        of(SpanKind.SERVER, 'ping').parentSpanContext?.spanId,
        of(SpanKind.CLIENT, 'ping').spanContext().spanId,
      )
    }
    assert.is(
      of(SpanKind.SERVER, 'tools/list').parentSpanContext?.spanId,
      of(SpanKind.CLIENT, 'tools/list').spanContext().spanId,
    )
    assert.is(of(SpanKind.SERVER, 'tools/call no such tool').attributes['error.type'], '-32602')
    assert.is(of(SpanKind.SERVER, 'no/such').attributes['error.type'], '-32601')
    undo[Symbol.dispose]()
  }
})

test('processes and waiting messages are measured on collection, and not afterwards', async (t) => {
  const { measured, undo } = observed(t)
  await open(t, 'modern')
  const before = await measured()
  const [processes] = before.get('caduceus.processes') ?? []
  assert.ok(Number(processes?.value) > 5)
  assert.is(before.get('caduceus.mailbox.messages')?.length, 1)
  undo[Symbol.dispose]()
  // the SDK tells the last value again
  await open(t, 'modern')
  assert.is((await measured()).get('caduceus.processes')?.[0]?.value, processes?.value)
})

test('a reconnect is a span, and the time of each connection is measured', async (t) => {
  const { spans, measured } = observed(t)
  const server = scriptedServer({ 'tools/call': { content: [] } })
  const client = startClient({
    name: 'lasting',
    transport: server.transport,
    backoff: { base: 1 },
    logger: false,
  })
  t.after(() => client.close())
  await client.ready()
  const lost = until(client, ({ phase }) => phase === 'disconnected')
  server.drop()
  await lost
  await client.callTool('any')
  const [outage] = spans().filter(({ name }) => name === 'reconnect')
  assert.is(outage?.attributes['caduceus.client'], 'lasting')
  assert.is(outage?.attributes['error.type'], 'CONNECTION_LOST')
  await client.close()
  const points = (await measured()).get('mcp.client.session.duration') ?? []
  const counts = points.map(({ value }) => (value as { count: number }).count)
  assert.is(
    counts.reduce((sum, count) => sum + count, 0),
    2,
  )
  assert.is((await measured()).get('caduceus.client.connections')?.[0]?.value, 2)
})

test('how long sessions were open is measured, and what ended them', async (t) => {
  const { measured } = observed(t)
  const pair = await open(t, 'handshake')
  const [session] = await pair.server.sessions()
  if (session === undefined) throw new Error('no session')
  await crash(session)
  await pair.client.callTool('hello')
  await pair.close()
  const points = (await measured()).get('mcp.server.session.duration') ?? []
  assert.equal(points.map(({ attributes }) => (attributes as Record<string, unknown>)['error.type']).sort(), [
    'crash',
    undefined,
  ])
})

test('a client span has the address of its server', async (t) => {
  const { of } = observed(t)
  const server = await startServer(shop, { transport: serveHttp({ port: 0 }), logger: false })
  t.after(() => server.stop())
  const client = startClient({ transport: http(server.url ?? ''), logger: false })
  t.after(() => client.close())
  await client.callTool('hello')
  const { attributes } = of(SpanKind.CLIENT, 'tools/call hello')
  const names = ['network.transport', 'network.protocol.name', 'server.address', 'server.port']
  assert.equal(
    names.map((name) => attributes[name]),
    ['tcp', 'http', '127.0.0.1', Number(new URL(server.url ?? '').port)],
  )
})

test('unknown names share one metric, and span names cut them', async (t) => {
  const { measured, of } = observed(t)
  const { client } = await open(t, 'handshake')
  await client.callTool('price')
  for (let i = 0; i < 20; i += 1) await client.callTool(`made up ${i}`).catch(() => {})
  const long = 'x'.repeat(1_000)
  await client.callTool(long).catch(() => {})
  assert.ok(of(SpanKind.SERVER, `tools/call ${'x'.repeat(200)}`))
  const names = new Set(
    [
      ...((await measured()).get('mcp.server.operation.duration') ?? []),
      ...((await measured()).get('mcp.client.operation.duration') ?? []),
    ].map(({ attributes }) => (attributes as Record<string, unknown>)['gen_ai.tool.name']),
  )
  assert.equal([...names].filter(Boolean).sort(), ['_OTHER', 'price'])
})

test('a failure in OpenTelemetry harms no call and goes to its diagnostics', async (t) => {
  const told: string[] = []
  const note = (...words: unknown[]): void => void told.push(words.map(String).join(' '))
  diag.setLogger({ error: note, warn() {}, info() {}, debug() {}, verbose() {} })
  t.after(() => diag.disable())
  const fails = (what: string) => (): never => {
    throw new Error(`${what} fails`)
  }
  const nothing = { forceFlush: async () => {}, shutdown: async () => {} }
  const broken = {
    start: { onStart: fails('start'), onEnd() {}, ...nothing },
    end: { onStart() {}, onEnd: fails('end'), ...nothing },
  }
  for (const [when, processor] of Object.entries(broken)) {
    const provider = new BasicTracerProvider({ spanProcessors: [processor] })
    const meter = Object.assign(Object.create(noopMeter), {
      createHistogram: () => ({ record: fails('record') }),
    })
    const undo = instrument({ tracer: provider.getTracer('broken'), meter: meter as never })
    try {
      for (const era of eras) {
        const { client } = await open(t, era)
        assert.is((await client.callTool('price')).text, '5', when)
        assert.is((await client.callTool('boom').catch((error) => error.name)) !== '', true)
        await client.listTools()
        // a context manager may fail, too: before it has run anything
        const real = context.with
        context.with = fails('with')
        const { text } = await client.callTool('hello').finally(() => {
          context.with = real
        })
        assert.is(text, 'hello', when)
      }
    } finally {
      undo[Symbol.dispose]()
    }
    // of many failures not each is told
    assert.match(told.splice(0).join('\n'), /start fails|end fails|record fails/, when)
  }
})

test('a failing propagator loses the parent but no span', async (t) => {
  const { of } = observed(t)
  const fails = (): never => {
    throw new Error('it fails')
  }
  propagation.disable()
  propagation.setGlobalPropagator({ inject: fails, extract: fails, fields: () => [] })
  t.after(() => {
    propagation.disable()
    propagation.setGlobalPropagator(propagator)
  })
  const { client } = await open(t, 'modern')
  assert.is((await client.callTool('price')).text, '5')
  assert.ok(of(SpanKind.CLIENT, 'tools/call price').ended)
  assert.is(of(SpanKind.SERVER, 'tools/call price').parentSpanContext, undefined)
})

test('error codes of the other side are metric labels up to a limit', async (t) => {
  const { measured } = observed(t)
  const upset = scriptedServer({
    'tools/call': () => {
      code += 1
      throw new McpError(code, 'no')
    },
  })
  let code = 0
  const client = startClient({ transport: upset.transport, logger: false })
  t.after(() => client.close())
  for (let i = 0; i < 600; i += 1) await client.callTool('any').catch(() => {})
  const points = (await measured()).get('mcp.client.operation.duration') ?? []
  assert.ok(points.length > 400 && points.length <= 502, String(points.length))
})

test('the OpenTelemetry exporter reaches a collector', async (t) => {
  const told = heard<{ resourceSpans: { scopeSpans: { spans: { name: string }[] }[] }[] }>()
  const collector = createServer(async (request, response) => {
    let text = ''
    for await (const chunk of request) text += chunk
    told.add(JSON.parse(text))
    response.writeHead(200, { 'content-type': 'application/json' }).end('{}')
  })
  await new Promise<void>((resolve) => collector.listen(0, '127.0.0.1', resolve))
  t.after(() => collector.close().closeAllConnections())
  const { port } = collector.address() as AddressInfo
  const exporter = new OTLPTraceExporter({ url: `http://127.0.0.1:${port}/v1/traces` })
  const provider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] })
  const undo = instrument({ tracer: provider.getTracer('caduceus') })
  t.after(() => undo[Symbol.dispose]())
  const { client } = await open(t, 'modern')
  await client.callTool('price')
  await provider.forceFlush()
  await provider.shutdown()
  const names = told.all.flatMap(({ resourceSpans }) =>
    resourceSpans.flatMap(({ scopeSpans }) =>
      scopeSpans.flatMap((scope) => scope.spans.map(({ name }) => name)),
    ),
  )
  assert.equal(
    names.filter((name) => name === 'tools/call price'),
    ['tools/call price', 'tools/call price'],
  )
})

test.run()
