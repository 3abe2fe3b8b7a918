import { generateKeyPairSync, randomUUID, sign } from 'node:crypto'
import * as assert from 'uvu/assert'
import { suite } from '../../support/suite.js'
import { attack, type Json } from './_attack.js'
import { Browser } from './_browser.js'
import { document, host, id, onTheWeb } from './_on-the-web.js'

const test = suite('keys of a client, by an address', { timeout: 30_000 })
const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
const { publicKey: otherKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
const jwk = { ...publicKey.export({ format: 'jwk' }), kid: 'one', use: 'sig', alg: 'ES256' }

test('a stranger who names that address as a client keeps nobody out', async (t) => {
  const address = `https://${host}/keys.json`
  // more than a document of a client may have
  const others = Array.from({ length: 5 }, (_, n) => ({ ...jwk, kid: `k${n}`, note: 'x'.repeat(1_200) }))
  await onTheWeb(t, {
    '/mcp/client.json': { ...document, token_endpoint_auth_method: 'private_key_jwt', jwks_uri: address },
    '/keys.json': { keys: [jwk, ...others] },
  })
  const { codeOf, token, origin, begin } = await attack(t)
  const { form } = await codeOf({ client_id: id })
  const { body: first } = await token({ ...form, ...assertionFor(origin) })
  let refresh = first.refresh_token ?? ''
  const answers: unknown[] = []
  for (let round = 0; round < 5; round += 1) {
    const strangers = [0, 1, 2].map(() => new Browser().open(begin({ client_id: address }).url, () => true))
    const own = { grant_type: 'refresh_token', refresh_token: refresh, client_id: id }
    const { status, body } = await token({ ...own, ...assertionFor(origin) })
    answers.push(body.error ?? status)
    refresh = body.refresh_token ?? refresh
    await Promise.allSettled(strangers)
  }
  assert.equal(answers, [200, 200, 200, 200, 200])
})

test('a client whose keys are away is told to come again, and is let in then', async (t) => {
  const address = `https://${host}/keys.json`
  const documents: Record<string, object | 'away'> = {
    '/mcp/client.json': { ...document, token_endpoint_auth_method: 'private_key_jwt', jwks_uri: address },
    '/keys.json': 'away',
  }
  await onTheWeb(t, documents)
  const { codeOf, token, origin } = await attack(t)
  const { form } = await codeOf({ client_id: id })
  const { status, body } = await token({ ...form, ...assertionFor(origin) })
  assert.equal([status, body.error], [503, 'temporarily_unavailable'])
  // nobody is let in by keys that are somebody else's
  documents['/keys.json'] = { keys: [{ ...jwk, ...otherKey.export({ format: 'jwk' }) }] }
  assert.equal((await token({ ...form, ...assertionFor(origin) })).body.error, 'invalid_client')
  documents['/keys.json'] = { keys: [jwk] }
  assert.is((await token({ ...form, ...assertionFor(origin) })).status, 200)
})

test.run()

/** What shows that a client has the private key (RFC 7523). */
function assertionFor(audience: string): Json {
  const now = Math.floor(Date.now() / 1_000)
  const claims = { iss: id, sub: id, aud: audience, jti: randomUUID(), iat: now, exp: now + 60 }
  const text = [{ alg: 'ES256', kid: 'one' }, claims]
    .map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'))
    .join('.')
  const signature = sign('sha256', Buffer.from(text), { key: privateKey, dsaEncoding: 'ieee-p1363' })
  return {
    client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
    client_assertion: `${text}.${signature.toString('base64url')}`,
  }
}
