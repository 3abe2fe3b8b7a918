import * as assert from 'uvu/assert'
import {
  defineServer,
  defineTool,
  type FetchHandler,
  type FetchServeOptions,
  field,
  sealed,
  ServerError,
  serveFetch,
} from 'caduceus/fetch'
import { createFakeClock } from 'caduceus/runtime'
import { Recording } from 'caduceus/testing'
import { oidc, signIn } from 'caduceus/transports'
import { suite, type TestContext } from '../support/suite.js'

const test = suite('serve fetch')
const clientInfo = { name: 'test', version: '1' }

const echo = defineTool({ name: 'echo', input: { text: field.string() }, run: ({ text }) => text })
const count = defineTool({
  name: 'count',
  run: async (_args, ctx) => String(await ctx.update('count', (n = 0) => Number(n) + 1)),
})
const steps = defineTool({
  name: 'steps',
  async run(_args, ctx) {
    await ctx.progress(1, 2)
    return 'done'
  },
})
const order = defineTool({
  name: 'order',
  async run(_args, ctx) {
    const question = { message: 'How many?', form: { amount: field.integer() } }
    const { action, content } = await ctx.elicit('amount', question)
    return `${action} ${content?.amount}`
  },
})
const who = defineTool({
  name: 'who',
  run: (_args, ctx) => JSON.stringify([ctx.principal?.subject, ctx.assigns.env]),
})
const hang = defineTool({
  name: 'hang',
  run: (_args, ctx) =>
    new Promise((resolve) => {
      ctx.signal.addEventListener('abort', () => {
        gone()
        resolve('never read')
      })
      hanging()
    }),
})
let hanging = (): void => {}
let gone = (): void => {}

const definition = defineServer({
  name: 'edge',
  version: '1.0.0',
  tools: [echo, count, steps, order, who, hang],
})

function serve(t: TestContext, options: FetchServeOptions = {}): FetchHandler {
  const handler = serveFetch(definition, { logger: false, ...options })
  t.after(() => handler.close())
  return handler
}

interface Sent {
  readonly headers?: Readonly<Record<string, string>>
  readonly path?: string
  readonly signal?: AbortSignal
}

function post(handler: FetchHandler, message: object, { headers, path = '/mcp', signal }: Sent = {}) {
  const request = new Request(`http://localhost${path}`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      ...headers,
    },
    body: JSON.stringify({ jsonrpc: '2.0', ...message }),
    ...(signal !== undefined && { signal }),
  })
  return handler.fetch(request, 'the env')
}

async function open(handler: FetchHandler, capabilities: object = {}, headers = {}) {
  const params = { protocolVersion: '2025-11-25', capabilities, clientInfo }
  const response = await post(handler, { id: 1, method: 'initialize', params }, { headers })
  assert.is(response.status, 200)
  await response.text()
  const session = {
    ...headers,
    'mcp-session-id': response.headers.get('mcp-session-id') ?? '',
    'mcp-protocol-version': '2025-11-25',
  }
  const told = await post(handler, { method: 'notifications/initialized' }, { headers: session })
  assert.is(told.status, 202)
  return session
}

function call(name: string, args: object = {}, id = 2) {
  return { id, method: 'tools/call', params: { name, arguments: args } }
}

function modern(name: string, args: object = {}) {
  const _meta = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientInfo': clientInfo,
    'io.modelcontextprotocol/clientCapabilities': {},
    progressToken: 'steps',
  }
  const headers = { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/call', 'mcp-name': name }
  return [{ id: 3, method: 'tools/call', params: { name, arguments: args, _meta } }, { headers }] as const
}

async function textOf(response: Response): Promise<string> {
  const { result } = (await response.json()) as { result: { content: { text: string }[] } }
  return result.content[0]?.text ?? ''
}

