// second tier: time
// shares a process
import { once } from 'node:events'
import { inspect } from 'node:util'
import * as assert from 'uvu/assert'
import {
  type Client,
  ClientError,
  memoryAuthStorage,
  oauth,
  type OAuthOptions,
  type ReturnedSignIn,
  type SignIn,
} from 'caduceus/client'
import { systemWorld } from 'caduceus/runtime'
import { type ClientAuth, http } from 'caduceus/transports'
import { heard } from '../../support/heard.js'
import { suite, type TestContext } from '../../support/suite.js'
import { json, type Seen, status } from '../../transports/_http.js'
import {
  type GuardedServer,
  type OAuthServer,
  quickSignIn,
  startGuarded,
  startOAuthServer,
} from './_oauth.js'
import { rejection, watch } from '../_raw.js'

const test = suite('OAuth client')

async function setup(t: TestContext) {
  const issuer = await startOAuthServer(t)
  const server = await startGuarded(t, issuer)
  return { issuer, server }
}

function connect(t: TestContext, server: GuardedServer, options: OAuthOptions = {}) {
  const signIn = quickSignIn()
  const auth = oauth({ signIn, ...options })
  t.after(() => auth.close())
  const { client } = watch(t, { transport: http(server.url, { auth, stream: false }) })
  return { client, auth, signIn }
}

function grants(issuer: OAuthServer): (string | undefined)[] {
  return issuer.of('/token').map(({ form }) => form.grant_type)
}

test('sign-in runs discovery, registration and authorization with resource and PKCE', async (t) => {
  const { issuer, server } = await setup(t)
  const { client, signIn } = connect(t, server)
  assert.is((await client.callTool('x')).text, 'in')
  assert.is(signIn.opened.length, 1)
  const asked = signIn.opened[0]?.searchParams
  assert.is(asked?.get('resource'), server.url)
  assert.is(asked?.get('code_challenge_method'), 'S256')
  assert.is(asked?.get('scope'), null)
  const [registered] = issuer.of('/register')
  assert.equal(registered?.form.application_type, 'native')
  assert.is(issuer.of('/token')[0]?.form.resource, server.url)
})

test('a hundred calls refused with 401 at once refresh a rotating token once', async (t) => {
  const { issuer, server } = await setup(t)
  const { client } = connect(t, server)
  await client.callTool('x')
  issuer.good.clear()
  const calls = Array.from({ length: 100 }, () => client.callTool('x'))
  assert.equal(new Set((await Promise.all(calls)).map(({ text }) => text)), new Set(['in']))
  assert.equal(grants(issuer), ['authorization_code', 'refresh_token'])
  assert.is(issuer.reuses, 0)
})

test('clients that share a storage share tokens, and refresh them once', async (t) => {
  const { issuer, server } = await setup(t)
  const storage = memoryAuthStorage()
  const pair = [connect(t, server, { storage }), connect(t, server, { storage })]
  await Promise.all(pair.map(({ client }) => client.callTool('x')))
  assert.equal(grants(issuer), ['authorization_code'])
  issuer.good.clear()
  await Promise.all(pair.flatMap(({ client }) => [client.callTool('x'), client.callTool('x')]))
  assert.equal(grants(issuer), ['authorization_code', 'refresh_token'])
  assert.is(issuer.reuses, 0)
})

test('tokens arrive even if the client that asked first has closed', async (t) => {
  const { issuer, server } = await setup(t)
  const auth = oauth({ signIn: quickSignIn(), requestTimeout: 1_000 })
  t.after(() => auth.close())
  const transport = http(server.url, { auth, stream: false })
  const first = watch(t, { transport }).client
  await first.callTool('x')
  await first.close()
  const second = watch(t, { transport }).client
  await second.callTool('x')
  issuer.good.clear()
  issuer.silent.add('/token')
  const error = await rejection(second.callTool('x', {}, { timeout: 10_000 }))
  assert.is((error.cause as { code?: unknown }).code, 'AUTHORIZATION_UNAVAILABLE')
})

test('a failed sign-in rejects all waiting calls with the reason', async (t) => {
  const { issuer, server } = await setup(t)
  issuer.redirect = ({ state, iss }) => ({
    state,
    iss,
    error: 'access_denied',
    error_description: 'not today',
  })
  const { client, signIn } = connect(t, server)
  const errors = await Promise.all(Array.from({ length: 20 }, () => rejection(client.callTool('x'))))
  for (const error of errors) assert.match(error.message, /access_denied: not today/)
  assert.is(signIn.opened.length, 1)
})

