import * as assert from 'uvu/assert'
import type { Client, StartClientOptions } from 'caduceus/client'
import { type ElicitResult, isRequest, McpError, type Message } from 'caduceus/protocol'
import { createFakeClock, subscribe } from 'caduceus/runtime'
import type { ClientTransport } from 'caduceus/transports'
import { heard } from '../../support/heard.js'
import type { RawOptions } from '../../support/raw-answers.mjs'
import { suite, type TestContext } from '../../support/suite.js'
import { rejection, watch, watchNear } from '../_raw.js'

const test = suite('what a server asks')

const form = {
  message: 'Who are you?',
  requestedSchema: {
    type: 'object',
    properties: {
      name: { type: 'string', default: 'nobody' },
      age: { type: 'integer', minimum: 0 },
      colour: { type: 'string', enum: ['red', 'blue'], default: 'blue' },
    },
    required: ['name'],
  },
}
const sampling = { messages: [{ role: 'user', content: { type: 'text', text: 'hi' } }], maxTokens: 10 }
const answer = { role: 'assistant', content: { type: 'text', text: 'hello' }, model: 'm1' } as const

/** What the client answers to a question, as JSON-RPC has it. */
async function asked(client: Client, method: string, params?: object) {
  const { text } = await client.callTool('ask', { method, params })
  return JSON.parse(text) as { result?: Record<string, unknown>; error?: { code: number; message: string } }
}

async function ready(t: TestContext, options: Partial<StartClientOptions>, server: Partial<RawOptions> = {}) {
  const watched = watchNear(t, options, server)
  await watched.client.ready()
  return watched
}

test('each question handler declares its own capability', async (t) => {
  for (const [options, capabilities] of [
    [{}, {}],
    [{ onElicit: () => ({ action: 'cancel' }) }, { elicitation: { form: {} } }],
    [{ onElicit: { url: () => ({ action: 'cancel' }) } }, { elicitation: { url: {} } }],
    [{ onSample: () => answer }, { sampling: {} }],
    [
      { onSample: { run: () => answer, tools: true, context: true } },
      { sampling: { tools: {}, context: {} } },
    ],
    [{ roots: [] }, { roots: { listChanged: true } }],
  ] as const) {
    const { client } = watchNear(
      t,
      { ...(options as Partial<StartClientOptions>), era: 'modern' },
      { discover: 'modern' },
    )
    const { params } = (await client.request('custom/echo')) as { params: { _meta: Record<string, unknown> } }
    const { extensions, ...declared } = params._meta['io.modelcontextprotocol/clientCapabilities'] as {
      extensions?: object
    }
    assert.equal(extensions, { 'io.modelcontextprotocol/tasks': {} })
    assert.equal(declared, 'roots' in capabilities ? { roots: {} } : capabilities)
    await client.close()
  }
})

test('a form is answered by its handler, with the defaults of the form', async (t) => {
  const { client } = await ready(t, {
    onElicit: ({ message }, ctx) => {
      assert.is(message, 'Who are you?')
      assert.is(ctx.revision, '2025-11-25')
      assert.is(ctx.client, 'client')
      return { action: 'accept', content: { age: 7 } }
    },
  })
  const { result } = await asked(client, 'elicitation/create', form)
  assert.equal(result, { action: 'accept', content: { name: 'nobody', age: 7, colour: 'blue' } })
})

test('a form that is declined has no content', async (t) => {
  const { client } = await ready(t, { onElicit: () => ({ action: 'decline' }) })
  assert.equal((await asked(client, 'elicitation/create', form)).result, { action: 'decline' })
})

test('an answer that does not fit its form is not sent; its handler is blamed', async (t) => {
  const strays = heard<unknown>()
  t.after(subscribe('stray', ({ error }) => strays.add(error)))
  const { client } = await ready(t, { onElicit: () => ({ action: 'accept', content: { age: -1 } }) })
  const { error } = await asked(client, 'elicitation/create', form)
  assert.is(error?.code, -32603)
  assert.match(String(await strays.next()), 'does not fit the form')
})

test('a form with an invalid schema is refused', async (t) => {
  const { client } = await ready(t, { onElicit: () => ({ action: 'accept' }) })
  const requestedSchema = { type: 'object', properties: { x: { $ref: 'https://example.com/x' } } }
  const { error } = await asked(client, 'elicitation/create', { message: 'x', requestedSchema })
  assert.is(error?.code, -32602)
})