/** The next event of a stream that holds a message. */
async function* messages(response: Response): AsyncGenerator<Record<string, unknown>> {
  let rest = ''
  for await (const chunk of response.body ?? []) {
    rest += Buffer.from(chunk).toString()
    const parts = rest.split('\n\n')
    rest = parts.pop() ?? ''
    for (const part of parts) {
      const data = /^data: (\{.*)$/m.exec(part)?.[1]
      if (data !== undefined) yield JSON.parse(data)
    }
  }
}

test('a session keeps its state from one request to the next', async (t) => {
  const handler = serve(t)
  const headers = await open(handler)
  assert.is(await textOf(await post(handler, call('echo', { text: 'hello' }), { headers })), 'hello')
  assert.is(await textOf(await post(handler, call('count'), { headers })), '1')
  assert.is(await textOf(await post(handler, call('count'), { headers })), '2')
})

test('wrong arguments are answered with what is wrong', async (t) => {
  const handler = serve(t)
  const headers = await open(handler)
  assert.match(await (await post(handler, call('echo'), { headers })).text(), 'text: is required')
})

test('what a request brings is in its assigns, also beside init of sessions', async (t) => {
  const session = { init: () => {} }
  const handler = serveFetch(defineServer({ name: 'edge', version: '1.0.0', tools: [who], session }), {
    logger: false,
  })
  t.after(() => handler.close())
  assert.is(await textOf(await post(handler, ...modern('who'))), '[null,"the env"]')
})

test('DELETE ends a session', async (t) => {
  const handler = serve(t)
  const headers = await open(handler)
  const ended = await handler.fetch(new Request('http://localhost/mcp', { method: 'DELETE', headers }))
  assert.is(ended.status, 204)
  assert.is((await post(handler, call('count'), { headers })).status, 404)
})

test('a question goes over the stream of its call, and its answer comes back', async (t) => {
  const handler = serve(t)
  const headers = await open(handler, { elicitation: {} })
  const response = await post(handler, call('order'), { headers })
  assert.is(response.headers.get('content-type'), 'text/event-stream')
  const stream = messages(response)
  const { value: question } = await stream.next()
  assert.is(question?.method, 'elicitation/create')
  const result = { action: 'accept', content: { amount: 3 } }
  assert.is((await post(handler, { id: question?.id, result }, { headers })).status, 202)
  const { value: answer } = await stream.next()
  assert.match(JSON.stringify(answer), 'accept 3')
})

test('a request of 2026-07-28 needs no session, and streams its progress', async (t) => {
  const handler = serve(t)
  assert.is(await textOf(await post(handler, ...modern('echo', { text: 'hello' }))), 'hello')
  const heard: unknown[] = []
  for await (const message of messages(await post(handler, ...modern('steps')))) heard.push(message)
  assert.match(JSON.stringify(heard[0]), 'notifications/progress')
  assert.match(JSON.stringify(heard[1]), 'done')
})

test('a client of 2026-07-28 that goes away aborts its tool', async (t) => {
  const handler = serve(t)
  const begun = new Promise<void>((resolve) => {
    hanging = resolve
  })
  const over = new Promise<void>((resolve) => {
    gone = resolve
  })
  const leaving = new AbortController()
  const [message, sent] = modern('hang')
  const response = post(handler, message, { ...sent, signal: leaving.signal })
  await begun
  leaving.abort()
  await over
  await response
})

test('a GET stream hears of changes, and ends with the server', async (t) => {
  const handler = serve(t)
  const headers = await open(handler)
  const request = new Request('http://localhost/mcp', {
    headers: { ...headers, accept: 'text/event-stream' },
  })
  const response = await handler.fetch(request)
  assert.is(response.status, 200)
  await handler.close()
  for await (const message of messages(response)) assert.unreachable(JSON.stringify(message))
})

test('a request without its token is 401, and is told where to get one', async (t) => {
  const resource = 'https://mcp.example.com/mcp'
  const authorizationServers = ['https://login.example.com']
  const verify = async (token: string) =>
    token === 'good' ? { issuer: 'https://login.example.com', subject: 'ada', audience: resource } : undefined
  const handler = serve(t, { auth: { resource, authorizationServers, verify: verify as never } })
  const refused = await post(handler, ...modern('who'))
  assert.is(refused.status, 401)
  assert.match(
    refused.headers.get('www-authenticate') ?? '',
    'resource_metadata="https://mcp.example.com/.well-known/oauth-protected-resource/mcp"',
  )
  for (const path of ['', '/mcp']) {
    const address = `http://localhost/.well-known/oauth-protected-resource${path}`
    const metadata = await handler.fetch(new Request(address))
    assert.equal(await metadata.json(), {
      resource,
      authorization_servers: authorizationServers,
      bearer_methods_supported: ['header'],
    })
  }
  const [message, { headers }] = modern('who')
  const answered = await post(handler, message, { headers: { ...headers, authorization: 'Bearer good' } })
  assert.is(await textOf(answered), '["ada","the env"]')
})

test('a server at which users sign in serves its pages', async (t) => {
  const provider = oidc({ issuer: 'https://login.example.com', clientId: 'a', clientSecret: 'b' })
  const auth = signIn({ with: provider, resource: 'https://mcp.example.com/mcp' })
  const server = serve(t, { auth, allowedHosts: ['mcp.example.com'], trustProxy: 1 })
  const at = (path: string, init = {}) =>
    server.fetch(
      new Request(`https://mcp.example.com${path}`, { headers: { host: 'mcp.example.com' }, ...init }),
    )
  assert.is((await at('/mcp', { method: 'POST', body: '{}' })).status, 401)
  const found = await (await at('/.well-known/oauth-authorization-server')).json()
  assert.is((found as { issuer: string }).issuer, 'https://mcp.example.com')
  const headers = { host: 'mcp.example.com', 'content-type': 'application/json' }
  const client = { redirect_uris: ['http://127.0.0.1:1/callback'], token_endpoint_auth_method: 'none' }
  const registered = await at('/register', { method: 'POST', headers, body: JSON.stringify(client) })
  assert.is(registered.status, 201)
  const { client_id: id } = (await registered.json()) as { client_id: string }
  const query = new URLSearchParams({
    ...{ client_id: id, response_type: 'code', redirect_uri: 'http://127.0.0.1:1/callback' },
    ...{ code_challenge: 'a'.repeat(43), code_challenge_method: 'S256', state: 'x' },
  })
  const step = await at(`/authorize?${query}`)
  assert.is(step.status, 303)
  // each one in a line of its own
  assert.ok(step.headers.getSetCookie().length > 1)
  assert.is((await at('/elsewhere')).status, 404)
})

test('whoever has used up their limits of a login shuts nobody else out', async (t) => {
  const provider = oidc({ issuer: 'https://login.example.com', clientId: 'a', clientSecret: 'b' })
  const auth = signIn({ with: provider, resource: 'https://mcp.example.com/mcp' })
  const server = serve(t, { auth, allowedHosts: ['mcp.example.com'], trustProxy: 1 })
  const ask = async (address: string, path: string, method = 'GET'): Promise<number> => {
    // what stands before the last one anybody may have written
    const headers = { host: 'mcp.example.com', 'x-forwarded-for': `192.0.2.1, ${address}` }
    const body = method === 'POST' ? '{}' : null
    return (await server.fetch(new Request(`https://mcp.example.com${path}`, { method, headers, body })))
      .status
  }
  for (const [path, method, most] of [
    ['/register', 'POST', 60],
    ['/authorize', 'GET', 60],
    ['/jwks', 'GET', 600],
  ] as const) {
    for (let times = 0; times < most; times += 1) await ask('198.51.100.1', path, method)
    assert.is(await ask('198.51.100.1', path, method), 429)
    assert.is.not(await ask('203.0.113.9', path, method), 429)
  }
})

test('a function finds who sends a request', async (t) => {
  const handler = serve(t, {
    authenticate: ({ headers }) =>
      headers['x-key'] === 'of ada' ? { issuer: 'keys', subject: 'ada' } : undefined,
  })
  assert.is((await post(handler, ...modern('who'))).status, 401)
  const [message, { headers }] = modern('who')
  const answered = await post(handler, message, { headers: { ...headers, 'x-key': 'of ada' } })
  assert.is(await textOf(answered), '["ada","the env"]')
})

test('other hosts, origins and paths, and bodies that are too long, are refused', async (t) => {
  const handler = serve(t, { limits: { messageBytes: 1_000 } })
  const [message, { headers }] = modern('echo', { text: 'hello' })
  const status = async (more: Record<string, string>) =>
    (await post(handler, message, { headers: { ...headers, ...more } })).status
  assert.is(await status({ host: 'evil.example.com' }), 403)
  assert.is(await status({ origin: 'https://evil.example.com' }), 403)
  assert.is((await post(handler, message, { headers, path: '/other' })).status, 404)
  assert.is((await post(handler, ...modern('echo', { text: 'x'.repeat(2_000) }))).status, 413)
  assert.is(await status({}), 200)
})

test('a body that does not come to its end within 30 s is refused', async (t) => {
  const clock = createFakeClock()
  const handler = serve(t, { clock })
  assert.is((await post(handler, ...modern('echo', { text: 'hello' }))).status, 200)
  const [, { headers }] = modern('echo')
  const asked = new Recording<true>('reads')
  let isEnded = false
  const body = new ReadableStream({
    start: (controller) => controller.enqueue(new TextEncoder().encode('{')),
    pull: () => asked.add(true),
    cancel() {
      isEnded = true
    },
  })
  const given = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }
  const init = { method: 'POST', headers: { ...given, ...headers }, body, duplex: 'half' }
  const answer = handler.fetch(new Request('http://localhost/mcp', init as RequestInit))
  await asked.next()
  await clock.advance(30_000)
  assert.is((await answer).status, 400)
  assert.ok(isEnded)
})

