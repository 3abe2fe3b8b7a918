import * as assert from 'uvu/assert'
import type { Asker } from '../../../client/auth/ask.js'
import { discover } from '../../../client/auth/discovery.js'
import { suite } from '../../support/suite.js'
import { rejection } from '../_raw.js'

const test = suite('discovery of an authorization server')

const server = new URL('https://h.example/mcp')
const issuer = 'https://as.example'
const atPath = 'https://h.example/.well-known/oauth-protected-resource/mcp'
const atRoot = 'https://h.example/.well-known/oauth-protected-resource'
const wellKnown = '/.well-known/oauth-authorization-server'
const openId = '/.well-known/openid-configuration'

type Place = { readonly status: number; readonly headers?: Record<string, string> } | object

/** Asks places that answer with a document, or with a status; everywhere else is nothing. */
async function find(places: Record<string, Place>, hint?: string) {
  const asked: string[] = []
  const get = async (url: string) => {
    asked.push(url)
    const place = places[url] ?? { status: 404 }
    if ('status' in place) return { text: '', headers: {}, ...place }
    return { status: 200, text: JSON.stringify(place), headers: {} }
  }
  const ask = { get } as unknown as Asker
  return { asked, found: () => discover(ask, server, hint) }
}

async function failure(places: Record<string, Place>) {
  const { found } = await find(places)
  return rejection(found())
}

const resource = { resource: server.href, authorization_servers: [issuer] }
const metadata = { issuer, token_endpoint: `${issuer}/token` }
const whole = { [atPath]: resource, [issuer + wellKnown]: metadata }

test('what the resource and its issuer say is found, with the scopes that are words', async () => {
  const said = {
    ...resource,
    scopes_supported: ['a', 5, 'b'],
    dpop_bound_access_tokens_required: true,
    dpop_signing_alg_values_supported: ['ES256'],
  }
  const { found, asked } = await find({ ...whole, [atPath]: said })
  assert.equal(await found(), {
    metadata,
    resource: server.href,
    scopes: ['a', 'b'],
    resourceMetadata: atPath,
    binding: { required: true, algorithms: ['ES256'] },
  })
  assert.equal(asked, [atPath, issuer + wellKnown])
  for (const odd of ['a b', null, {}]) {
    const plain = { ...resource, scopes_supported: odd, dpop_bound_access_tokens_required: 'true' }
    const { scopes, binding } = await (await find({ ...whole, [atPath]: plain })).found()
    assert.equal([scopes, binding], [undefined, { required: false, algorithms: undefined }])
  }
})

test('the address of a challenge is asked first, and the usual places after it', async () => {
  const hint = 'https://h.example/elsewhere'
  const first = await find({ ...whole, [hint]: resource }, hint)
  assert.is((await first.found()).resourceMetadata, hint)
  assert.equal(first.asked, [hint, issuer + wellKnown])
  const gone = await find({ [atRoot]: resource, [issuer + wellKnown]: metadata }, hint)
  assert.is((await gone.found()).resourceMetadata, atRoot)
  assert.equal(gone.asked, [hint, atPath, atRoot, issuer + wellKnown])
})

test('metadata of another resource lead to no issuer', async () => {
  for (const other of ['https://evil.example/mcp', 'https://h.example/other', 'mcp', undefined, 5]) {
    const { message, code, retryable } = await failure({
      ...whole,
      [atPath]: { ...resource, resource: other },
    })
    const quoted = typeof other === 'string' ? other : ''
    assert.is(message, `${atPath} is metadata of ${quoted}, not of ${server.href}`)
    assert.equal([code, retryable], ['AUTHORIZATION_FAILED', false])
  }
})

test('an issuer has an https address; a resource that names none is its own', async () => {
  for (const issuers of [[], [5], ['http://as.example'], ['as.example'], [null, issuer]]) {
    const { message } = await failure({ ...whole, [atPath]: { ...resource, authorization_servers: issuers } })
    assert.is(message, `${atPath}: authorization_servers: expected https addresses`)
  }
  const own = { issuer: server.origin, token_endpoint: `${server.origin}/token` }
  for (const none of [undefined, issuer]) {
    const said = { resource: server.href, authorization_servers: none }
    const { found } = await find({ [atPath]: said, [server.origin + wellKnown]: own })
    assert.equal((await found()).metadata, own)
  }
})

test('an issuer without metadata is told with status 404', async () => {
  const error = await failure({ [atPath]: resource })
  assert.is(error.message, `${issuer} has no metadata of an authorization server`)
  assert.equal([error.retryable, error.data], [false, { status: 404, sent: false }])
})

test('metadata of another issuer, or with endpoints in the open, are not taken', async () => {
  const evil = 'https://evil.example'
  const place = issuer + wellKnown
  for (const other of [evil, `${issuer}/`, undefined]) {
    const { message } = await failure({ ...whole, [place]: { ...metadata, issuer: other } })
    assert.is(message, `${place} is metadata of ${other ?? ''}, not of ${issuer}`)
  }
  for (const field of ['token_endpoint', 'authorization_endpoint', 'registration_endpoint'])
    for (const wrong of ['http://as.example/x', 'as.example/x', 5]) {
      const { message } = await failure({ ...whole, [place]: { ...metadata, [field]: wrong } })
      const got = typeof wrong === 'string' ? wrong : 'none'
      assert.is(message, `${place}: endpoints: expected https addresses, got ${got}`)
    }
})

test('a place that is out of order says nothing, and is to be asked again', async () => {
  const elsewhere = { [atRoot]: resource, [issuer + openId]: metadata }
  for (const place of [atPath, issuer + wellKnown]) {
    for (const status of [500, 503, 429, 408]) {
      const busy = { status, headers: { 'retry-after': '7' } }
      const error = await failure({ ...whole, ...elsewhere, [place]: busy })
      assert.is(error.message, `${place} answers with status ${status}`)
      assert.equal([error.code, error.retryable], ['AUTHORIZATION_FAILED', true])
      assert.equal(error.data, { status, retryAfter: '7', sent: false })
    }
    for (const status of [404, 401, 403, 204]) {
      const { found } = await find({ ...whole, ...elsewhere, [place]: { status } })
      assert.is((await found()).metadata.issuer, issuer)
    }
  }
})

test('without metadata of a resource, its origin is the issuer, as in 2025-03-26', async () => {
  const { origin } = server
  const { found, asked } = await find({})
  assert.equal(await found(), {
    metadata: {
      issuer: origin,
      authorization_endpoint: `${origin}/authorize`,
      token_endpoint: `${origin}/token`,
      registration_endpoint: `${origin}/register`,
      code_challenge_methods_supported: ['S256'],
    },
    resource: undefined,
    scopes: undefined,
    resourceMetadata: undefined,
  })
  assert.equal(asked, [atPath, atRoot, origin + wellKnown, origin + openId])
  const own = { issuer: origin, token_endpoint: `${origin}/t`, scopes_supported: ['a'] }
  const said = await (await find({ [origin + wellKnown]: own })).found()
  assert.equal([said.metadata, said.scopes, said.resource], [own, ['a'], undefined])
  const foreign = await failure({ [origin + wellKnown]: { ...own, issuer } })
  assert.match(foreign.message, `is metadata of ${issuer}, not of ${origin}`)
})

test.run()
