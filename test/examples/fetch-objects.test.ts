// second tier: third party
// shares a process
import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import { text as textOf } from 'node:stream/consumers'
import * as assert from 'uvu/assert'
import { suite, type TestContext } from '../support/suite.js'
import { bundleWorker, hasWorkerd, startWorker } from '../support/worker.js'

const test = suite('programs for Durable Objects', { timeout: 60_000 })
const inWorkerd = hasWorkerd ? test : (promise: string) => test.skip(promise, 'workerd is not installed')

/** An example in workerd, asked under the name that it serves. */
async function start(t: TestContext, contents: string, options: object) {
  const { text } = await bundleWorker(contents)
  const { url } = await startWorker(t, text, options)
  return async (path: string, { body = '', headers = {}, method = 'GET' } = {}) => {
    const asked = request(new URL(path, url), {
      method,
      headers: { ...headers, host: 'mcp.example.com' },
      agent: false,
    })
    asked.end(body)
    const [answer] = (await once(asked, 'response')) as [IncomingMessage]
    return { status: answer.statusCode, headers: answer.headers, text: await textOf(answer) }
  }
}

const headers = {
  'content-type': 'application/json',
  accept: 'application/json, text/event-stream',
}
const post = {
  method: 'POST',
  headers,
  body: JSON.stringify({
    jsonrpc: '2.0',
    id: 1,
    method: 'initialize',
    params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'test', version: '1' } },
  }),
}

inWorkerd('a Worker sends requests on to its object, which has the session', async (t) => {
  const ask = await start(
    t,
    `export * from './test/examples/fetch/object.ts'; export { default } from './test/examples/fetch/object.ts'`,
    {
      durableObjects: { SESSIONS: { className: 'Sessions', useSQLite: true } },
    },
  )
  const session = String((await ask('/mcp', post)).headers['mcp-session-id'])
  const call = { name: 'greet', arguments: { whom: 'ada' } }
  const answer = await ask('/mcp', {
    method: 'POST',
    headers: { ...headers, 'mcp-session-id': session, 'mcp-protocol-version': '2025-11-25' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 2, method: 'tools/call', params: call }),
  })
  assert.match(`${answer.status} ${answer.text}`, 'hello ada')
})

inWorkerd('an object in which users sign in is an authorization server', async (t) => {
  const contents = `import 'oidc-provider'; export * from './test/examples/fetch/sign-in.ts'; export { default } from './test/examples/fetch/sign-in.ts'`
  const ask = await start(t, contents, {
    bindings: { CLIENT_ID: 'id', CLIENT_SECRET: 'secret' },
    durableObjects: { USERS: { className: 'Users', useSQLite: true } },
  })
  const refused = await ask('/mcp', post)
  assert.is(refused.status, 401, refused.text)
  const metadata = await ask('/.well-known/oauth-authorization-server')
  assert.is(JSON.parse(metadata.text).issuer, 'https://mcp.example.com')
})

test.run()
