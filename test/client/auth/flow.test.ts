import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import * as assert from 'uvu/assert'
import {
  type AuthStorage,
  ClientError,
  memoryAuthStorage,
  type OAuthOptions,
  type ReturnedSignIn,
  type SignIn,
} from 'caduceus/client'
import { createFakeClock, systemWorld } from 'caduceus/runtime'
import { TransportError } from 'caduceus/transports'
import { AuthFlow } from '../../../client/auth/flow.js'
import { readOAuthOptions } from '../../../client/auth/options.js'
import { Proofs } from '../../../client/auth/proofs.js'
import type { TokenDesk } from '../../../client/auth/tokens-actor.js'
import { heard } from '../../support/heard.js'
import { suite, type TestContext } from '../../support/suite.js'
import { end } from '../../transports/_http.js'
import { rejection } from '../_raw.js'

const test = suite('getting and keeping tokens')

type Form = Record<string, string>
type Answer = { readonly status?: number; readonly body?: object }

/** A server that is its own issuer, and a clock that stands. `token` answers its token endpoint. */
async function start(t: TestContext) {
  const forms: Form[] = []
  const own = {
    token: (_form: Form): Answer | Promise<Answer> => ({ body: tokens(forms.length) }),
    metadata: {} as object,
    /** Where the metadata of the resource are. */
    place: '/.well-known/oauth-protected-resource',
  }
  const listener = createServer(async (request, response) => {
    let text = ''
    for await (const chunk of request) text += String(chunk)
    const { status = 200, body = {} } = await answerTo(request.url ?? '', text)
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
  })
  async function answerTo(path: string, text: string): Promise<Answer> {
    if (path === own.place) return { body: { resource: origin, authorization_servers: [origin] } }
    if (path === '/.well-known/oauth-authorization-server')
      return {
        body: {
          issuer: origin,
          authorization_endpoint: `${origin}/authorize`,
          token_endpoint: `${origin}/token`,
          registration_endpoint: `${origin}/register`,
          code_challenge_methods_supported: ['S256'],
          ...own.metadata,
        },
      }
    if (path === '/register') return { body: { client_id: 'new' } }
    if (path !== '/token') return { status: 404 }
    const form = Object.fromEntries(new URLSearchParams(text))
    forms.push(form)
    return own.token(form)
  }
  listener.listen(0, '127.0.0.1')
  await once(listener, 'listening')
  t.after(() => end(listener))
  const origin = `http://127.0.0.1:${(listener.address() as AddressInfo).port}`

  const clock = createFakeClock()
  const world = { ...systemWorld, ...clock, date: () => clock.now() }
  const values = memoryAuthStorage()
  const keys = { tokens: `tokens ${origin} ${origin}`, client: `client ${origin}`, place: `server ${origin}` }

  function flowOf(options: OAuthOptions = {}) {
    const desk: TokenDesk = { tokens: undefined }
    const settings = readOAuthOptions({ storage: values, ...options })
    const flow = new AuthFlow(settings, new URL(origin), { world, proofs: new Proofs(), desk })
    const renew = (refused?: string, stepUp = false) =>
      flow.renew({ refused, challenge: stepUp ? { scope: 'more' } : undefined, stepUp }, t.signal)
    return { flow, desk, renew }
  }
  /** As an earlier program has left it. */
  async function signedIn(more: object = {}): Promise<void> {
    await values.write(keys.place, { issuer: origin })
    await values.write(keys.client, { client_id: 'own', redirectUri: 'http://127.0.0.1:3000/callback' })
    await values.write(keys.tokens, { accessToken: 'a0', refreshToken: 'r0', issuer: origin, ...more })
  }
  const kept = async (): Promise<unknown> => (await values.read(keys.tokens))?.accessToken
  return { own, forms, origin, clock, values, keys, flowOf, signedIn, kept }
}

function tokens(count: number): object {
  return { access_token: `a${count}`, refresh_token: `r${count}`, token_type: 'Bearer' }
}

/** A person who is quick, or waits for `before`. */
function person(before?: () => Promise<unknown>): SignIn {
  return {
    begin: async () => ({
      redirectUri: 'http://127.0.0.1:3000/callback',
      async authorize(url) {
        await before?.()
        return new URLSearchParams({ code: 'c', state: url.searchParams.get('state') ?? '' })
      },
    }),
  }
}

/** A storage that refuses to write, as long as there is an error. */
function moody(storage: AuthStorage) {
  const tried = heard<string>()
  const mood = { error: undefined as Error | undefined, tried }
  const write: AuthStorage['write'] = async (key, value) => {
    tried.add(key)
    if (mood.error !== undefined) throw mood.error
    return storage.write(key, value)
  }
  return { mood, storage: { ...storage, write } }
}

