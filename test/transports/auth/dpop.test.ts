import { randomBytes } from 'node:crypto'
import * as assert from 'uvu/assert'
import {
  type AuthOptions,
  type DPoPOptions,
  type HttpServeOptions,
  introspection,
  type SeenProof,
  serveHttp,
  TransportError,
} from 'caduceus/transports'
import type { RawClient } from '../../server/_client.js'
import { suite, type TestContext } from '../../support/suite.js'
import { metadataUrl, startAuth } from './_auth.js'
import { resource } from './_authorization-server.js'
import { makeProofKey, type ProofChange, prove } from './_proof.js'

const test = suite('DPoP of auth', { timeout: 15_000 })
const secret = 'a secret of thirty-two characters.'

const initialize = {
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'raw', version: '1' } },
}

async function start(t: TestContext, auth: Partial<AuthOptions> = {}, http: HttpServeOptions = {}) {
  const setup = await startAuth(t, { dpop: true, ...auth }, http)
  const key = await makeProofKey()
  const token = await setup.issuer.issue({ cnf: { jkt: key.jkt } })
  const client = setup.client()
  /** What the server says to a request with these headers. */
  const ask = async (headers: Record<string, string>, raw: RawClient = client) => {
    raw.own = headers
    const answer = await raw.post(initialize)
    const { 'www-authenticate': challenge, 'dpop-nonce': nonce } = answer.headers
    return { status: answer.status, challenge: String(challenge), nonce: String(nonce) }
  }
  const headers = async (change?: ProofChange, sent = token) => ({
    authorization: `DPoP ${sent}`,
    dpop: await prove(key, sent, change),
  })
  return { ...setup, connect: setup.client, key, token, client, ask, headers }
}

test('a bound token needs a proof per request, and handlers see neither', async (t) => {
  const { client, headers } = await start(t)
  client.own = await headers()
  const answer = await client.post(initialize)
  assert.is(answer.status, 200)
  client.sessionId = String(answer.headers['mcp-session-id'])
  client.own = await headers()
  const found = JSON.parse(await client.text('whoami'))
  assert.is(found.principal.subject, 'ada')
  assert.ok(!found.headers.includes('authorization') && !found.headers.includes('dpop'))
  client.own = await headers({ claims: { htm: 'DELETE' } })
  assert.ok((await client.send('DELETE', undefined, client.headers())).status < 300)
})

test('metadata and challenge name the accepted proof algorithms', async (t) => {
  const { ask, server } = await start(t, { dpop: { algorithms: ['ES256', 'EdDSA'] } })
  const { status, challenge } = await ask({})
  const where = `resource_metadata="${metadataUrl}"`
  assert.equal([status, challenge], [401, `Bearer ${where}, DPoP algs="ES256 EdDSA", ${where}`])
  const path = new URL('/.well-known/oauth-protected-resource', server.url)
  const found = (await (await fetch(path)).json()) as Record<string, unknown>
  assert.equal(found.dpop_signing_alg_values_supported, ['ES256', 'EdDSA'])
  assert.is(found.dpop_bound_access_tokens_required, undefined)
})

test.slow('every public key algorithm is accepted, repeatedly with a cached key', async (t) => {
  const { issuer, ask } = await start(t)
  for (const alg of ['ES256', 'ES384', 'ES512', 'EdDSA', 'Ed25519', 'PS256', 'RS256']) {
    const key = await makeProofKey(alg)
    const token = await issuer.issue({ cnf: { jkt: key.jkt } })
    for (let count = 0; count < 2; count += 1) {
      const headers = { authorization: `DPoP ${token}`, dpop: await prove(key, token) }
      assert.equal([alg, (await ask(headers)).status], [alg, 200])
    }
  }
})