for (const how of ['throws', 'hangs'] as const)
  test(`a sign-in whose end ${how} gives its tokens all the same`, async (t) => {
    const { server } = await setup(t)
    const quick = quickSignIn()
    const close = (): Promise<void> =>
      how === 'throws' ? Promise.reject(new Error('not closed')) : new Promise(() => {})
    const signIn = { begin: async () => ({ ...(await quick.begin(undefined)), close }) }
    const warned = once(process, 'warning')
    const { client } = connect(t, server, { signIn })
    assert.is((await client.callTool('x')).text, 'in')
    if (how === 'throws')
      assert.match(String((await warned)[0]), 'the end of a sign-in failed: Error: not closed')
  })

test('a storage that reads null has nothing, and a sign-out wants an address', async (t) => {
  const { server } = await setup(t)
  const storage = memoryAuthStorage()
  const read = async (key: string) => (await storage.read(key)) ?? (null as never)
  const { client, auth } = connect(t, server, { storage: { ...storage, read } })
  assert.is((await client.callTool('x')).text, 'in')
  assert.is((await rejection(auth.signOut('not a url'))).code, 'BAD_OPTION')
})

test('a sign-out whose storage fails, or hangs, is told, and costs no other server', async (t) => {
  const { server } = await setup(t)
  const storage = memoryAuthStorage()
  let how: 'works' | 'fails' | 'hangs' = 'works'
  const read = (key: string): ReturnType<typeof storage.read> => {
    if (how === 'hangs') return new Promise(() => {})
    return how === 'fails' ? Promise.reject(new Error('no disk')) : storage.read(key)
  }
  const { client, auth } = connect(t, server, { storage: { ...storage, read }, requestTimeout: 500 })
  await client.callTool('x')
  how = 'fails'
  for (let i = 0; i < 10; i++) {
    const error = await rejection(auth.signOut(server.url))
    assert.equal([error.code, /no disk/.test(error.message)], ['AUTHORIZATION_FAILED', true])
  }
  how = 'hangs'
  assert.is((await rejection(auth.signOut(server.url))).code, 'AUTHORIZATION_FAILED')
  how = 'works'
  await auth.signOut(server.url)
  assert.is((await client.callTool('x')).text, 'in')
})

test('a person who is asked for more scopes holds up no refresh', async (t) => {
  const { issuer, server } = await setup(t)
  server.wants.set('wide', 'more')
  const quick = quickSignIn()
  let answers = (): void => {}
  const answered = new Promise<void>((resolve) => {
    answers = resolve
  })
  const asked = heard<URL>()
  const signIn: SignIn = {
    async begin(preferred) {
      const session = await quick.begin(preferred)
      const authorize: typeof session.authorize = async (url, signal) => {
        asked.add(url)
        if (asked.all.length > 1) await answered
        return session.authorize(url, signal)
      }
      return { ...session, authorize }
    },
  }
  const { client } = connect(t, server, { signIn })
  await client.callTool('x')
  const wide = client.callTool('wide')
  await asked.next()
  await asked.next()
  // the token is not taken any more, while the person thinks
  issuer.good.clear()
  assert.is((await client.callTool('x')).text, 'in')
  assert.equal(grants(issuer), ['authorization_code', 'refresh_token'])
  answers()
  assert.is((await wide).text, 'in')
  assert.is((await client.callTool('wide')).text, 'in')
  assert.equal(grants(issuer), ['authorization_code', 'refresh_token', 'authorization_code'])
})

const repeats = {
  'a challenge': (seen: Seen, token: string) =>
    status(seen, 401, { 'www-authenticate': `Bearer error_description="no ${token}"` }),
  'a challenge for scopes': (seen: Seen, token: string) =>
    status(seen, 403, {
      'www-authenticate': `Bearer error="insufficient_scope", error_description="${token}"`,
    }),
  'a body of JSON': (seen: Seen) =>
    json(seen, { error: { code: 1, message: `bad ${seen.headers.authorization}` } }, 400),
  'a line of text': (seen: Seen, token: string) =>
    void seen.response.writeHead(500, { 'content-type': 'text/plain' }).end(`no ${token}`),
} as const

for (const [where, repeat] of Object.entries(repeats))
  test(`an access token that the server repeats in ${where} is in no error`, async (t) => {
    const { server } = await setup(t)
    const { client } = connect(t, server)
    await client.callTool('x')
    let repeated = 0
    server.instead = (seen) => {
      repeated += 1
      return repeat(seen, String(seen.headers.authorization).replace('Bearer ', ''))
    }
    const error = await rejection(client.callTool('x', {}, { retry: 'never' }))
    const shown = inspect([error, client.state, client.inspect()], { depth: 20, showHidden: true })
    assert.ok(repeated > 0)
    assert.not.match(shown, /access-[\da-f]{8}/)
    // what wants scopes is told by its scopes alone
    if (where !== 'a challenge for scopes') assert.match(shown, /(?:no|bad) \.\.\./)
  })