test('tokens that cannot be stored are tried again, three times and each 5 s', async (t) => {
  const { forms, clock, values, keys, flowOf, signedIn, kept } = await start(t)
  await signedIn()
  const { mood, storage } = moody(values)
  const { renew } = flowOf({ storage })
  mood.error = new Error('no disk')
  const warned = once(process, 'warning')
  const renewed = renew('a0')
  for (const ms of [100, 400, 1_500]) {
    await mood.tried.next()
    await clock.advance(ms - 1)
    const before = mood.tried.all.length
    await clock.advance(1)
    assert.is(mood.tried.all.length, before + 1)
  }
  assert.is((await renewed).accessToken, 'a1')
  assert.match(String((await warned)[0]), 'new tokens cannot be stored')
  // the storage has the token that is used up: nobody trades it again
  await mood.tried.next()
  const again = renew('a0')
  await mood.tried.next()
  await clock.advance(2_000)
  assert.equal([(await again).accessToken, forms.length, await kept()], ['a1', 1, 'a0'])
  // the first of these attempts is in vain, too
  await clock.advance(9_999)
  mood.error = undefined
  await values.write(keys.place, undefined)
  assert.is(await kept(), 'a0')
  await clock.advance(1)
  assert.is(await kept(), 'a1')
  assert.ok((await values.read(keys.place)) !== undefined)
  assert.is(clock.pending, 0)
})

test('tokens that no storage will ever take are used, and not stored again', async (t) => {
  const { clock, values, flowOf, signedIn } = await start(t)
  await signedIn()
  const { mood, storage } = moody(values)
  const { renew, desk } = flowOf({ storage })
  mood.error = new TransportError('MESSAGE_TOO_LONG', 'too long')
  const warned = once(process, 'warning')
  assert.is((await renew('a0')).accessToken, 'a1')
  assert.match(String((await warned)[0]), 'too long')
  assert.equal([mood.tried.all.length, desk.flush, clock.pending], [1, undefined, 0])
})

/** A renewal whose tokens could not be stored, of which its program has been warned. */
async function renewedUnsaved({
  clock,
  values,
  flowOf,
}: Pick<Awaited<ReturnType<typeof start>>, 'clock' | 'values' | 'flowOf'>) {
  const { mood, storage } = moody(values)
  const made = flowOf({ storage })
  mood.error = new Error('no disk')
  const warned = once(process, 'warning')
  const renewed = made.renew('a0')
  await mood.tried.next()
  await clock.advance(2_000)
  await renewed
  await warned
  return { ...made, mood }
}

test('tokens that another program has stored meanwhile are not overwritten', async (t) => {
  const { origin, clock, values, keys, flowOf, signedIn, kept } = await start(t)
  await signedIn()
  const { mood, renew, desk } = await renewedUnsaved({ clock, values, flowOf })
  await values.write(keys.tokens, { accessToken: 'theirs', refreshToken: 'r', issuer: origin })
  mood.error = undefined
  await desk.flush?.()
  assert.is(await kept(), 'theirs')
  await clock.advance(5_000)
  assert.is(await kept(), 'theirs')
  assert.is((await renew('a1')).accessToken, 'theirs')
})

test('tokens that could not be stored are not stored after a sign-out', async (t) => {
  const { clock, values, flowOf, signedIn, kept } = await start(t)
  await signedIn()
  const { mood, flow, desk } = await renewedUnsaved({ clock, values, flowOf })
  mood.error = undefined
  await flow.forget(t.signal)
  await desk.flush?.()
  await clock.advance(5_000)
  assert.is(await kept(), undefined)
})

test('more scopes that come after a sign-out are not kept, now or later', async (t) => {
  for (const isBroken of [false, true]) {
    const { clock, values, flowOf, signedIn, kept } = await start(t)
    await signedIn()
    const { mood, storage } = moody(values)
    const asked = heard<undefined>()
    const answered = heard<undefined>()
    const signIn = person(() => {
      asked.add(undefined)
      return answered.next()
    })
    const { flow, renew, desk } = flowOf({ storage, signIn })
    const more = rejection(renew('a0', true))
    await asked.next()
    await flow.forget(t.signal)
    assert.is(await kept(), undefined)
    const before = mood.tried.all.length
    if (isBroken) mood.error = new Error('no disk')
    answered.add(undefined)
    if (isBroken) {
      await mood.tried.next(() => mood.tried.all.length > before)
      // by its last attempt nothing was written, and now it could be
      await clock.advance(1_999)
      const warned = once(process, 'warning')
      await clock.advance(1)
      await warned
      mood.error = undefined
    }
    const error = await more
    if (!isBroken) {
      assert.equal([error.code, error.retryable], ['AUTHORIZATION_FAILED', true])
      assert.equal([error.message, error.data], ['somebody has signed out meanwhile', { sent: false }])
    }
    await desk.flush?.()
    await clock.advance(10_000)
    assert.is(await kept(), undefined, String(isBroken))
  }
})