test('URL elicitation has its own handler; an undeclared mode is refused with -32602', async (t) => {
  const url = { mode: 'url', message: 'sign in', url: 'https://example.com/', elicitationId: 'e1' }
  const { client } = await ready(t, {
    onElicit: { url: (params) => ({ action: params.url === 'https://example.com/' ? 'accept' : 'cancel' }) },
  })
  assert.equal((await asked(client, 'elicitation/create', url)).result, { action: 'accept' })
  assert.is((await asked(client, 'elicitation/create', form)).error?.code, -32602)
  for (const wrong of [
    'javascript:alert(1)',
    'file:///etc/passwd',
    'vscode://x',
    ' data:text/html,x',
    '',
    'x',
  ])
    assert.is((await asked(client, 'elicitation/create', { ...url, url: wrong })).error?.code, -32602, wrong)
})

test('a question that is too large to be read is refused, and waits for nobody', async (t) => {
  const { client } = await ready(t, { onElicit: () => ({ action: 'cancel' }) })
  const properties = Object.fromEntries(Array.from({ length: 20_001 }, (_, n) => [n, { type: 'string' }]))
  const large = { ...form, requestedSchema: { type: 'object', properties } }
  const { error } = await asked(client, 'elicitation/create', large)
  assert.is(error?.code, -32600)
  assert.match(error?.message ?? '', /^a message may have 20000 values/)
})

test('undeclared and unknown methods are refused, and so are wrong params', async (t) => {
  const { client } = await ready(t, { onSample: () => answer })
  for (const [method, params, code] of [
    ['elicitation/create', form, -32601],
    ['roots/list', undefined, -32601],
    ['no/such', {}, -32601],
    ['sampling/createMessage', { messages: 'none' }, -32602],
    [
      'sampling/createMessage',
      { ...sampling, tools: [{ name: 'x', inputSchema: { type: 'object' } }] },
      -32602,
    ],
  ] as const) {
    assert.is((await asked(client, method, params)).error?.code, code, method)
  }
})

test('a sampling handler is called, and its refusal is sent as the error it throws', async (t) => {
  let rejects = false
  const { client } = await ready(t, {
    onSample: ({ maxTokens }) => {
      assert.is(maxTokens, 10)
      if (rejects) throw new McpError(-1, 'User rejected sampling request')
      return answer
    },
  })
  assert.equal((await asked(client, 'sampling/createMessage', sampling)).result, answer)
  rejects = true
  const { error } = await asked(client, 'sampling/createMessage', sampling)
  assert.equal(error, { code: -1, message: 'User rejected sampling request' })
})

test('a throwing handler affects no other and leaks nothing to the server', async (t) => {
  const strays = heard<unknown>()
  t.after(subscribe('stray', ({ error }) => strays.add(error)))
  const { client } = await ready(t, {
    onSample: () => {
      throw new Error('secret')
    },
  })
  const { error } = await asked(client, 'sampling/createMessage', sampling)
  assert.equal(error, { code: -32603, message: 'Internal error' })
  assert.match(String(await strays.next()), 'secret')
  await client.ping()
})

test('an older revision gets the answer in its own format', async (t) => {
  const { client } = await ready(t, { onElicit: () => ({ action: 'cancel' }) }, { init: '2025-03-26' })
  assert.is((await asked(client, 'elicitation/create', form)).error?.code, -32601)
})

test('roots come from the options, then from setRoots, which notifies the server', async (t) => {
  const { client, said } = await ready(t, { roots: () => [{ uri: 'file:///one' }] })
  assert.equal((await asked(client, 'roots/list')).result, { roots: [{ uri: 'file:///one' }] })
  client.setRoots([{ uri: 'file:///two', name: 'Two' }])
  await said.next((line) => line === 'got notifications/roots/list_changed')
  assert.equal((await asked(client, 'roots/list')).result, { roots: [{ uri: 'file:///two', name: 'Two' }] })
})

test('wrong handlers and roots are refused in the caller, which names the field', async (t) => {
  const { client } = await ready(t, {})
  for (const [field, options] of [
    ['onElicit.form', { onElicit: { form: 1 } }],
    ['onElicit', { onElicit: {} }],
    ['onSample.run', { onSample: {} }],
    ['onSample.tools', { onSample: { run: () => answer, tools: 1 } }],
    ['roots', { roots: 'file:///x' }],
    ['roots[0].uri', { roots: [{ uri: 'http://x/' }] }],
  ] as const) {
    const error = await rejection((async () => watchNear(t, options as object))())
    assert.equal([error.code, (error.data as { field: string }).field], ['BAD_OPTION', field])
  }
  const error = await rejection((async () => client.setRoots([]))())
  assert.is(error.code, 'BAD_OPTION')
})

