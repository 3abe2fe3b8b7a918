import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import * as assert from 'uvu/assert'
import { subscribe } from 'caduceus/runtime'
import type { Server } from 'caduceus/server'
import {
  type AuthenticateOptions,
  mount,
  type MountedRequest,
  serveHttp,
  serveSse,
  serveWebSocket,
  TransportError,
  type TransportErrorCode,
} from 'caduceus/transports'
import { initialize } from '../server/_client.js'
import { suite, type TestContext } from '../support/suite.js'
import { startSuiteServer } from './_suite-server.js'
import { upgradeAnswer } from './websocket/_websocket.js'

const test = suite('who is let in', { timeout: 15_000 })

interface Answer {
  readonly status: number
  readonly challenge: string | null
}

const json = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }
const post = (more = {}) => ({
  method: 'POST',
  headers: { ...json, ...more },
  body: JSON.stringify(initialize()),
})

async function told(response: Response): Promise<Answer> {
  const { status, headers } = response
  await response.body?.cancel()
  return { status, challenge: headers.get('www-authenticate') }
}

async function started(t: TestContext, ...args: Parameters<typeof startSuiteServer>): Promise<Server> {
  const server = await startSuiteServer(...args)
  t.after(() => server.stop())
  return server
}

/** Every listener that can be reached over HTTP, with what a first request to it is answered. */
const listeners: {
  readonly [name: string]: (
    t: TestContext,
    options: AuthenticateOptions,
    headers?: Record<string, string>,
  ) => Promise<Answer>
} = {
  http: async (t, options, more) =>
    told(await fetch(String((await started(t, serveHttp(options))).url), post(more))),
  sse: async (t, options, headers) =>
    told(await fetch(String((await started(t, serveSse(options))).url), { headers: headers ?? {} })),
  websocket: async (t, options, headers = {}) =>
    upgradeAnswer(await started(t, serveWebSocket(options)), headers),
  async mount(t, options, more) {
    const mcp = mount(options)
    await started(t, mcp)
    return told(await mcp.fetch(new Request('http://localhost/mcp', post(more))))
  },
}

const thrown = (code: TransportErrorCode, data?: object) => (): never => {
  throw new TransportError(code, 'on purpose', { data })
}

/** What a hook does; the status; the challenge; whether it is told as an error of the program. */
type Row = readonly [hook: () => unknown, status: number, challenge: string | null, isTold: boolean]

const common: readonly Row[] = [
  [() => undefined, 401, 'Bearer', false],
  [() => Promise.resolve(undefined), 401, 'Bearer', false],
  [() => null, 401, 'Bearer', false],
  [thrown('AUTHORIZATION_UNAVAILABLE'), 503, null, false],
  [thrown('UNAUTHORIZED'), 401, 'Bearer', false],
  [() => '', 500, null, true],
  [() => false, 500, null, true],
  [() => true, 500, null, true],
  [() => ({}), 500, null, true],
  [() => ({ issuer: 'x' }), 500, null, true],
  [() => ({ issuer: 'x', subject: '' }), 500, null, true],
  [() => ({ issuer: 'x', subject: undefined }), 500, null, true],
  [thrown('SEND_FAILED'), 500, null, true],
  [
    () => {
      throw new Error('no database')
    },
    500,
    null,
    true,
  ],
  [() => ({ issuer: 'x', subject: 'ada', expiresAt: 1 }), 401, 'Bearer', false],
]

for (const [name, ask] of Object.entries(listeners)) {
  const good = name === 'websocket' ? 101 : 200

  test(`${name}: authenticate lets in principals and 'anonymous', and nobody else`, async (t) => {
    const rows: readonly Row[] = [
      ...common,
      [() => 'anonymous', good, null, false],
      [() => ({ issuer: 'x', subject: 'ada' }), good, null, false],
      [thrown('UNAUTHORIZED', { challenge: 'Basic realm="x"' }), 401, 'Basic realm="x"', false],
    ]
    await check(t, rows, (authenticate) => ask(t, { authenticate: authenticate as never }))
  })

  test(`${name}: verify lets in principals, and nobody else`, async (t) => {
    const rows: readonly Row[] = [
      ...common,
      [() => 'anonymous', 500, null, true],
      [() => ({ issuer: 'x', subject: 'ada' }), good, null, false],
    ]
    const auth = { resource: 'http://localhost/mcp', authorizationServers: ['https://login.example.com'] }
    await check(t, rows, (verify) =>
      ask(t, { auth: { ...auth, verify: verify as never } }, { authorization: 'Bearer x' }),
    )
  })
}

async function check(
  t: TestContext,
  rows: readonly Row[],
  ask: (hook: () => unknown) => Promise<Answer>,
): Promise<void> {
  const strays: unknown[] = []
  t.after(subscribe('stray', ({ error }) => strays.push(error)))
  for (const [hook, status, challenge, isTold] of rows) {
    const answer = await ask(hook)
    assert.is(answer.status, status, String(hook))
    if (challenge === null) assert.is(answer.challenge, null, String(hook))
    else assert.ok(answer.challenge?.startsWith(challenge), `${hook}: ${answer.challenge}`)
    assert.is(strays.splice(0).length, isTold ? 1 : 0, String(hook))
  }
}

test('a framework without a principal admits nobody unless told to', async (t) => {
  const ada = { issuer: 'x', subject: 'ada' }
  for (const [options, known, status] of [
    [{}, {}, 200],
    [{}, { principal: ada }, 200],
    [{}, { principal: 'anonymous' }, 200],
    [{}, { principal: undefined }, 401],
    [{}, { principal: null }, 401],
    [{ authenticate: () => undefined }, {}, 401],
    [{ authenticate: () => undefined }, { principal: ada }, 200],
    [{ authenticate: () => undefined }, { principal: 'anonymous' }, 200],
    [{ authenticate: () => ada }, { principal: undefined }, 200],
  ] as readonly [AuthenticateOptions, MountedRequest, number][]) {
    const mcp = mount(options)
    await started(t, mcp)
    const shown = JSON.stringify([options, known])
    const fetched = await told(await mcp.fetch(new Request('http://localhost/mcp', post()), known))
    assert.equal(fetched, { status, challenge: status === 401 ? 'Bearer' : null }, shown)
    const host = createServer((request, response) => mcp.handle(request, response, known))
    await new Promise<void>((resolve) => host.listen(0, '127.0.0.1', resolve))
    t.after(() => host.close().closeAllConnections())
    const url = `http://127.0.0.1:${(host.address() as AddressInfo).port}/mcp`
    assert.is((await told(await fetch(url, post()))).status, status, shown)
  }
})

test.run()