test('tokens of another program that have ended, too, are refreshed', async (t) => {
  const { issuer, server } = await setup(t)
  const storage = memoryAuthStorage()
  const [one, two] = [connect(t, server, { storage }), connect(t, server, { storage })]
  await one.client.callTool('x')
  await two.client.callTool('x')
  issuer.good.clear()
  await one.client.callTool('x')
  // the second has the first token, and finds another in the storage, which is not taken, either
  issuer.good.clear()
  assert.is((await two.client.callTool('x')).text, 'in')
  assert.equal(grants(issuer), ['authorization_code', 'refresh_token', 'refresh_token'])
})

test('a provider that is closed keeps the answer of a refresh that it has sent', async (t) => {
  const { issuer, server } = await setup(t)
  const storage = memoryAuthStorage()
  const first = connect(t, server, { storage })
  await first.client.callTool('x')
  issuer.good.clear()
  const begun = heard<undefined>()
  let answer = (): void => {}
  issuer.delay = new Promise<void>((resolve) => {
    answer = resolve
  })
  issuer.onToken = () => begun.add(undefined)
  const call = first.client.callTool('x').catch(() => {})
  await begun.next()
  const closed = first.auth.close()
  answer()
  await closed
  await call
  issuer.delay = undefined
  const next = connect(t, server, { storage })
  assert.is((await next.client.callTool('x')).text, 'in')
  assert.equal([next.signIn.opened.length, issuer.reuses], [0, 0])
})

test('a signOut in the middle of a refresh is not undone by it', async (t) => {
  const { issuer, server } = await setup(t)
  const storage = memoryAuthStorage()
  const { client, auth, signIn } = connect(t, server, { storage })
  await client.callTool('x')
  issuer.good.clear()
  const begun = heard<undefined>()
  let answer = (): void => {}
  issuer.delay = new Promise<void>((resolve) => {
    answer = resolve
  })
  issuer.onToken = () => begun.add(undefined)
  const call = client.callTool('x').catch(() => {})
  await begun.next()
  const out = auth.signOut(server.url)
  answer()
  issuer.delay = undefined
  await Promise.all([out, call])
  assert.is(signIn.opened.length, 1)
  await soon(client)
  assert.is(signIn.opened.length, 2)
})

test('a signOut ends a sign-in that nobody answers, and the next one begins', async (t) => {
  const { server } = await setup(t)
  const quick = quickSignIn()
  const opened = heard<URL>()
  const signIn: SignIn = {
    async begin(preferred) {
      const session = await quick.begin(preferred)
      const authorize: typeof session.authorize = (url, signal) => {
        opened.add(url)
        return opened.all.length === 1 ? new Promise(() => {}) : session.authorize(url, signal)
      }
      return { ...session, authorize }
    },
  }
  const { client, auth } = connect(t, server, { signIn })
  const call = client.callTool('x').catch(() => {})
  await opened.next()
  await auth.signOut(server.url)
  await soon(client)
  await call
  assert.is(opened.all.length, 2)
})

test('a storage without room for now is passing', async (t) => {
  const { issuer, server } = await setup(t)
  const storage = memoryAuthStorage()
  let isFull = false
  const exclusive: typeof storage.exclusive = (key, work, signal) => {
    if (!isFull) return storage.exclusive(key, work, signal)
    isFull = false
    return Promise.reject(Object.assign(new Error('no space'), { code: 'ENOSPC' }))
  }
  const { client } = connect(t, server, { storage: { ...storage, exclusive } })
  await client.callTool('x')
  issuer.good.clear()
  isFull = true
  await soon(client)
  assert.equal(grants(issuer), ['authorization_code', 'refresh_token'])
})

test('tokens that cannot be stored are used all the same, and stored later', async (t) => {
  const { issuer, server } = await setup(t)
  const storage = memoryAuthStorage()
  let isFull = false
  const write: typeof storage.write = (key, value) =>
    isFull ? Promise.reject(new Error('no space')) : storage.write(key, value)
  const { client, auth } = connect(t, server, { storage: { ...storage, write } })
  await client.callTool('x')
  isFull = true
  const warned = once(process, 'warning')
  issuer.good.clear()
  await soon(client)
  assert.match(String((await warned)[0]), 'new tokens cannot be stored, other programs have the old ones')
  isFull = false
  // no call of ours: it is stored in a while, at the latest when the provider is closed
  await auth.close()
  const other = connect(t, server, { storage })
  assert.is((await other.client.callTool('x')).text, 'in')
  issuer.good.clear()
  await soon(other.client)
  assert.equal([other.signIn.opened.length, grants(issuer).at(-1), issuer.reuses], [0, 'refresh_token', 0])
})

