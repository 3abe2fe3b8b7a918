import * as assert from 'uvu/assert'
import { withClient } from 'caduceus/client'
import { systemWorld } from 'caduceus/runtime'
import {
  type Authenticate,
  type AuthOption,
  type AuthRequest,
  type ClientAuth,
  http,
  serveHttp,
  serveSse,
  serveWebSocket,
  sse,
  TransportError,
  websocket,
} from 'caduceus/transports'
import { heard } from '../../../support/heard.js'
import { suite, type TestContext } from '../../../support/suite.js'
import { listen, polite, json, result, status } from '../../_http.js'
import { startSuiteServer } from '../../_suite-server.js'

const test = suite('auth of client transports')

const kinds = {
  http: { serve: serveHttp, connect: (url: string, auth: AuthOption) => http(url, { auth }) },
  sse: { serve: serveSse, connect: (url: string, auth: AuthOption) => sse(url, { auth }) },
  websocket: { serve: serveWebSocket, connect: (url: string, auth: AuthOption) => websocket(url, { auth }) },
}

/** A server that lets in whoever has the good token of the moment. */
async function start(
  t: TestContext,
  kind: keyof typeof kinds,
  errorFor: (token: string) => string | undefined = () => undefined,
) {
  const gate = { good: 'first', refusals: 0 }
  const authenticate: Authenticate = ({ headers }) => {
    if (headers.authorization === `Bearer ${gate.good}`) return { issuer: 'test', subject: 'ada' }
    gate.refusals += 1
    const error = errorFor(String(headers.authorization).replace('Bearer ', ''))
    const challenge = error === undefined ? 'Bearer scope="x"' : `DPoP error="${error}"`
    throw new TransportError('UNAUTHORIZED', 'who are you', { data: { challenge } })
  }
  const server = await startSuiteServer(kinds[kind].serve({ authenticate } as never))
  t.after(() => server.stop())
  const call = (auth: AuthOption): Promise<string> =>
    withClient(
      { transport: kinds[kind].connect(String(server.url), auth), logger: false },
      async (client) => {
        return (await client.callTool('count')).text
      },
    )
  return { gate, call, server }
}

for (const kind of Object.keys(kinds) as (keyof typeof kinds)[]) {
  test(`${kind}: each request has a token, and a refused token fails at once`, async (t) => {
    const { gate, call } = await start(t, kind)
    assert.is(await call('first'), '1')
    assert.is(gate.refusals, 0)
    const error = await call('canary').catch((cause: Error) => cause)
    assert.match(String(error), /refuses the token of the option auth \(401\)/)
    assert.not.match(String(error), /canary/)
  })

  test(`${kind}: a token function is asked again after a refusal`, async (t) => {
    const { gate, call } = await start(t, kind)
    let token = 'old'
    const asked: (string | undefined)[] = []
    const give = ({ refused }: { readonly refused?: string }): string => {
      if (refused !== undefined) asked.push(refused)
      if (refused === token) token = 'first'
      return token
    }
    assert.is(await call(give), '1')
    assert.equal([asked, gate.refusals], [['old'], 1])
  })

  test(`${kind}: what a function gives for a refused token is sent, though it forgets it`, async (t) => {
    const { gate, call } = await start(t, kind)
    assert.is(await call(({ refused }) => (refused === undefined ? 'old' : 'first')), '1')
    const before = gate.refusals
    // two tokens by turns, each good when the other is not
    let turns = 0
    const swap = ({ refused }: { readonly refused?: string }): string => {
      if (refused !== undefined) turns += 1
      return refused === 'first' ? 'second' : refused === 'second' ? 'first' : 'first'
    }
    gate.good = 'second'
    assert.is(await call(swap), '1')
    assert.equal([turns, gate.refusals - before], [1, 1])
  })

  test(`${kind}: a custom provider sees a refusal, and its error rejects all`, async (t) => {
    const { call } = await start(t, kind)
    const heard: unknown[] = []
    const auth: ClientAuth = {
      authorize: () => ({ authorization: 'Bearer wrong' }),
      async refused({ status, challenge, sent }) {
        heard.push([status, challenge, sent.authorization])
        throw new Error('the door is shut')
      },
    }
    const error = await call(auth).catch((cause: Error) => cause)
    assert.match(String(error), /the door is shut/)
    assert.equal(heard, [[401, 'Bearer scope="x"', 'Bearer wrong']])
  })

  test(`${kind}: a custom provider sees requests and answers, or throws`, async (t) => {
    const { call, server } = await start(t, kind)
    const [asked, answers] = [new Set<string>(), [] as number[]]
    let isShut = false
    const auth: ClientAuth = {
      authorize({ method, target, url }) {
        asked.add(`${method} ${(target ?? url).origin}`)
        return { authorization: 'Bearer first' }
      },
      answered({ status, headers }) {
        answers.push(status)
        assert.type(headers, 'object')
        if (isShut) throw new Error('the door is shut')
      },
    }
    assert.is(await call(auth), '1')
    const { origin } = new URL(String(server.url))
    assert.ok(asked.has(`${kind === 'http' ? 'POST' : 'GET'} ${origin}`))
    assert.ok(answers.length > 0 && answers.every((status) => status < 400))
    isShut = true
    assert.match(String(await call(auth).catch((cause: Error) => cause)), /the door is shut/)
  })

  test(`${kind}: a request is repeated once for a nonce and once for a token`, async (t) => {
    const { call, gate } = await start(t, kind, (sent) => (sent === 'first' ? undefined : 'use_dpop_nonce'))
    let [refusals, token] = [0, 'none']
    const auth: ClientAuth = {
      authorize: () => ({ authorization: `Bearer ${token}` }),
      async refused() {
        refusals += 1
        if (refusals === 1) token = 'first'
      },
    }
    assert.is(await call(auth), '1')
    gate.good = 'nobody has it'
    token = 'none'
    assert.match(String(await call(auth).catch((cause: Error) => cause)), /401/)
    assert.is(refusals, 2)
  })
}

