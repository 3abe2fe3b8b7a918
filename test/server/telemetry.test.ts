import * as assert from 'uvu/assert'
import { channel } from 'node:diagnostics_channel'
import { pathToFileURL } from 'node:url'
import { inspect } from 'node:util'
import { McpError } from 'caduceus/protocol'
import type { Logger, LogLevels } from 'caduceus/runtime'
import { defineTool, inMemory, records, sealed, ToolError } from 'caduceus/server'
import { memory } from 'caduceus/transports'
import { runProgram } from '../runtime/_program.js'
import { inRoot } from '../support/root.js'
import { suite } from '../support/suite.js'
import { RawClient } from './_client.js'
import { as, byName } from './_principals.js'
import { count, startTestServer } from './_servers.js'

const test = suite('telemetry', { timeout: 15_000 })

const upper = ['server.session', 'server.request', 'server.notification'] as const
const lower = ['transport.listener', 'transport.connection', 'transport.stream'] as const
const everything: LogLevels = Object.fromEntries([...upper, ...lower].map((name) => [name, 'debug']))

type Line = { level: string; message: string; category: unknown; facts: object }

function memoryLogger(): { lines: Line[]; logger: Logger } {
  const lines: Line[] = []
  const at = (level: string) => (facts: object, message: string) =>
    void lines.push({ level, message, category: Reflect.get(facts, 'category'), facts })
  return { lines, logger: { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') } }
}

test('each log category has its own level', async (t) => {
  const { lines, logger } = memoryLogger()
  const logLevels: LogLevels = {
    'server.session': 'debug',
    'server.request': 'info',
    'transport.connection': 'warn',
    'server.notice': 'silent',
    progress: 'silent',
  }
  const server = await startTestServer(t, [count], { logger, logLevels })
  const client = await new RawClient(t, server.url).open()
  await client.text('count')
  await client.call('nothing')
  await client.send('DELETE', undefined, client.headers())
  assert.equal(
    lines.map(({ level, message, category }) => [level, message, category]),
    [
      ['debug', 'server.session opened', 'server.session'],
      ['info', 'server.request error', 'server.request'],
      ['debug', 'server.session ended', 'server.session'],
    ],
  )
})

test.slow('without a logger of the program the lines go to standard error, as JSON', async (t) => {
  const from = (name: string) => pathToFileURL(inRoot('.t', name, 'index.js')).href
  const program = `import { defineServer, startServer } from '${from('server')}'
    import { serveHttp } from '${from('transports')}'
    const logLevels = { 'transport.listener': 'debug' }
    const server = await startServer(defineServer({ name: 'x', version: '1' }), { transport: serveHttp(), logLevels })
    await server.stop()`
  const { stdout, stderr } = await runProgram(t, program)
  const written = stderr
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
  assert.equal(
    [stdout, ...written.map(({ category, msg }) => [category, msg])],
    [
      '',
      ['transport.listener', 'transport.listener listening'],
      ['server.notice', 'server.notice sessions_in_memory'],
      ['transport.listener', 'transport.listener stopped'],
    ],
  )
})

test('unwanted categories are neither built nor written', async (t) => {
  const { lines, logger } = memoryLogger()
  const server = await startTestServer(t, [count], {
    logger,
    logLevels: { progress: 'silent', 'server.notice': 'silent' },
  })
  for (const name of [...upper, ...lower]) assert.not.ok(channel(`caduceus.${name}`).hasSubscribers, name)
  const client = await new RawClient(t, server.url).open()
  await client.text('count')
  assert.equal(lines, [])
})

test('an HTTP server with memory sessions says once that they end with the program', async (t) => {
  const keys = ['a key of these tests, and of no other']
  const kept = records({ load: () => undefined, save: () => {}, delete: () => {} })
  for (const [options, times] of [
    [{}, 1],
    [{ engine: inMemory() }, 1],
    [{ engine: sealed({ keys }) }, 0],
    [{ engine: kept }, 0],
    [{ revisions: ['2026-07-28'] }, 0],
    [{ transport: memory().serve }, 0],
  ] as const) {
    const { lines, logger } = memoryLogger()
    const server = await startTestServer(t, [count], {
      ...options,
      logger,
      logLevels: { progress: 'silent' },
    })
    server.registry.whereis('test/base')?.kill()
    await server.stop()
    const notices = lines.filter(({ category }) => category === 'server.notice')
    assert.equal(
      notices.map(({ level }) => level),
      Array.from({ length: times }, () => 'info'),
    )
    for (const { facts } of notices)
      assert.match(String(Reflect.get(facts, 'problem')), /give it an engine \(files/)
  }
})

test('a handler that logs where no client can hear it is told of once', async (t) => {
  const { lines, logger } = memoryLogger()
  const talk = defineTool({ name: 'talk', run: (_args, ctx) => String(ctx.log('info', 'hi')) })
  const server = await startTestServer(t, [talk], { logger, logLevels: { progress: 'silent' } })
  const client = await new RawClient(t, server.url).open()
  assert.equal([await client.text('talk'), await client.text('talk')], ['false', 'false'])
  const notices = lines.filter(({ facts }) => Reflect.get(facts, 'type') === 'logging_not_declared')
  assert.equal(
    notices.map(({ level, facts }) => [level, Reflect.get(facts, 'problem')]),
    [
      [
        'warn',
        'tools/call talk: ctx.log reaches no client, as it is not declared: give defineServer logging: true',
      ],
    ],
  )
})

test('wrong log levels and categories are refused at once', async (t) => {
  for (const logLevels of [{ crash: 'loud' }, { nothing: 'debug' }, 'debug'])
    try {
      await startTestServer(t, [count], { logLevels: logLevels as never })
      assert.unreachable()
    } catch (error) {
      assert.match(String(error), /logLevels/)
    }
})

for (const ids of ['random', 'sealed'] as const) {
  test(`events and log lines contain no secret, with ${ids} ids`, async (t) => {
    const { lines, logger } = memoryLogger()
    const told: unknown[] = []
    for (const name of [...upper, ...lower, 'crash', 'supervisor', 'progress', 'stray', 'notice']) {
      const hear = (event: unknown): void => void told.push(event)
      channel(`caduceus.${name}`).subscribe(hear)
      t.after(() => channel(`caduceus.${name}`).unsubscribe(hear))
    }
    const probe = defineTool({
      name: 'probe',
      input: { type: 'object', properties: { secret: { type: 'string' } } },
      async run({ secret }, ctx) {
        await ctx.update('canary-key', () => 'canary-state')
        ctx.log('error', 'canary-log')
        ctx.progress(1, 2, 'canary-progress')
        if (secret === 'canary-tool-error') throw new ToolError('canary-tool-error')
        if (secret === 'canary-mcp-error') throw new McpError(-32000, 'canary-mcp-error')
        return `canary-result ${ctx.principal?.subject}`
      },
    })
    const server = await startTestServer(t, [probe], {
      logger,
      logLevels: everything,
      http: { authenticate: byName, trustProxy: true, streams: { retryInterval: 10 } },
      ...(ids === 'sealed' && {
        engine: sealed({ keys: ['canary-key of these tests, and of no other'] }),
      }),
    })
    const client = new RawClient(t, `${server.url}?token=canary-query`)
    client.own = {
      ...as('canary-subject@canary-issuer'),
      cookie: 'session=canary-cookie',
      'user-agent': 'canary-agent',
      'x-api-key': 'canary-header',
      'x-forwarded-for': 'canary-address',
      'x-forwarded-host': 'canary-host',
    }
    await client.open('canary-client')
    const id = String(client.sessionId)
    for (const secret of ['canary-argument', 'canary-tool-error', 'canary-mcp-error'])
      await client.call('probe', { secret })
    const _meta = { progressToken: 'canary-token' }
    await client.ask('tools/call', { name: 'probe', arguments: { secret: 'canary-argument' }, _meta })
    await client.ask('logging/setLevel', { level: 'canary-level' })
    await client.call('canary-unknown')
    await client.tell('notifications/cancelled', { requestId: 'canary-request', reason: 'canary-reason' })
    const reader = await client.listen({ 'last-event-id': 'canary-event' })
    reader.close()
    const stream = await client.listen()
    stream.close()
    await client.post(
      { jsonrpc: '2.0', id: 1, method: 'ping' },
      { ...as('refused'), cookie: 'canary-cookie' },
    )
    await client.post({ jsonrpc: '2.0', id: 1, method: 'ping' }, { host: 'evil.example' })
    await client.post({ jsonrpc: '2.0', id: 1, method: 'ping' }, as('canary-thief'))
    server.registry.whereis(`test/session ${id}`)?.kill()
    await client.call('probe', { secret: 'canary-argument' })
    await client.send('DELETE', undefined, client.headers())
    await client.call('probe').catch(() => {})
    await server.stop()
    assert.ok(told.length > 40 && lines.length > 30, `${told.length} events, ${lines.length} lines`)
    for (const category of [...upper, ...lower])
      assert.ok(
        lines.some((line) => line.category === category),
        category,
      )
    for (const one of [...told, ...lines]) {
      const shown = inspect(one, { depth: 20, maxStringLength: null })
      assert.not.match(shown, /canary/, shown)
      assert.not.ok(shown.includes(id), shown)
    }
  })
}

test.run()