test('clients of their own on one storage have tokens of their own', async (t) => {
  const { issuer, server } = await setup(t)
  const storage = memoryAuthStorage()
  const ids = ['one', 'two']
  for (const id of ids) {
    const own = { id, secret: 'a-secret', issuer: issuer.issuer }
    const { client } = connect(t, server, { storage, client: own, grant: 'client_credentials' })
    await client.callTool('x')
  }
  const person = connect(t, server, { storage })
  await person.client.callTool('x')
  assert.equal(grants(issuer), ['client_credentials', 'client_credentials', 'authorization_code'])
})

test('after signOut the client is registered anew', async (t) => {
  const { issuer, server } = await setup(t)
  const { client, auth } = connect(t, server)
  await client.callTool('x')
  issuer.good.clear()
  await auth.signOut(server.url)
  await soon(client)
  assert.is(issuer.of('/register').length, 2)
})

test('a rejected refresh token leads to a new sign-in', async (t) => {
  const { issuer, server } = await setup(t)
  const { client } = connect(t, server)
  await client.callTool('x')
  issuer.good.clear()
  issuer.instead = ({ grant_type }) =>
    grant_type === 'refresh_token' ? { status: 400, body: { error: 'invalid_grant' } } : undefined
  assert.is((await client.callTool('x')).text, 'in')
  assert.equal(grants(issuer), ['authorization_code', 'refresh_token', 'authorization_code'])
})

/** Answers of a token endpoint that are no word of OAuth on the refresh token. */
const passing = {
  'a limit': { status: 429, body: { error: 'invalid_request' } },
  'a server that is away for now': { status: 400, body: { error: 'temporarily_unavailable' } },
  'a gateway that speaks JSON': { status: 403, body: { error: 'Forbidden' } },
} as const

for (const [what, answer] of Object.entries(passing))
  test(`a refresh that ${what} refuses is made again, and nobody signs in`, async (t) => {
    const { issuer, server } = await setup(t)
    const client = await machine(t, server)
    issuer.good.clear()
    let refused = 0
    issuer.instead = ({ grant_type }) => {
      refused += 1
      return grant_type === 'refresh_token' && refused === 1 ? answer : undefined
    }
    await soon(client)
    assert.equal(grants(issuer), ['authorization_code', 'refresh_token', 'refresh_token'])
  })

for (const status of [200, 403] as const)
  test(`a refresh that a page with status ${status} answers is made again, and nobody signs in`, async (t) => {
    const { issuer, server } = await setup(t)
    const client = await machine(t, server)
    issuer.good.clear()
    issuer.pages.set('/token', status)
    await soon(client)
    assert.equal(grants(issuer), ['authorization_code', 'refresh_token', 'refresh_token'])
  })

for (const status of [200, 404] as const)
  test(`metadata that are a page with status ${status} for once cost no sign-in`, async (t) => {
    const { issuer, server } = await setup(t)
    const { client } = connect(t, server)
    await client.callTool('x')
    issuer.good.clear()
    issuer.pages.set('/.well-known/oauth-authorization-server', status)
    await soon(client)
    assert.is(issuer.pages.size, 0)
    assert.equal(grants(issuer), ['authorization_code', 'refresh_token'])
  })

test('a person who is there is asked where a page refuses a refresh', async (t) => {
  const { issuer, server } = await setup(t)
  const storage = memoryAuthStorage()
  const { client } = connect(t, server, { storage })
  await client.callTool('x')
  issuer.good.clear()
  issuer.pages.set('/token', 403)
  assert.is((await client.callTool('x')).text, 'in')
  assert.equal(grants(issuer), ['authorization_code', 'refresh_token', 'authorization_code'])
})

test('with a person, metadata that are a page are believed after five minutes', async (t) => {
  const { issuer, server } = await setup(t)
  const { client, pass } = connectLater(t, server)
  await client.callTool('x')
  issuer.good.clear()
  const place = '/.well-known/oauth-authorization-server'
  issuer.pages.set(place, 404)
  const error = await rejection(client.callTool('x', {}, { retry: 'never' }))
  assert.match(String(error.cause ?? error), 'it was in order before')
  issuer.pages.set(place, 404)
  pass(301_000)
  const last = await rejection(client.callTool('x', {}, { retry: 'never' }))
  assert.not.match(String(last.cause ?? last), 'it was in order before')
})