const now = (): number => Math.floor(Date.now() / 1_000)
/** Per problem: what differs, and what the client is told. */
const hostile: Record<string, [(key: Awaited<ReturnType<typeof makeProofKey>>) => ProofChange, RegExp]> = {
  'another type': [() => ({ header: { typ: 'JWT' } }), /typ/],
  'no type': [() => ({ header: { typ: undefined } }), /typ/],
  'no signature': [() => ({ header: { alg: 'none' } }), /one proof|alg/],
  'a shared secret': [
    () => ({ header: { alg: 'HS256', jwk: { kty: 'oct', k: 'AAAA' } }, with: randomBytes(32) }),
    /alg/,
  ],
  'a shared secret under a good name': [
    () => ({ header: { jwk: { kty: 'oct', k: randomBytes(32).toString('base64url') } } }),
    /jwk/,
  ],
  'a private key in it': [({ all }) => ({ header: { jwk: all } }), /jwk/],
  'no key': [() => ({ header: { jwk: undefined } }), /jwk/],
  'a text for a key': [() => ({ header: { jwk: 'key' } }), /jwk/],
  'a key of no known kind': [() => ({ header: { jwk: { kty: 'XX', x: 'AA' } } }), /jwk/],
  'a huge key': [() => ({ header: { jwk: { kty: 'RSA', n: 'A'.repeat(3_000), e: 'AQAB' } } }), /jwk/],
  'a huge exponent': [
    () => ({ header: { jwk: { kty: 'RSA', n: 'A'.repeat(342), e: 'A'.repeat(300) } } }),
    /jwk/,
  ],
  'an extension that has to be understood': [
    () => ({ header: { crit: ['unknown'], unknown: 1 } }),
    /signature/,
  ],
  'another method': [() => ({ claims: { htm: 'GET' } }), /htm/],
  'no method': [() => ({ claims: { htm: undefined } }), /htm/],
  'another host': [() => ({ claims: { htu: 'https://evil.example.com/mcp' } }), /htu/],
  'another scheme': [() => ({ claims: { htu: 'http://mcp.example.com/mcp' } }), /htu/],
  'another path': [() => ({ claims: { htu: 'https://mcp.example.com/else' } }), /htu/],
  'no address': [() => ({ claims: { htu: 'mcp' } }), /htu/],
  'a list of addresses': [() => ({ claims: { htu: [resource] } }), /htu/],
  'too old': [() => ({ claims: { iat: now() - 302 } }), /iat/],
  // the bound itself is that of a clock that stands still, in proof-check.test.ts
  'too early': [() => ({ claims: { iat: now() + 400 } }), /iat/],
  'no time': [() => ({ claims: { iat: undefined } }), /iat/],
  'a time that is no number': [() => ({ claims: { iat: String(now()) } }), /iat|one proof/],
  'no id': [() => ({ claims: { jti: undefined } }), /jti/],
  'an empty id': [() => ({ claims: { jti: '' } }), /jti/],
  'a long id': [() => ({ claims: { jti: 'x'.repeat(257) } }), /jti/],
  'no digest of the token': [() => ({ claims: { ath: undefined } }), /ath/],
  'the digest of another token': [() => ({ claims: { ath: 'AAAA' } }), /ath/],
}

test('an invalid proof is refused with the reason', async (t) => {
  const { ask, headers, key } = await start(t)
  for (const [name, [change, why]] of Object.entries(hostile)) {
    // a change of the key is signed with the good one, as a thief cannot
    const { status, challenge } = await ask(await headers(change(key)))
    assert.is(status, 401, name)
    assert.match(challenge, /^DPoP error="invalid_dpop_proof", error_description="/, name)
    assert.match(/error_description="([^"]*)"/.exec(challenge)?.[1] ?? '', why, name)
  }
  assert.is((await ask(await headers())).status, 200)
})

test('exactly one DPoP header with one proof is accepted', async (t) => {
  const { ask, headers, token } = await start(t)
  const { authorization, dpop } = await headers()
  const bad = [
    undefined,
    '',
    'x',
    'a.b',
    'a.b.c',
    'é.b.c',
    `${dpop}, ${dpop}`,
    `${dpop}.x`,
    `${dpop} `.repeat(2),
  ]
  const deep = Buffer.from('['.repeat(4_000)).toString('base64url')
  for (const proof of [...bad, `${deep}.e30.AA`, `e30.${deep}.AA`, `A${'A'.repeat(8_192)}.e30.AA`]) {
    const sent = proof === undefined ? { authorization } : { authorization, dpop: proof }
    const { status, challenge } = await ask(sent)
    assert.equal([status, /invalid_dpop_proof/.test(challenge)], [401, true], String(proof).slice(0, 50))
  }
  // more than Node takes
  const huge = await ask({ authorization, dpop: 'x'.repeat(100_000) })
  assert.equal([huge.status, /too long/.test(huge.challenge)], [401, true])
  assert.is((await ask({ authorization: `DPoP ${token} x`, dpop })).status, 400)
  assert.is((await ask({ authorization: 'DPoP', dpop })).status, 400)
})

test('a proof is accepted once, also when sent twice concurrently', async (t) => {
  const { ask, headers, connect, issuer } = await start(t)
  const sent = await headers()
  const clients = Array.from({ length: 10 }, () => connect())
  const all = await Promise.all(clients.map((client) => ask(sent, client)))
  assert.equal(all.map(({ status }) => status).sort(), [200, ...Array(9).fill(401)])
  assert.match((await ask(sent)).challenge, /used before/)
  // the id alone is not what counts: that of another key is another one
  const other = await makeProofKey()
  const token = await issuer.issue({ cnf: { jkt: other.jkt } })
  const proof = await prove(other, token, { claims: { jti: 'same' } })
  assert.is((await ask(await headers({ claims: { jti: 'same' } }))).status, 200)
  assert.is((await ask({ authorization: `DPoP ${token}`, dpop: proof })).status, 200)
})