test('a call that ends during a token request affects no other', async (t) => {
  const { server } = await start(t, 'http')
  const gaveUp = heard<unknown>()
  let isSlow = false
  const wait = ({ signal }: AuthRequest): Promise<never> =>
    new Promise((_, reject) => {
      isSlow = false
      const give = (): void => {
        gaveUp.add(signal.reason)
        reject(signal.reason)
      }
      signal.addEventListener('abort', give, { once: true })
    })
  const auth: ClientAuth = {
    authorize: (request) => (isSlow ? wait(request) : { authorization: 'Bearer first' }),
  }
  const transport = http(String(server.url), { auth, stream: false })
  await withClient({ transport, logger: false }, async (client) => {
    await client.callTool('count')
    isSlow = true
    const error = await client.callTool('count', {}, { timeout: 50 }).catch((cause: Error) => cause)
    assert.match(String(error), /within 50 ms/)
    assert.is((await client.callTool('count')).text, '2')
    // when the server has been told that it ended
    await gaveUp.next()
    assert.is(client.state.phase, 'ready')
  })
})

test('a request is repeated once only for any provider', async (t) => {
  const server = await listen(t, (seen) => status(seen, 401))
  const auth: ClientAuth = { authorize: () => ({ authorization: 'Bearer x' }), refused: async () => {} }
  const error = await withClient({ transport: http(server.url, { auth }), logger: false }, () => {}).catch(
    (cause: Error) => cause,
  )
  assert.match(String(error), /401/)
  assert.is(server.seen.all.length, 2)
})

function gate(): { open(): void; passed: Promise<void> } {
  let open = (): void => {}
  const passed = new Promise<void>((resolve) => {
    open = resolve
  })
  return { open: () => open(), passed }
}

test('a token that expired while its request waited is replaced once more', async (t) => {
  let good = 'second'
  let release = (): void => {}
  const server = await listen(
    t,
    polite((seen) => {
      const { name } = seen.message.params ?? {}
      const answer = (): void => json(seen, result(seen, { content: [{ type: 'text', text: 'in' }] }))
      if (name === 'hold') release = answer
      else if (seen.headers.authorization === `Bearer ${good}`) answer()
      else status(seen, 401)
    }),
  )
  let [token, next] = ['first', 'second']
  let ahead = 0
  const clock = { ...systemWorld, now: () => systemWorld.now() + ahead }
  let given = 0
  const [begun, held] = [gate(), gate()]
  const auth: ClientAuth = {
    authorize: () => {
      given += 1
      return { authorization: `Bearer ${token}` }
    },
    refused: async () => {
      begun.open()
      await held.passed
      token = next
    },
  }
  const transport = http(server.url, { auth, stream: false, limits: { connections: 1 } })
  await withClient({ transport, clock, logger: false }, async (client) => {
    const call = client.callTool('x')
    await begun.passed
    const hold = client.callTool('hold')
    await server.seen.next(({ message }) => message.params?.name === 'hold')
    const before = given
    held.open()
    while (given === before) await new Promise((resolve) => setImmediate(resolve))
    await new Promise((resolve) => setImmediate(resolve))
    next = 'third'
    good = 'third'
    ahead = 2_000
    release()
    assert.is((await call).text, 'in')
    await hold
    assert.is(client.state.phase, 'ready')
  })
})

test('a token never goes to another origin', async (t) => {
  const elsewhere = await listen(t, polite())
  const home = await listen(t, (seen) => status(seen, 307, { location: elsewhere.url }))
  const auth: ClientAuth = {
    authorize: () => ({ authorization: 'Bearer canary', 'x-canary': '1' }),
    refused: async () => {},
  }
  await withClient({ transport: http(home.url, { auth, stream: false }), logger: false }, (client) =>
    client.ready(),
  )
  assert.ok(home.seen.all.every(({ headers }) => headers.authorization === 'Bearer canary'))
  assert.ok(elsewhere.seen.all.length > 0)
  for (const { headers } of elsewhere.seen.all)
    assert.equal([headers.authorization, headers['x-canary']], [undefined, undefined])
})

test('missing scopes fail that call alone, and the connection goes on', async (t) => {
  const server = await listen(
    t,
    polite((seen) => {
      if (seen.message.params?.name !== 'admin') return json(seen, result(seen, { content: [] }))
      return status(seen, 403, { 'www-authenticate': 'Bearer error="insufficient_scope", scope="admin"' })
    }),
  )
  const transport = http(server.url, { auth: 'token', stream: false })
  await withClient({ transport, logger: false }, async (client) => {
    const error = await client.callTool('admin').catch((cause: Error) => cause)
    assert.match(String(error), /403/)
    assert.equal((await client.callTool('other')).content, [])
  })
})

test('a wrong auth option is refused without showing it', () => {
  for (const auth of ['', 'canary canary', 'canary\r\nx: y', 7, {}, null])
    try {
      http('http://127.0.0.1:1', { auth: auth as never })
      assert.unreachable()
    } catch (error) {
      assert.match(String(error), /auth: expected a token/)
      assert.not.match(String(error), /canary/)
    }
})

test.run()