/** A client without a person, whose tokens somebody else has signed in for. */
async function machine(t: TestContext, server: GuardedServer): Promise<Client> {
  const storage = memoryAuthStorage()
  const person = connect(t, server, { storage })
  await person.client.callTool('x')
  await person.client.close()
  const auth = oauth({ storage })
  t.after(() => auth.close())
  const { client } = watch(t, { transport: http(server.url, { auth, stream: false }) })
  await client.callTool('x')
  return client
}

/** Calls until a call gets through. */
async function soon(client: Client): Promise<void> {
  while ((await client.callTool('x').catch(() => undefined))?.text !== 'in')
    await new Promise((resolve) => setTimeout(resolve, 20))
}

/** A client whose tokens grow old by the will of the test. */
function connectLater(t: TestContext, server: GuardedServer) {
  let ahead = 0
  const world = { ...systemWorld, date: () => Date.now() + ahead, now: () => systemWorld.now() + ahead }
  const provider = oauth({ signIn: quickSignIn() })
  t.after(() => provider.close())
  const auth: ClientAuth = {
    authorize: (request) => provider.authorize({ ...request, world }),
    refused: (refusal) => provider.refused(refusal),
  }
  const { client } = watch(t, { transport: http(server.url, { auth, stream: false }) })
  const pass = (ms: number): void => {
    ahead += ms
  }
  return { client, pass }
}

test('a server that writes null for an end that its tokens have not is understood', async (t) => {
  const { issuer, server } = await setup(t)
  issuer.expiresIn = null as never
  const { client } = connect(t, server)
  assert.is((await client.callTool('x')).text, 'in')
  assert.equal(grants(issuer), ['authorization_code'])
})

test('a token that lives for seconds is not renewed for each request', async (t) => {
  const { issuer, server } = await setup(t)
  issuer.expiresIn = 20
  const { client } = connect(t, server)
  for (let i = 0; i < 5; i++) await client.callTool('x')
  assert.equal(grants(issuer), ['authorization_code'])
})

test('an expiring token stays in use while no other can be had', async (t) => {
  const { issuer, server } = await setup(t)
  issuer.expiresIn = 100
  const { client, pass } = connectLater(t, server)
  await client.callTool('x')
  issuer.instead = () => ({ status: 503 })
  pass(90_000)
  for (let i = 0; i < 10; i++) assert.is((await client.callTool('x')).text, 'in')
  const attempts = grants(issuer).filter((grant) => grant === 'refresh_token')
  assert.ok(attempts.length < 5, `${attempts.length} attempts`)
})

test('a token that has ended is refreshed before it is sent', async (t) => {
  const { issuer, server } = await setup(t)
  issuer.expiresIn = 10
  const { client, pass } = connectLater(t, server)
  await client.ready()
  issuer.expiresIn = 3600
  pass(11_000)
  await client.callTool('x')
  const refused = server.seen.all.filter(({ response }) => response.statusCode === 401)
  assert.is(refused.length, 1)
  assert.ok(grants(issuer).includes('refresh_token'))
})

test('a step-up asks for old and new scopes together, and only once', async (t) => {
  const { server } = await setup(t)
  server.metadata = { scopes_supported: ['read'] }
  server.wants.set('write it', 'write')
  const { client, signIn } = connect(t, server)
  await client.callTool('x')
  assert.is((await client.callTool('write it')).text, 'in')
  assert.equal(
    signIn.opened.map(({ searchParams }) => searchParams.get('scope')),
    ['read', 'read write'],
  )
  // the scopes of a token are looked at one by one, so that two at once are never there
  server.wants.set('never', 'a b')
  for (let i = 0; i < 3; i++) assert.match((await rejection(client.callTool('never'))).message, /scopes/)
  assert.is(signIn.opened.length, 3)
  assert.is((await client.callTool('x')).text, 'in')
})

test('a step-up whose person comes back later is asked for once, too', async (t) => {
  const { server } = await setup(t)
  server.metadata = { scopes_supported: ['read'] }
  server.wants.set('never', 'a b')
  const storage = memoryAuthStorage()
  const asked: (string | null)[] = []
  let come: ReturnedSignIn | undefined
  let message = ''
  // each page of a web host is a program of its own
  for (let page = 0; page < 4; page += 1) {
    let left: ReturnedSignIn | undefined
    const signIn: SignIn = {
      begin: async () => ({
        redirectUri: 'http://127.0.0.1:3000/callback',
        async authorize(url, _signal, begun = {}) {
          asked.push(url.searchParams.get('scope'))
          const { headers } = await fetch(url, { redirect: 'manual' })
          left = { begun, parameters: new URL(headers.get('location') ?? '').searchParams }
          throw new ClientError('SIGN_IN_NEEDED', 'the person comes back later')
        },
      }),
      async returned() {
        const found = come
        come = undefined
        return found
      },
    }
    const { client } = connect(t, server, { storage, signIn })
    ;({ message } = await rejection(client.callTool('never')))
    await client.close()
    come = left
  }
  assert.equal(asked, ['read', 'read a b'])
  assert.match(message, /asked for already/)
})