test('who comes over https is known as that', async (t) => {
  const handler = serve(t, {
    authenticate: ({ scheme }) => ({ issuer: 'urn:test', subject: String(scheme) }),
  })
  const [message, { headers }] = modern('who')
  const init = {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      ...headers,
    },
    body: JSON.stringify({ jsonrpc: '2.0', ...message }),
  }
  assert.match(await textOf(await handler.fetch(new Request('https://localhost/mcp', init))), /"https"/)
})

test('a session of sealed ids goes on in another isolate', async (t) => {
  const options = { engine: sealed({ keys: ['0123456789abcdef0123456789abcdef'] }) }
  const headers = await open(serve(t, options))
  const elsewhere = serve(t, { engine: sealed({ keys: ['0123456789abcdef0123456789abcdef'] }) })
  assert.is(await textOf(await post(elsewhere, call('echo', { text: 'hello' }), { headers })), 'hello')
  const stranger = serve(t, { engine: sealed({ keys: ['another key of 32 characters....'] }) })
  assert.is((await post(stranger, call('echo', { text: 'hello' }), { headers })).status, 404)
})

test('options may come from the environment of the first request', async (t) => {
  const heard: unknown[] = []
  const handler = serveFetch<string>(definition, (env) => {
    heard.push(env)
    return { logger: false, path: '/other' }
  })
  t.after(() => handler.close())
  assert.equal(heard, [])
  const [message, { headers }] = modern('echo', { text: 'hello' })
  const path = '/other'
  assert.is((await post(handler as FetchHandler, message, { headers, path })).status, 200)
  assert.is((await post(handler as FetchHandler, message, { headers, path })).status, 200)
  assert.equal(heard, ['the env'])
})

