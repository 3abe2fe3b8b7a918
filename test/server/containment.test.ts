import { EventEmitter } from 'node:events'
import * as assert from 'uvu/assert'
import { field, McpError } from 'caduceus/protocol'
import { definePrompt, defineTool, records, type RequestHandler, ToolError } from 'caduceus/server'
import { until } from 'caduceus/testing'
import { suite } from '../support/suite.js'
import { RawClient, type Wire } from './_client.js'
import { count, reportLog, startParts, startTestServer } from './_servers.js'
import { posted, revision } from './_stateless.js'

const test = suite('server containment')
const never = new Promise<never>(() => {})

function rejectLater(): Promise<never> {
  void Promise.reject(new Error('stray secret'))
  return never
}

/** Ways in which a tool fails without naming it; each costs its own call and nothing else. */
const crashes = {
  'throws at once': () => {
    throw new Error('stray secret')
  },
  rejects: async () => {
    throw new Error('stray secret')
  },
  'rejects with nothing': () => Promise.reject(undefined),
  'leaves a rejection behind': rejectLater,
  'throws from a timer': () => {
    setTimeout(() => {
      throw new Error('stray secret')
    }, 1)
    return never
  },
  'throws from process.nextTick': () => {
    process.nextTick(() => {
      throw new Error('stray secret')
    })
    return never
  },
  'throws from a listener': () => {
    const emitter = new EventEmitter()
    setImmediate(() => emitter.emit('news'))
    emitter.on('news', () => {
      throw new Error('stray secret')
    })
    return never
  },
  'returns what is no result': () => 42 as never,
  'returns what has no JSON text': () => ({ content: [], structuredContent: { big: 1n } }),
}

for (const [how, run] of Object.entries(crashes)) {
  test(`a tool that ${how} fails only its call, with a report number`, async (t) => {
    if (/leaves|timer|nextTick|listener/.test(how)) t.expectStray(1)
    const { logger, reports } = reportLog()
    const server = await startTestServer(t, [count, defineTool({ name: 'crash', run })], { logger })
    const [a, b] = await Promise.all([
      new RawClient(t, server.url).open('a'),
      new RawClient(t, server.url).open('b'),
    ])
    await a.text('count')
    await b.text('count')
    const processes = ['base', 'tasks', 'transport', 'sessions', `session ${a.sessionId}`].map((name) =>
      server.registry.whereis(`test/${name}`),
    )
    const answer = await a.post({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'crash' } })
    assert.is(answer.status, 200)
    assert.is(reports.length, 1)
    const text = `Internal error (report ${reports[0]})`
    assert.equal(answer.messages, [
      { jsonrpc: '2.0', id: 1, result: { content: [{ type: 'text', text }], isError: true } },
    ])
    assert.equal([await a.text('count'), await b.text('count')], ['2', '2'])
    assert.ok(processes.every((process) => process?.alive))
  })
}

test('a crash message is in the answer only with exposeErrors', async (t) => {
  const crash = defineTool({ name: 'crash', run: () => Promise.reject(new Error('no such table')) })
  const server = await startTestServer(t, [crash], { exposeErrors: true })
  const client = await new RawClient(t, server.url).open()
  const { result } = await client.call('crash')
  const meta = result?._meta as Record<string, { message: string; stack: string }>
  const shown = meta['caduceus/crash']
  assert.equal(
    [result?.content?.[0]?.text, shown?.message],
    ['Internal error: no such table', 'no such table'],
  )
  assert.match(shown?.stack ?? '', 'containment.test')
})

for (const spoken of ['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25', '2026-07-28'])
  test(`${spoken}: tool mistakes are results for the model, others are errors`, async (t) => {
    const tools = [
      defineTool({ name: 'crash', run: () => Promise.reject(new Error('secret')) }),
      defineTool({ name: 'misfit', output: { n: field.integer() }, run: () => ({ n: 'secret' }) as never }),
      defineTool({ name: 'picky', input: { n: field.integer() }, run: () => 'done' }),
      defineTool({ name: 'closed', run: () => Promise.reject(McpError.rejected('Closed')) }),
    ]
    const prompts = [definePrompt({ name: 'crash', get: () => Promise.reject(new Error('secret')) })]
    const { client } = await startParts(t, { tools, prompts })
    const { url } = client
    const session = spoken === revision ? undefined : await new RawClient(t, url.href).open('raw', spoken)
    const ask = async (method: string, name: string): Promise<Wire> => {
      if (session !== undefined) return session.ask(method, { name })
      const { body, headers } = posted(method, { name })
      return (await new RawClient(t, url.href).post(body, headers)).messages.at(-1) ?? {}
    }
    const outcome = async (method: string, name: string) => {
      const { result, error } = await ask(method, name)
      assert.not.match(JSON.stringify({ result, error }), /secret/)
      return [error?.code, result?.isError, result?.content?.[0]?.text ?? error?.message]
    }
    for (const name of ['crash', 'misfit'])
      assert.equal(await outcome('tools/call', name), [undefined, true, 'Internal error'])
    const [, isError, told] = await outcome('tools/call', 'picky')
    assert.ok(isError)
    assert.match(String(told), /^The arguments for picky are not valid/)
    assert.equal(await outcome('tools/call', 'closed'), [-1, undefined, 'Closed'])
    assert.is((await outcome('tools/call', 'none'))[0], -32602)
    assert.equal(await outcome('prompts/get', 'crash'), [-32603, undefined, 'Internal error'])
  })