test('a person who comes back to a client that is not known any more leads to another', async (t) => {
  const { issuer, server } = await setup(t)
  const storage = memoryAuthStorage()
  let come: ReturnedSignIn | undefined
  const ids: unknown[] = []
  // each page of a web host is a program of its own
  for (let page = 0; page < 3; page += 1) {
    let left: ReturnedSignIn | undefined
    const signIn: SignIn = {
      begin: async () => ({
        redirectUri: 'http://127.0.0.1:3000/callback',
        async authorize(url, _signal, begun = {}) {
          ids.push(url.searchParams.get('client_id'))
          const { headers } = await fetch(url, { redirect: 'manual' })
          left = { begun, parameters: new URL(headers.get('location') ?? '').searchParams }
          throw new ClientError('SIGN_IN_NEEDED', 'the person comes back later')
        },
      }),
      async returned() {
        const found = come
        come = undefined
        return found
      },
    }
    const { client } = connect(t, server, { storage, signIn })
    issuer.instead = () => (page === 1 ? { status: 401, body: { error: 'invalid_client' } } : undefined)
    await rejection(client.callTool('x'))
    await client.close()
    come = left
  }
  assert.equal([issuer.of('/token').length, issuer.of('/register').length], [1, 2])
  assert.is(new Set(ids).size, 2)
})

test('credentials stay with their issuer; a new issuer means a new registration', async (t) => {
  const { issuer, server } = await setup(t)
  const second = await startOAuthServer(t)
  const { client } = connect(t, server)
  await client.callTool('x')
  server.issuer = second.issuer
  server.servers.push(second)
  issuer.good.clear()
  assert.is((await client.callTool('x')).text, 'in')
  assert.equal([issuer.of('/register').length, second.of('/register').length], [1, 1])
  const [first, other] = [issuer, second].map((one) => one.of('/authorize')[0]?.form.client_id)
  assert.is.not(first, other)
  assert.equal(grants(second), ['authorization_code'])
})

test('servers of one issuer that sign in at once each refresh as their own client', async (t) => {
  const { issuer, server } = await setup(t)
  const other = await startGuarded(t, issuer)
  const storage = memoryAuthStorage()
  const clients = [server, other].map((one, index) => {
    const signIn = quickSignIn(`http://127.0.0.1:${3001 + index}/callback`)
    return connect(t, one, { storage, signIn }).client
  })
  await Promise.all(clients.map((client) => client.callTool('x')))
  assert.is(issuer.of('/register').length, 2)
  issuer.good.clear()
  for (const client of clients) await client.callTool('x')
  const told = issuer.of('/token').map(({ form }) => [form.grant_type, form.resource, form.client_id])
  const clientsOf = (type: string) =>
    Object.fromEntries(told.filter(([grant]) => grant === type).map(([, ...rest]) => rest))
  assert.is(Object.keys(clientsOf('refresh_token')).length, 2)
  assert.equal(clientsOf('refresh_token'), clientsOf('authorization_code'))
})

test('a stored token that no header can carry counts as none', async (t) => {
  const { issuer, server } = await setup(t)
  const storage = memoryAuthStorage()
  const keys: string[] = []
  const write: typeof storage.write = (key, value) => {
    keys.push(key)
    return storage.write(key, value)
  }
  const before = connect(t, server, { storage: { ...storage, write } })
  await before.client.callTool('x')
  await before.auth.close()
  const key = keys.find((one) => one.startsWith('tokens')) ?? ''
  const value = await storage.read(key)
  await storage.write(key, { ...value, accessToken: 'a\r\nx: y', refreshToken: null })
  const { client } = connect(t, server, { storage })
  assert.is((await client.callTool('x')).text, 'in')
  assert.equal(grants(issuer), ['authorization_code', 'authorization_code'])
})

test('a client registered beforehand stays with its issuer', async (t) => {
  const { issuer, server } = await setup(t)
  const second = await startOAuthServer(t)
  const { client } = connect(t, server, { client: { id: 'me' } })
  await client.callTool('x')
  server.issuer = second.issuer
  issuer.good.clear()
  const error = await rejection(client.callTool('x'))
  assert.match(error.message, /client me was used at/)
  assert.equal([second.of('/authorize').length, second.of('/token').length], [0, 0])
})