test('a cancelled question aborts its handler and is not answered', async (t) => {
  const [asking, aborted] = [heard<void>(), heard<unknown>()]
  const { client } = await ready(t, {
    onElicit: (_, { signal }) => {
      asking.add()
      return new Promise(() => signal.addEventListener('abort', () => aborted.add(signal.reason)))
    },
  })
  await client.callTool('askLater', { method: 'elicitation/create', params: form })
  await asking.next()
  await client.callTool('takeBack')
  assert.match(String(await aborted.next()), 'nobody waits')
})

test('an answer to a cancelled question is not sent, even if its id was reused', async (t) => {
  const serverInfo = { name: 'asks', version: '1' }
  const capabilities = {}
  const greeting = { protocolVersion: '2025-11-25', capabilities, serverInfo }
  const [sent, asking] = [heard<Message>(), heard<(answer: ElicitResult) => void>()]
  let tell = (_message: object): void => {}
  const transport: ClientTransport = {
    name: 'asks',
    connect(events) {
      tell = (message) => events.message(JSON.stringify({ jsonrpc: '2.0', ...message }))
      events.opened()
      return {
        send(_, message) {
          sent.add(message)
          if (isRequest(message)) tell({ id: message.id, result: message.method === 'ping' ? {} : greeting })
        },
        close: () => events.closed({}),
      }
    },
  }
  // it does not look at its signal
  const onElicit = () => new Promise<ElicitResult>((resolve) => asking.add(resolve))
  const { client } = watch(t, { transport, onElicit })
  await client.ready()
  const ask = { id: 'q', method: 'elicitation/create', params: form }
  tell(ask)
  const first = await asking.next()
  tell({ method: 'notifications/cancelled', params: { requestId: 'q' } })
  tell(ask)
  const second = await asking.next()
  first({ action: 'decline' })
  await client.ping()
  second({ action: 'cancel' })
  await sent.next((message) => 'id' in message && message.id === 'q')
  await client.ping()
  const answers = sent.all.filter((message) => 'id' in message && message.id === 'q')
  assert.equal(answers, [{ jsonrpc: '2.0', id: 'q', result: { action: 'cancel' } }])
})

test('a hundred questions may be open, and one more is refused', async (t) => {
  const asking = heard<void>()
  const onElicit = () => {
    asking.add()
    return new Promise<ElicitResult>(() => {})
  }
  const { client } = await ready(t, { onElicit })
  for (let question = 0; question < 100; question++)
    await client.callTool('askLater', { method: 'elicitation/create', params: form })
  while (asking.all.length < 100) await asking.next()
  const { error } = await asked(client, 'elicitation/create', form)
  assert.is(error?.code, -32603)
  assert.match(error?.message ?? '', '100 questions of the server are open already')
})

test('a lost connection aborts the handlers of open questions', async (t) => {
  const [asking, aborted] = [heard<void>(), heard<unknown>()]
  const { client, kill } = await ready(t, {
    onElicit: (_, { signal }) => {
      asking.add()
      return new Promise(() => signal.addEventListener('abort', () => aborted.add(signal.reason)))
    },
  })
  const call = rejection(asked(client, 'elicitation/create', form))
  await asking.next()
  kill('transport')
  await aborted.next()
  assert.is((await call).code, 'CONNECTION_LOST')
})

test('a question handler is aborted at its timeout, and the server is told', async (t) => {
  const clock = createFakeClock()
  const asking = heard<void>()
  const { client } = watchNear(t, {
    clock,
    questionTimeout: 1_000,
    onElicit: () => {
      asking.add()
      return new Promise(() => {})
    },
  })
  const call = asked(client, 'elicitation/create', form)
  await asking.next()
  await clock.advance(1_000)
  assert.is((await call).error?.code, -32603)
})

test('a batch from the server is split in every revision', async (t) => {
  const news = heard<object>()
  const { client } = await ready(t, {}, { init: '2025-03-26' })
  client.onNotification('notifications/tools/list_changed', news.add)
  assert.is((await client.callTool('batch')).text, 'from a batch')
  await news.next()
})

test.run()