test('a refresh token is dropped on a word of OAuth, and on no other refusal', async (t) => {
  for (const [answer, left] of [
    [{ status: 400, body: { error: 'invalid_grant' } }, undefined],
    [{ status: 400, body: { error: 'strange' } }, 'a0'],
    [{ status: 403, body: { error: 'Forbidden' } }, 'a0'],
    [{ status: 403 }, 'a0'],
    [{ status: 503, body: { error: 'invalid_grant' } }, 'a0'],
  ] as const) {
    const { own, flowOf, signedIn, kept } = await start(t)
    await signedIn()
    own.token = () => answer
    await rejection(flowOf().renew('a0'))
    assert.is(await kept(), left, JSON.stringify(answer))
    // a person who is there is asked at once, and the token stays until the answer
    const left2: unknown[] = []
    const signIn = person(async () => left2.push(await kept()))
    own.token = ({ grant_type }) => (grant_type === 'refresh_token' ? answer : { body: tokens(7) })
    await signedIn()
    if (answer.status === 503) continue
    assert.is((await flowOf({ signIn }).renew('a0')).accessToken, 'a7')
    assert.equal([left2, await kept()], [[left], 'a7'])
  }
})

test('a client that its issuer does not know is forgotten, and not a later one', async (t) => {
  for (const error of ['invalid_client', 'unauthorized_client', 'invalid_grant']) {
    const { own, values, keys, flowOf, signedIn } = await start(t)
    own.token = () => ({ status: 400, body: { error } })
    const left = async (client?: object): Promise<unknown> => {
      await signedIn({ client })
      await rejection(flowOf().renew('a0'))
      return (await values.read(keys.client))?.client_id
    }
    const forgotten = error === 'invalid_grant' ? 'own' : undefined
    assert.is(await left({ client_id: 'own' }), forgotten, error)
    assert.is(await left({ client_id: 'older' }), 'own', error)
  }
})

/** What a person came back with, to a program that has not begun it. */
function cameBack(origin: string, begun: object): SignIn {
  const facts = { issuer: origin, verifier: 'v'.repeat(43), state: 's', challenge: 'c' }
  const all = { ...facts, redirectUri: 'http://127.0.0.1:3000/callback', ...begun }
  const parameters = new URLSearchParams({ code: 'code-of-this-sign-in', state: 's' })
  let given: ReturnedSignIn | undefined = { begun: all as ReturnedSignIn['begun'], parameters }
  return {
    begin: () => Promise.reject(new Error('nobody is asked')),
    async returned() {
      const found = given
      given = undefined
      return found
    },
  }
}

test('a person who comes back is signed in with what was asked for, where it was', async (t) => {
  const { own, forms, origin, values, keys, flowOf } = await start(t)
  // no place that is asked without being told
  own.place = '/elsewhere'
  const begun = {
    ...{ scope: 'a b', steppedUpTo: 'a b', resourceMetadata: `${origin}/elsewhere` },
    client: { client_id: 'own' },
  }
  const found = await flowOf({ signIn: cameBack(origin, begun) }).flow.load(t.signal)
  assert.equal([found?.accessToken, found?.scope, found?.steppedUpTo], ['a1', 'a b', 'a b'])
  assert.equal([forms[0]?.client_id, forms[0]?.resource], ['own', origin])
  assert.equal(await values.read(keys.place), { issuer: origin, resourceMetadata: `${origin}/elsewhere` })
  assert.is((await flowOf().flow.load(t.signal))?.accessToken, 'a1')
})

test('a person who comes back has tokens that are bound, where that is wanted', async (t) => {
  const { own, origin, flowOf } = await start(t)
  own.metadata = { dpop_signing_alg_values_supported: ['ES256'] }
  own.token = () => ({ body: { ...tokens(1), token_type: 'DPoP' } })
  const signIn = cameBack(origin, { client: { client_id: 'own' } })
  const found = await flowOf({ signIn, dpop: true }).flow.load(t.signal)
  assert.equal([found?.accessToken, found?.key?.alg], ['a1', 'ES256'])
})

test('a code that is refused for its client costs that client, not a later one', async (t) => {
  const { own, origin, values, keys, flowOf } = await start(t)
  own.token = () => ({ status: 400, body: { error: 'invalid_client' } })
  const left = async (begun: object): Promise<unknown> => {
    await values.write(keys.client, { client_id: 'own' })
    const error = await rejection(flowOf({ signIn: cameBack(origin, begun) }).flow.load(t.signal))
    assert.ok(error instanceof ClientError)
    assert.is((error.data as { status?: unknown }).status, 400)
    return (await values.read(keys.client))?.client_id
  }
  assert.is(await left({ client: { client_id: 'older' } }), 'own')
  assert.is(await left({ client: { client_id: 'own' } }), undefined)
  assert.is(await left({}), undefined)
})

test.run()
