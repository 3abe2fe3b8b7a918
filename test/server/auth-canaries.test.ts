import { channel } from 'node:diagnostics_channel'
import { inspect as show } from 'node:util'
import * as assert from 'uvu/assert'
import { formatTree, inspect } from 'caduceus/runtime'
import { defineServer, defineTool, records, type SessionRecord, startServer } from 'caduceus/server'
import { type AuthOptions, introspection, serveHttp } from 'caduceus/transports'
import { suite, type TestContext } from '../support/suite.js'
import { resource, startAuthorizationServer } from '../transports/auth/_authorization-server.js'
import { RawClient } from './_client.js'
import { posted } from './_stateless.js'

const test = suite('secrets of an authorization', { timeout: 15_000 })

const channels = [
  ...['crash', 'supervisor', 'progress', 'stray', 'notice'],
  ...['transport.listener', 'transport.connection', 'transport.stream', 'transport.notice'],
  ...['server.session', 'server.request', 'server.notification'],
].map((name) => channel(`caduceus.${name}`))

/** All that is told of a server while it works, as deep as it goes. */
function eavesdrop(t: TestContext) {
  const told: string[] = []
  const hear = (value: unknown) => void told.push(show(value, { depth: 12, showHidden: true, getters: true }))
  for (const each of channels) {
    each.subscribe(hear)
    t.after(() => each.unsubscribe(hear))
  }
  const write = (facts: object, message: string) => hear([message, facts])
  return { told, hear, logger: { debug: write, info: write, warn: write, error: write } }
}

async function start(t: TestContext, verify: (issuer: string) => AuthOptions['verify']) {
  const issuer = await startAuthorizationServer(t)
  const { told, hear, logger } = eavesdrop(t)
  const verifier = verify(issuer.issuer)
  const auth = {
    resource,
    authorizationServers: [issuer.issuer],
    ...(verifier !== undefined && { verify: verifier }),
  }
  const tools = [
    defineTool({ name: 'fine', run: () => 'fine' }),
    defineTool({ name: 'kept', scopes: ['never'], run: () => 'kept' }),
    defineTool({
      name: 'crash',
      run(_args, ctx) {
        // what an author may well do
        throw new Error(`failed for ${JSON.stringify(ctx.peer.headers)} ${show(ctx, { depth: 12 })}`)
      },
    }),
  ]
  const store = {
    load: () => undefined,
    save: (record: SessionRecord) => void hear(record),
    delete: () => {},
  }
  const definition = defineServer({ name: 'test', version: '1', tools })
  const server = await startServer(definition, {
    transport: serveHttp({ auth }),
    logger,
    engine: records(store),
    exposeErrors: true,
  })
  t.after(() => server.stop())

  /** Goes through all that can be done with a token, and hears what is answered. */
  async function use(token: string): Promise<void> {
    const client = new RawClient(t, server.url)
    client.own = { authorization: `Bearer ${token}` }
    const answers: unknown[] = []
    const opened = await client.open().catch((error: Error) => void answers.push(error.message))
    for (const name of ['fine', 'kept', 'crash']) {
      if (opened !== undefined) answers.push(await client.post(call(name)))
      const { body, headers } = posted('tools/call', { name })
      answers.push(await client.post(body, headers))
    }
    answers.push(await client.send('POST', '{"broken', client.headers()))
    hear(answers)
    hear(formatTree(await inspect(server.ref)))
  }
  return { issuer, told, use, server }
}

const call = (name: string) => ({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name } })

/** A part of a token that is in nothing else. */
function signatureOf(token: string): string {
  return token.slice(token.lastIndexOf('.') + 1)
}

test('no token appears in events, logs, reports, records, trees or answers', async (t) => {
  const { issuer, told, use } = await start(t, () => undefined)
  const tokens = [
    await issuer.issue({ scope: 'read' }),
    await issuer.issue({ aud: 'https://other.example' }),
    await issuer.issue({ exp: 1 }),
    await issuer.issue({}, { kid: 'unknown' }),
    'canary.of.garbage',
  ]
  for (const token of tokens) await use(token)
  assert.ok(told.length > 50)
  const all = told.join('\n')
  assert.match(all, /failed for.*"accept"/)
  for (const token of tokens) assert.not.ok(all.includes(signatureOf(token)), token)
})

test('no token or client secret appears when the issuer fails', async (t) => {
  const client = { id: 'server', secret: 'canary-secret' }
  const { issuer, told, use } = await start(t, (name) =>
    introspection({ issuer: name, endpoint: `${name}/introspect`, client, cacheTime: 0 }),
  )
  issuer.opaque.set('canary-good', { sub: 'ada', aud: resource })
  issuer.opaque.set('canary-other', { sub: 'ada', aud: 'https://other.example' })
  for (const token of ['canary-good', 'canary-other', 'canary-none']) await use(token)
  issuer.broken = true
  await use('canary-good')
  const all = told.join('\n')
  assert.match(all, /failed for.*"accept"/)
  assert.not.match(all, /canary/)
  assert.not.ok(all.includes(Buffer.from('server:canary-secret').toString('base64')))
})

test.run()
