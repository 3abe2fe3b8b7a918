import * as assert from 'uvu/assert'
import { memoryAuthStorage, type OAuthOptions } from 'caduceus/client'
import { systemWorld } from 'caduceus/runtime'
import type { ServerMetadata } from '../../../client/auth/discovery.js'
import { readOAuthOptions } from '../../../client/auth/options.js'
import {
  clientAt,
  forgetClient,
  knownClient,
  registeredRedirect,
  type Registration,
} from '../../../client/auth/registration.js'
import { suite } from '../../support/suite.js'
import { rejection } from '../_raw.js'

const test = suite('registration of an OAuth client')

const issuer = 'https://as.example'
const endpoint = `${issuer}/register`
const redirect = 'http://127.0.0.1:3000/callback'
const now = 1_000_000

/** An issuer that gives the next of these answers to each registration, the last one again and again. */
function at(answers: readonly unknown[] = [{ client_id: 'new' }], options: OAuthOptions = {}, more = {}) {
  const posts: [string, string, Record<string, unknown>][] = []
  const post = async (url: string, type: string, body: string) => {
    posts.push([url, type, JSON.parse(body)])
    const next = answers[Math.min(posts.length, answers.length) - 1]
    return isAnswer(next) ? next : { status: 201, text: JSON.stringify(next), headers: {} }
  }
  const metadata: ServerMetadata = {
    issuer,
    token_endpoint: `${issuer}/token`,
    registration_endpoint: endpoint,
    ...more,
  }
  const storage = memoryAuthStorage()
  const settings = readOAuthOptions({ storage, ...options })
  const world = { ...systemWorld, date: () => now }
  const registration = { ask: { post }, metadata, settings, world } as unknown as Registration
  return { registration, storage, metadata, settings, posts }
}

function isAnswer(value: unknown): value is { status: number; text: string; headers: object } {
  return typeof value === 'object' && value !== null && 'status' in value
}

test('a registered client is used again for its redirect, and for no other', async () => {
  const { registration, storage, posts } = at([{ client_id: 'one', more: 1 }, { client_id: 'two' }])
  assert.is(await knownClient(registration), undefined)
  assert.is(await registeredRedirect(registration), undefined)
  const first = await clientAt(registration, redirect)
  assert.equal([first.id, first.method], ['one', 'none'])
  assert.is(await registeredRedirect(registration), redirect)
  const stored = await storage.read(`client ${issuer}`)
  assert.equal([stored?.client_id, stored?.redirectUri, stored?.more], ['one', redirect, undefined])
  for (const place of [redirect, undefined]) assert.is((await knownClient(registration, place))?.id, 'one')
  const again = await clientAt(registration, redirect)
  assert.equal([again.id, posts.length], ['one', 1])
  assert.not('redirectUri' in (again.registered ?? {}))
  assert.is(await knownClient(registration, 'http://127.0.0.1:4000/callback'), undefined)
  assert.is((await clientAt(registration, 'http://127.0.0.1:4000/callback')).id, 'two')
  assert.is(await registeredRedirect(registration), 'http://127.0.0.1:4000/callback')
})

test('what a storage has for a client is used only if it is one', async () => {
  const { registration, storage } = at()
  for (const none of [null, 'text', ['list']]) {
    await storage.write(`client ${issuer}`, none as never)
    assert.is(await knownClient(registration), undefined)
  }
  await storage.write(`client ${issuer}`, { client_id: 'x', redirectUri: 5 })
  assert.is(await registeredRedirect(registration), undefined)
  assert.is((await knownClient(registration, undefined, { client_id: 'given' }))?.id, 'given')
})

test('a client whose secret has ended is not known any more, and 0 is no end', async () => {
  const { registration, storage } = at()
  const ends = [0, -1, undefined, '5', null, 1_000.001, 2_000, 1, 500, 1_000]
  const known: unknown[] = []
  for (const end of ends) {
    const value = { client_id: 'x', client_secret: 's', redirectUri: redirect, client_secret_expires_at: end }
    await storage.write(`client ${issuer}`, value as never)
    if ((await knownClient(registration, redirect)) !== undefined) known.push(end)
  }
  assert.equal(known, ends.slice(0, 7))
  await clientAt(registration, redirect)
  assert.is((await knownClient(registration, redirect))?.id, 'new')
})