const liars: Record<string, (parts: { issuer: OAuthServer; server: GuardedServer }) => void> = {
  'metadata of another resource': ({ server }) =>
    (server.metadata = { resource: 'https://evil.example/mcp' }),
  'metadata of another issuer': ({ issuer }) => (issuer.metadata.issuer = `${issuer.issuer}/`),
  'no PKCE': ({ issuer }) => delete issuer.metadata.code_challenge_methods_supported,
  'plain PKCE only': ({ issuer }) => (issuer.metadata.code_challenge_methods_supported = ['plain']),
  'a script to sign in at': ({ issuer }) => (issuer.metadata.authorization_endpoint = 'javascript:alert(1)'),
  'a file to sign in at': ({ issuer }) => (issuer.metadata.authorization_endpoint = 'file:///etc/passwd'),
  'http to somewhere else': ({ issuer }) => (issuer.metadata.token_endpoint = 'http://169.254.169.254/token'),
  'a cloud as issuer': ({ server }) =>
    (server.metadata = { authorization_servers: ['http://169.254.169.254'] }),
}
for (const [what, lie] of Object.entries(liars))
  test(`refused before anybody signs in: ${what}`, async (t) => {
    const parts = await setup(t)
    lie(parts)
    const { client, signIn } = connect(t, parts.server)
    await rejection(client.callTool('x'))
    assert.is(client.state.phase, 'failed')
    assert.equal([signIn.opened.length, parts.issuer.of('/token').length], [0, 0])
  })

const redirects: Record<string, OAuthServer['redirect']> = {
  'the issuer of somebody else': (given) => ({ ...given, iss: 'https://evil.example' }),
  'an issuer that is only nearly the same': (given) => ({ ...given, iss: `${given.iss}/` }),
  'no issuer, though promised': (given) => ({ ...given, iss: undefined }),
  'the state of somebody else': (given) => ({ ...given, state: 'other' }),
  'no state': (given) => ({ ...given, state: undefined }),
}
for (const [what, redirect] of Object.entries(redirects))
  test(`a wrong redirect requests no token: ${what}`, async (t) => {
    const { issuer, server } = await setup(t)
    issuer.metadata.authorization_response_iss_parameter_supported = true
    issuer.redirect = (given) => ({ ...redirect(given), error_description: 'canary of a mix-up' })
    const { client } = connect(t, server)
    const error = await rejection(client.callTool('x'))
    assert.not.match(error.message, /canary/)
    assert.is(issuer.of('/token').length, 0)
  })

test('a token endpoint that answers 401 with a challenge leads to a new registration', async (t) => {
  const { issuer, server } = await setup(t)
  let refused = 0
  issuer.instead = () => {
    refused += 1
    return refused === 1 ? { status: 401, headers: { 'www-authenticate': 'Basic realm="as"' } } : undefined
  }
  const storage = memoryAuthStorage()
  await rejection(connect(t, server, { storage }).client.callTool('x'))
  const { client } = connect(t, server, { storage })
  assert.is((await client.callTool('x')).text, 'in')
  assert.is(issuer.of('/register').length, 2)
})

test('metadata without a token endpoint say that there is none', async (t) => {
  const { issuer, server } = await setup(t)
  delete issuer.metadata.token_endpoint
  const { client } = connect(t, server)
  assert.match((await rejection(client.callTool('x'))).message, 'expected https addresses, got none')
})

test('a sign-in is closed when it ends, in success or failure', async (t) => {
  const { issuer, server } = await setup(t)
  let closed = 0
  let fails = true
  const begin = async () => {
    const session = await quickSignIn().begin(undefined)
    return {
      ...session,
      authorize: (url: URL, signal: AbortSignal) =>
        fails ? Promise.reject(new Error('no screen')) : session.authorize(url, signal),
      close: async () => {
        closed += 1
        assert.is(issuer.of('/token').length, fails ? 0 : 1)
      },
    }
  }
  const failing = connect(t, server, { signIn: { begin } })
  assert.match((await rejection(failing.client.callTool('x'))).message, 'no screen')
  assert.is(closed, 1)
  fails = false
  const { client } = connect(t, server, { signIn: { begin } })
  assert.is((await client.callTool('x')).text, 'in')
  assert.is(closed, 2)
})

test('a sign-in that never ends fails after its time', async (t) => {
  const { server } = await setup(t)
  const begin = async () => ({
    redirectUri: 'http://127.0.0.1:3000/callback',
    authorize: () => new Promise<never>(() => {}),
  })
  const { client } = connect(t, server, { signIn: { begin }, signInTimeout: 1_000 })
  assert.match(
    (await rejection(client.callTool('x'))).message,
    /no tokens came within 1000 ms .*: nobody has signed in/,
  )
})