test('what handleRequest throws in place of a tool is answered as of that tool', async (t) => {
  const handleRequest: RequestHandler = (request, _ctx, next) => {
    if (request.params?.name === 'own') throw new Error('secret')
    return next()
  }
  const tools = [defineTool({ name: 'crash', run: () => Promise.reject(new Error('secret')) })]
  const { client } = await startParts(t, { tools, handleRequest })
  const answer = { content: [{ type: 'text', text: 'Internal error' }], isError: true }
  for (const name of ['own', 'crash']) assert.equal((await client.call(name)).result, answer)
})

test('an answer names a report only if reports are logged', async (t) => {
  const { logger, reports } = reportLog()
  const crash = defineTool({ name: 'crash', run: () => Promise.reject(new Error('secret')) })
  for (const [options, isTold] of [
    [{ logger }, true],
    [{ logger, logLevels: { crash: 'silent' } }, false],
    [{ logger: false }, false],
  ] as const) {
    reports.length = 0
    const server = await startTestServer(t, [crash], options)
    const client = await new RawClient(t, server.url).open()
    const text = await client.text('crash')
    assert.is(text, isTold ? `Internal error (report ${reports[0]})` : 'Internal error')
    assert.is(reports.length, isTold ? 1 : 0)
  }
})

test('an error that strays after the answer is only reported', async (t) => {
  t.expectStray(1)
  const late = defineTool({
    name: 'late',
    run: () => {
      setTimeout(() => {
        throw new Error('too late')
      }, 20)
      return 'answered'
    },
  })
  const server = await startTestServer(t, [late, count])
  const client = await new RawClient(t, server.url).open()
  const stray = until('stray')
  assert.is(await client.text('late'), 'answered')
  const { outcome, owner } = await stray
  assert.equal({ outcome, owner }, { outcome: 'reported', owner: 'tools/call late' })
  assert.is(await client.text('count'), '1')
})

test('ToolError is for the model, McpError for the client', async (t) => {
  const tools = [
    defineTool({ name: 'tool', run: () => Promise.reject(new ToolError('No such file: a.txt')) }),
    defineTool({
      name: 'protocol',
      run: () => Promise.reject(new McpError(-32042, 'Please sign in', { data: { url: 'https://x' } })),
    }),
  ]
  const server = await startTestServer(t, tools)
  const client = await new RawClient(t, server.url).open()
  assert.equal((await client.call('tool')).result, {
    content: [{ type: 'text', text: 'No such file: a.txt' }],
    isError: true,
  })
  assert.equal((await client.call('protocol')).error, {
    code: -32042,
    message: 'Please sign in',
    data: { url: 'https://x' },
  })
})

test('a ToolError with a non-text message says what it was', async (t) => {
  const odd = new ToolError('x')
  Object.defineProperty(odd, 'message', {
    get() {
      throw new Error('no message')
    },
  })
  const messages: readonly unknown[] = [undefined, 5, Symbol('s'), { a: 1 }, new Error('inner'), null]
  const tools = messages.map((message, index) =>
    defineTool({ name: `t${index}`, run: () => Promise.reject(new ToolError(message as string)) }),
  )
  tools.push(defineTool({ name: 'odd', run: () => Promise.reject(odd) }))
  const server = await startTestServer(t, tools)
  const client = await new RawClient(t, server.url).open()
  const read = async (name: string) => {
    const { result } = await client.call(name)
    return [result?.isError, result?.content?.[0]?.text]
  }
  const told = ['undefined', '5', 'Symbol(s)', 'an object with keys [a]', 'inner', 'null']
  for (const [index, text] of told.entries()) assert.equal(await read(`t${index}`), [true, text])
  assert.equal(await read('odd'), [true, 'a value that cannot be shown'])
})

test('a hanging tool is aborted at its timeout, and the model gets an answer', async (t) => {
  let aborted = false
  const slow = defineTool({
    name: 'slow',
    timeout: 30,
    run: (_args, { signal }) => {
      signal.addEventListener('abort', () => {
        aborted = true
      })
      return never
    },
  })
  const server = await startTestServer(t, [slow])
  const client = await new RawClient(t, server.url).open()
  const { result } = await client.call('slow')
  assert.equal(result, {
    content: [{ type: 'text', text: 'The tool slow took longer than 30 ms and was stopped.' }],
    isError: true,
  })
  assert.ok(aborted)
})

test('late actions of a stopped tool have no effect', async (t) => {
  let outcome: Promise<unknown> = never
  const zombie = defineTool({
    name: 'zombie',
    timeout: 20,
    run: (_args, ctx) => {
      outcome = new Promise((resolve) => {
        ctx.signal.addEventListener('abort', () => {
          assert.is(ctx.progress(1), false)
          ctx.update('count', () => 1_000).then(resolve, resolve)
        })
      })
      return never
    },
  })
  const server = await startTestServer(t, [zombie, count])
  const client = await new RawClient(t, server.url).open()
  await client.ask('tools/call', { name: 'zombie', _meta: { progressToken: 1 } })
  assert.is(((await outcome) as { code?: string }).code, 'ACTOR_DEAD')
  assert.is(await client.text('count'), '1')
})

test('a throwing store fails its request only', async (t) => {
  let broken = false
  const fail = () => {
    if (broken) throw new Error('disk full')
    return undefined
  }
  const server = await startTestServer(t, [count], {
    engine: records({ load: fail, save: fail, delete: fail }),
  })
  const client = await new RawClient(t, server.url).open()
  broken = true
  assert.is((await client.call('count')).error?.code, -32603)
  assert.is(
    (
      await new RawClient(t, server.url).post({
        jsonrpc: '2.0',
        id: 1,
        method: 'initialize',
        params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'x', version: '1' } },
      })
    ).status,
    500,
  )
  broken = false
  assert.is(await client.text('count'), '2')
})

test.run()