test('a document describes the client only where the issuer says that it takes one', async () => {
  const clientMetadataUrl = 'https://app.example/client'
  const idWith = async (options: OAuthOptions, more: object) =>
    (await clientAt(at(undefined, options, more).registration, redirect)).id
  const supported = { client_id_metadata_document_supported: true }
  assert.is(await idWith({ clientMetadataUrl }, supported), clientMetadataUrl)
  assert.is(await idWith({}, supported), 'new')
  for (const other of [undefined, false, 'yes', 1])
    assert.is(
      await idWith({ clientMetadataUrl }, { client_id_metadata_document_supported: other }),
      'new',
      String(other),
    )
})

test('a client registered beforehand goes to its own issuer, and none is made', async () => {
  const own = { id: 'me', secret: 'canary', issuer }
  const { registration, posts } = at(undefined, { client: own })
  assert.equal(await clientAt(registration, redirect), {
    id: 'me',
    secret: 'canary',
    method: 'client_secret_basic',
  })
  const foreign = at(undefined, { client: own }, { issuer: 'https://evil.example' })
  const error = await rejection(clientAt(foreign.registration, redirect))
  assert.is(
    error.message,
    `client me belongs to ${issuer}, and the server wants tokens of https://evil.example`,
  )
  assert.equal([error.code, error.retryable], ['AUTHORIZATION_FAILED', false])
  const free = at(undefined, { client: { id: 'me' } }, { issuer: 'https://any.example' })
  assert.is((await clientAt(free.registration, redirect)).method, 'none')
  const keyed = at(undefined, { client: { id: 'me', privateKey: 'pem', keyId: 'k' } })
  const { key, method } = await clientAt(keyed.registration, redirect)
  assert.equal([key, method], [{ pem: 'pem', algorithm: 'ES256', id: 'k' }, 'private_key_jwt'])
  assert.is(posts.length, 0)
})

test('a secret goes into the body only where the issuer takes it nowhere else', async () => {
  const [basic, post] = ['client_secret_basic', 'client_secret_post']
  for (const [methods, preset, wanted] of [
    [undefined, basic, 'none'],
    [[post], post, post],
    [[post, basic], basic, basic],
    [['private_key_jwt'], basic, basic],
    [[], basic, basic],
    [['none', post], post, 'none'],
    [post, basic, 'none'],
  ] as const) {
    const more = { token_endpoint_auth_methods_supported: methods }
    const own = at(undefined, { client: { id: 'me', secret: 's', issuer } }, more)
    assert.is((await clientAt(own.registration, redirect)).method, preset, String(methods))
    const { registration, posts } = at(undefined, {}, more)
    await clientAt(registration, redirect)
    assert.is(posts[0]?.[2].token_endpoint_auth_method, wanted, String(methods))
    // an answer that names no method for its secret, or one that we do not know
    const silent = at([{ client_id: 'x', client_secret: 's' }], {}, more)
    assert.is((await clientAt(silent.registration, redirect)).method, preset, String(methods))
  }
})

test('a registered secret is sent as its issuer says, and one that is none is not', async () => {
  const [basic, post] = ['client_secret_basic', 'client_secret_post']
  for (const [client_secret, token_endpoint_auth_method, method] of [
    ['s', post, post],
    ['s', basic, basic],
    ['s', 'strange', basic],
    ['s', 'none', 'none'],
    ['', post, 'none'],
    [undefined, post, 'none'],
    [5, post, 'none'],
  ] as const) {
    const answer = { client_id: 'x', client_secret, token_endpoint_auth_method }
    const client = await clientAt(at([answer]).registration, redirect)
    const secret = method === 'none' ? undefined : 's'
    assert.equal([client.method, client.secret], [method, secret], JSON.stringify(answer))
  }
  const other = { token_endpoint_auth_methods_supported: [post] }
  const named = at([{ client_id: 'x', client_secret: 's', token_endpoint_auth_method: basic }], {}, other)
  assert.is((await clientAt(named.registration, redirect)).method, basic)
})