test('a signature of another key is refused, also for a stolen token', async (t) => {
  const { ask, headers, token, issuer } = await start(t)
  const thief = await makeProofKey()
  const forged = await ask(await headers({ with: thief.privateKey }))
  assert.match(forged.challenge, /invalid_dpop_proof.*signature/)
  const own = await ask({ authorization: `DPoP ${token}`, dpop: await prove(thief, token) })
  assert.match(
    own.challenge,
    /^DPoP error="invalid_token", error_description="the token is bound to another key"/,
  )
  for (const cnf of [{ jkt: 7 }, { 'x5t#S256': 'AA' }, 'x', {}, { jkt: thief.jkt, 'x5t#S256': 'AA' }]) {
    const bound = await issuer.issue({ cnf })
    const { status } = await ask({ authorization: `DPoP ${bound}`, dpop: await prove(thief, bound) })
    assert.is(status, 401)
  }
})

test('a bound token is no bearer token, and a proof does not bind a bearer token', async (t) => {
  const { ask, headers, token, issuer } = await start(t)
  const { dpop } = await headers()
  const alone = await ask({ authorization: `Bearer ${token}` })
  assert.match(
    alone.challenge,
    /^Bearer error="invalid_token", error_description="the token is bound to a key/,
  )
  assert.is((await ask({ authorization: `Bearer ${token}`, dpop })).status, 401)
  const free = await issuer.issue()
  assert.is((await ask({ authorization: `Bearer ${free}` })).status, 200)
  assert.match((await ask(await headers({}, free))).challenge, /not bound to the key/)
  const off = await startAuth(t)
  const raw = off.client()
  const bound = await off.issuer.issue({ cnf: { jkt: 'x' } })
  for (const scheme of ['Bearer', 'DPoP']) {
    const { status, challenge } = await ask({ authorization: `${scheme} ${bound}`, dpop }, raw)
    assert.equal([status, challenge.split(' ')[0]], [401, 'Bearer'])
  }
})

test('a custom check gets the key, and its principal needs that key', async (t) => {
  const keys: (string | undefined)[] = []
  let jkt: unknown
  const verify: AuthOptions['verify'] = (_token, { key }) => {
    keys.push(key)
    const claims = jkt === undefined ? {} : { cnf: { jkt } }
    return { issuer: 'https://a.example', subject: 'ada', claims }
  }
  const { ask, headers, key, token } = await start(t, { verify })
  jkt = key.jkt
  assert.is((await ask(await headers())).status, 200)
  assert.is((await ask({ authorization: `Bearer ${token}` })).status, 401)
  jkt = undefined
  assert.is((await ask(await headers())).status, 401)
  assert.is((await ask({ authorization: `Bearer ${token}` })).status, 200)
  assert.equal(keys, [key.jkt, undefined, key.jkt, undefined])
})

test('introspection: the key binding named by the issuer counts', async (t) => {
  const first = await startAuth(t)
  const verify = introspection({
    issuer: first.issuer.issuer,
    endpoint: `${first.issuer.issuer}/introspect`,
    client: { id: 'a', secret: 'b' },
  })
  const { ask, headers, key } = await start(t, { verify })
  first.issuer.opaque.set('bound', { sub: 'ada', aud: resource, cnf: { jkt: key.jkt } })
  first.issuer.opaque.set('free', { sub: 'ada', aud: resource })
  assert.is((await ask(await headers({}, 'bound'))).status, 200)
  assert.is((await ask({ authorization: 'Bearer bound' })).status, 401)
  assert.is((await ask(await headers({}, 'free'))).status, 401)
})