test(
  'a failing authorization server is tried again',
  async (t) => {
    const { issuer, server } = await setup(t)
    let broken = 0
    issuer.instead = () => (broken++ === 0 ? { status: 503, body: {} } : undefined)
    const { client } = connect(t, server)
    assert.is((await client.callTool('x')).text, 'in')
    assert.is(broken, 2)
  },
  { timeout: 20_000 },
)

for (const place of ['/.well-known/oauth-authorization-server', '/register'])
  test(
    `a broken answer at ${place} is retried`,
    async (t) => {
      const { issuer, server } = await setup(t)
      issuer.tears.add(place)
      const { client } = connect(t, server)
      assert.is((await client.callTool('x')).text, 'in')
      assert.is(issuer.tears.size, 0)
    },
    { timeout: 20_000 },
  )

test('a broken answer at /token ends the attempt: the code is used', async (t) => {
  const { issuer, server } = await setup(t)
  issuer.tears.add('/token')
  const { client, signIn } = connect(t, server)
  assert.match((await rejection(client.callTool('x'))).message, /is not asked again for that/)
  assert.equal([signIn.opened.length, issuer.of('/token').length], [1, 2])
})

test('without a way to ask the user, the error says what to configure', async (t) => {
  const { server } = await setup(t)
  const auth = oauth()
  t.after(() => auth.close())
  const { client } = watch(t, { transport: http(server.url, { auth }) })
  const error = await rejection(client.callTool('x'))
  assert.match(error.message, /somebody has to sign in .* option signIn/)
})

test('a secret goes to its own issuer only, also of a server used for the first time', async (t) => {
  const { issuer, server } = await setup(t)
  const hostile = await startOAuthServer(t)
  const other = await startGuarded(t, hostile)
  const own = { id: 'me', secret: 'canary-secret', issuer: issuer.issuer }
  const auth = oauth({ client: own, grant: 'client_credentials' })
  t.after(() => auth.close())
  const call = (url: string) => {
    const { client } = watch(t, { transport: http(url, { auth, stream: false }) })
    return client.callTool('x')
  }
  const refused = await rejection(call(other.url))
  assert.match(refused.message, /client me belongs to/)
  assert.is((await call(server.url)).text, 'in')
  assert.match((await rejection(call(other.url))).message, /client me belongs to/)
  assert.equal([hostile.of('/token').length, issuer.of('/token').length], [0, 1])
})

test('what an authorization server repeats of a secret or code stands in no error', async (t) => {
  const { issuer, server } = await setup(t)
  const own = { id: 'me', secret: 'canary-secret', issuer: issuer.issuer }
  const { client } = connect(t, server, { client: own })
  const sent: string[] = []
  issuer.instead = (form) => {
    sent.push(...[form.code, form.code_verifier, btoa('me:canary-secret'), 'canary-secret'].map(String))
    return { status: 400, body: { error: 'invalid_grant', error_description: sent.join(' and ') } }
  }
  const { message } = await rejection(client.callTool('x'))
  assert.match(message, /invalid_grant: \.{3} and \.{3} and \.{3} and \.{3}$/)
  assert.is(sent.length, 4)
  for (const one of sent) assert.not.ok(message.includes(one), one)
})

test('a secret that a short code is a part of stands in no error, either', async (t) => {
  const { issuer, server } = await setup(t)
  const own = { id: 'me', secret: 'canary-secret', issuer: issuer.issuer }
  const { client } = connect(t, server, { client: own })
  issuer.redirect = (params) => ({ ...params, code: 'c' })
  issuer.instead = () => ({
    status: 400,
    body: { error: 'invalid_grant', error_description: 'not canary-secret' },
  })
  const { message } = await rejection(client.callTool('x'))
  assert.match(message, /invalid_grant: not \.{3}$/)
})

test('errors, states and inspections contain no secret', async (t) => {
  const { issuer, server } = await setup(t)
  const own = { id: 'me', secret: 'canary-secret', issuer: issuer.issuer }
  const { client } = connect(t, server, { client: own })
  await client.callTool('x')
  const secrets = [...issuer.good.keys(), 'canary-secret', 'refresh-', 'access-']
  issuer.good.clear()
  issuer.instead = () => ({ status: 200, body: { access_token: 'canary-secret', token_type: 'strange' } })
  const error = await rejection(client.callTool('x'))
  const { inspect } = await import('node:util')
  const shown = inspect([error, client.state, client.inspect()], { depth: 20, showHidden: true })
  for (const secret of secrets) assert.not.ok(shown.includes(secret), secret)
})

test.run()