test('a registration says what it is for, and scopes and bound tokens only if wanted', async () => {
  const { registration, posts } = at()
  await clientAt(registration, redirect)
  const body = {
    client_name: 'Caduceus',
    redirect_uris: [redirect],
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    token_endpoint_auth_method: 'none',
    application_type: 'native',
  }
  assert.equal(posts, [[endpoint, 'application/json', body]])
  const more = at(undefined, { scope: 'a b', dpop: true, clientName: 'Mine' })
  await clientAt(more.registration, redirect)
  const wanted = { scope: 'a b', dpop_bound_access_tokens: true, client_name: 'Mine' }
  assert.equal(more.posts[0]?.[2], { ...body, ...wanted })
})

test('a redirect to this machine, or into an app, is that of a native application', async () => {
  const types: Record<string, string[]> = {
    native: ['http://localhost/c', 'http://[::1]:1/c', 'http://127.0.0.1:1/c', 'com.example.app:/c'],
    web: ['https://app.example/c', 'http://localhost.evil.example/c', 'https://x127.0.0.1.example/c'],
  }
  for (const [type, places] of Object.entries(types))
    for (const place of places) {
      const { registration, posts } = at()
      await clientAt(registration, place)
      assert.is(posts[0]?.[2].application_type, type, place)
    }
})

test('a refused registration says the status, and what the issuer said of the client', async () => {
  const why = JSON.stringify({ error: 'invalid_redirect_uri', error_description: 'not "here"' })
  for (const [status, text, told, retryable] of [
    [400, why, 'status 400: invalid_redirect_uri: not "here"', false],
    [403, JSON.stringify({ error: 'no', error_description: 5 }), 'status 403: no', false],
    [401, '<h1>canary</h1>', 'status 401', false],
    [404, 'null', 'status 404', false],
    [403, '{}', 'status 403', false],
    [202, JSON.stringify({ client_id: 'x' }), 'status 202', false],
    [499, why, 'status 499: invalid_redirect_uri: not "here"', false],
    [500, why, 'status 500', true],
    [503, why, 'status 503', true],
    [429, '{"error":"slow"}', 'status 429: slow', true],
  ] as const) {
    const { registration, storage } = at([{ status, text, headers: {} }])
    const error = await rejection(clientAt(registration, redirect))
    assert.is(error.message, `${issuer} does not register this client (${told})`)
    assert.equal([error.code, error.retryable], ['AUTHORIZATION_FAILED', retryable], told)
    assert.equal(error.data, { status, sent: false })
    assert.is(await storage.read(`client ${issuer}`), undefined)
  }
  const ok = at([{ status: 200, text: '{"client_id":"x"}', headers: {} }])
  assert.is((await clientAt(ok.registration, redirect)).id, 'x')
})

test('a registration without a client_id is none, and an issuer may register nobody', async () => {
  for (const client_id of [undefined, '', 5]) {
    const { registration, storage } = at([{ client_id }])
    const { message } = await rejection(clientAt(registration, redirect))
    assert.is(message, `${issuer} registered a client without a client_id`)
    assert.is(await storage.read(`client ${issuer}`), undefined)
  }
  const closed = at(undefined, {}, { registration_endpoint: undefined })
  const { message } = await rejection(clientAt(closed.registration, redirect))
  assert.is(message, `${issuer} registers no clients: register one there and give it with the option client`)
  assert.is(closed.posts.length, 0)
})

test('the client that is forgotten is the one that was refused, not a later one', async () => {
  const { metadata, settings, storage } = at()
  const left = async (client: { client_id: string } | undefined): Promise<unknown> => {
    await storage.write(`client ${issuer}`, { client_id: 'new' })
    await forgetClient({ metadata, settings }, client)
    return (await storage.read(`client ${issuer}`))?.client_id
  }
  assert.is(await left({ client_id: 'old' }), 'new')
  assert.is(await left({ client_id: 'new' }), undefined)
  assert.is(await left(undefined), undefined)
})

test('a client that cannot be kept, or forgotten, is told', async () => {
  const write = () => Promise.reject(new Error('no space'))
  const storage = { ...memoryAuthStorage(), write }
  const { registration, metadata, settings } = at(undefined, { storage })
  assert.is((await rejection(clientAt(registration, redirect))).message, 'no space')
  assert.is((await rejection(forgetClient({ metadata, settings }, undefined))).message, 'no space')
})

test.run()