test('an async function of the environment serves nobody', async (t) => {
  const given = async () => ({ authenticate: () => undefined, logger: false as const })
  const handler = serveFetch(defineServer({ name: 'shop', version: '1', tools: [who] }), given as never)
  t.after(() => handler.close())
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping' })
  const answer = await handler.fetch(new Request('http://localhost/mcp', { method: 'POST', body }))
  assert.is(answer.status, 500)
})

test('a server that was closed starts again with the next request', async (t) => {
  const handler = serve(t)
  await handler.close()
  assert.is((await post(handler, ...modern('echo', { text: 'hello' }))).status, 200)
  await handler.close()
  assert.is((await post(handler, ...modern('echo', { text: 'hello' }))).status, 200)
})

test('wrong options, and parts that are not in here, are told at once', () => {
  for (const [field, options] of [
    ['limits.sessions', { limits: { sessions: 'many' } }],
    ['limits.messageBytes', { limits: { messageBytes: 'many' } }],
    ['port', { port: 3000 }],
    ['engine', { engine: 'memory' }],
  ] as const)
    assert.throws(
      () => serveFetch(definition, options as never),
      (error: { code: string; data: { field: string } }) =>
        error.code === 'BAD_OPTION' && error.data.field === field,
    )
  const resource = 'https://mcp.example.com/mcp'
  const provider = oidc({ issuer: 'https://login.example.com', clientId: 'a', clientSecret: 'b' })
  const own = signIn({ with: provider, resource })
  const engine = sealed({ keys: ['0123456789abcdef0123456789abcdef'] })
  for (const [field, options] of [
    ['auth', { auth: own, lifetime: 'request', engine }],
    ['engine', { auth: own, engine }],
    ['auth', { auth: signIn({ with: provider, resource, dpop: true }) }],
    ['trustProxy', { auth: own }],
  ] as const)
    assert.throws(
      () => serveFetch(definition, options),
      (error: { code: string; message: string; data: { field: string } }) =>
        error.code === 'BAD_OPTION' && error.data.field === field && error.message.includes('signIn()'),
    )
  const slow = defineTool({ name: 'slow', task: 'optional', run: () => 'slow' })
  const tools = defineServer({ name: 'slow', version: '1', tools: [slow] })
  assert.throws(
    () => serveFetch(tools),
    (error: unknown) => error instanceof ServerError && /tools with task.*mount\(\)/.test(error.message),
  )
})

test.run()