test('scopes: the challenge uses DPoP if a proof was sent', async (t) => {
  const { ask, headers } = await start(t, { scopes: ['files:read'] })
  const { status, challenge } = await ask(await headers())
  assert.is(status, 403)
  assert.match(challenge, /^DPoP error="insufficient_scope".*scope="files:read".*algs="/)
})

test('required: bearer tokens are refused, and the metadata say so', async (t) => {
  const { ask, headers, issuer, server } = await start(t, { dpop: { required: true } })
  assert.match((await ask({})).challenge, /^DPoP resource_metadata="[^"]*", algs="[^"]*"$/)
  const { status, challenge } = await ask({ authorization: `Bearer ${await issuer.issue()}` })
  assert.is(status, 401)
  assert.match(challenge, /^DPoP error="invalid_token"/)
  assert.is((await ask(await headers())).status, 200)
  const path = new URL('/.well-known/oauth-protected-resource', server.url)
  const found = (await (await fetch(path)).json()) as Record<string, unknown>
  assert.is(found.dpop_bound_access_tokens_required, true)
})

test('nonces: a proof without our nonce is refused with a new one', async (t) => {
  const { ask, headers } = await start(t, { dpop: { nonceKeys: [secret] } })
  const first = await ask(await headers())
  assert.is(first.status, 401)
  assert.match(first.challenge, /^DPoP error="use_dpop_nonce"/)
  const { nonce } = first
  assert.is((await ask(await headers({ claims: { nonce } }))).status, 200)
  assert.is((await ask(await headers({ claims: { nonce } }))).status, 200)
  const last = nonce.at(-1) === 'A' ? 'Q' : 'A'
  for (const forged of [
    '',
    'x',
    nonce.slice(0, -1) + last,
    `B${nonce.slice(1)}`,
    'A'.repeat(30),
    'x'.repeat(999),
    7,
  ])
    assert.match((await ask(await headers({ claims: { nonce: forged } }))).challenge, /use_dpop_nonce/)
})

test('nonces: all processes with the secret accept new and previous ones', async (t) => {
  const old = 'the secret of before, of 32 characters'
  const [one, other, next] = [
    await start(t, { dpop: { nonceKeys: [old] } }),
    await start(t, { dpop: { nonceKeys: [secret] } }),
    await start(t, { dpop: { nonceKeys: [secret, old] } }),
  ]
  const { nonce } = await one.ask(await one.headers())
  assert.is((await next.ask(await next.headers({ claims: { nonce } }))).status, 200)
  assert.is((await other.ask(await other.headers({ claims: { nonce } }))).status, 401)
})

test('CORS lets an allowed origin send proofs and read nonces', async (t) => {
  const allowedOrigins = ['https://app.example']
  const { client, headers } = await start(
    t,
    { dpop: { nonceKeys: [secret] } },
    { allowedOrigins, cors: true },
  )
  const origin = { origin: 'https://app.example' }
  const wanted = {
    'access-control-request-method': 'POST',
    'access-control-request-headers': 'authorization, dpop',
  }
  const before = await client.send('OPTIONS', undefined, { ...origin, ...wanted })
  assert.is(before.headers['access-control-allow-headers'], 'authorization, dpop')
  const refused = await client.post(initialize, { ...origin, ...(await headers()) })
  assert.is(refused.status, 401)
  assert.match(String(refused.headers['access-control-expose-headers']), /DPoP-Nonce/)
})

test('a shared store decides on replays, and its throw is a 500', async (t) => {
  const noted: SeenProof[] = []
  const seen: DPoPOptions['seen'] = async (proof) => {
    noted.push(proof)
    if (noted.length === 3) throw new Error('the store is away')
    return noted.length === 2
  }
  const { ask, headers } = await start(t, { dpop: { seen } })
  assert.is((await ask(await headers())).status, 200)
  assert.match((await ask(await headers())).challenge, /used before/)
  assert.is((await ask(await headers())).status, 500)
  for (const { id, lifetime, principal } of noted) {
    assert.is(principal.subject, 'ada')
    assert.match(id, /^[\w-]{43}$/)
    // clocks of nodes differ
    assert.ok(lifetime > 315_000 && lifetime <= 322_000, String(lifetime))
  }
})

test('who has sent more proofs than the store keeps of one user is told to wait', async (t) => {
  const seen: DPoPOptions['seen'] = () => {
    throw new TransportError('CLIENT_LIMIT', 'too many proofs of one user')
  }
  const { client, headers } = await start(t, { dpop: { seen } })
  client.own = await headers()
  const { status, headers: got, body } = await client.post(initialize)
  assert.equal([status, got['retry-after']], [429, '10'])
  assert.match(body, /too many proofs of one user/)
})

test('bad options are named, and no secret is shown', () => {
  const bad: [unknown, RegExp][] = [
    ['yes', /auth\.dpop/],
    [{ algorithms: [] }, /algorithms: expected an array/],
    [{ algorithms: ['HS256'] }, /algorithms among/],
    [{ algorithms: ['none'] }, /algorithms among/],
    [{ window: -1 }, /window/],
    [{ nonceKeys: [] }, /nonceKeys/],
    [{ nonceKeys: ['canary'] }, /nonceKeys: expected an array of secrets of 32/],
    [{ nonceKeys: 'canary canary canary canary canary' }, /nonceKeys/],
    [{ seen: 7 }, /seen: expected a function/],
    [{ required: 1 }, /required/],
    [{ nonsense: 1 }, /nonsense/],
  ]
  for (const [dpop, expected] of bad)
    try {
      serveHttp({ auth: { resource, authorizationServers: ['https://a.example'], dpop: dpop as never } })
      assert.unreachable(JSON.stringify(dpop))
    } catch (error) {
      assert.match(String(error), expected)
      assert.not.match(String(error), /canary/)
    }
})

test.run()
