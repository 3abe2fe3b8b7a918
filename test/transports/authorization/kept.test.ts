// What one user, or one address, can have kept: an engine in memory has room for so much.
import { systemWorld } from 'caduceus/runtime'
import { TransportError } from 'caduceus/transports'
import * as assert from 'uvu/assert'
import { suite } from '../../support/suite.js'
import { makeProofKey, prove } from '../auth/_proof.js'
import { isBack, type Json } from './_attack.js'
import { Browser } from './_browser.js'
import { document, host, id, onTheWeb } from './_on-the-web.js'
import { watched } from './_watched.js'

const test = suite('what is kept of a user', { timeout: 30_000 })

test('the document of a client is kept while somebody has let it in', async (t) => {
  const other = `https://${host}/other.json`
  await onTheWeb(t, {
    '/mcp/client.json': document,
    '/other.json': { ...document, client_id: other },
  })
  const { begin, codeOf, kept, auth, login } = await watched(t)
  const documents = () => [...kept.keys()].filter((key) => key.startsWith('last document '))
  // a page that nobody has pressed
  await new Browser().open(begin({ client_id: other }).url, isBack)
  const client = { client_id: id }
  await codeOf(client)
  assert.equal(documents(), [`last document ${id}`])
  await auth.signOut({ issuer: login.issuer, subject: 'ada' })
  assert.equal(documents(), [])
  await codeOf(client)
  assert.equal(documents(), [`last document ${id}`])
})

test('calls that renew at once share one access token; all end with the grant', async (t) => {
  // it stands still: another moment may be one for another token
  const time = { ms: Date.now() }
  const clock = { ...systemWorld, date: () => time.ms }
  const { register, codeOf, token, status, kept, auth, login } = await watched(t, { clock })
  const client = await register()
  const { form } = await codeOf(client)
  const { body: first } = await token(form)
  let last = first
  const ofKind = (kind: string) => [...kept.keys()].filter((key) => key.startsWith(`${kind} `)).length
  for (let round = 0; round < 4; round += 1) {
    const { refresh_token = '' } = last
    const own = { grant_type: 'refresh_token', client_id: client.client_id ?? '' }
    const all = await Promise.all(Array.from({ length: 17 }, () => token({ ...own, refresh_token })))
    for (const { body } of all) assert.is(body.access_token, all[0]?.body.access_token)
    last = all[0]?.body ?? {}
    time.ms += 42_000
  }
  assert.is(ofKind('AccessToken'), 5)
  for (const { access_token } of [first, last]) assert.is(await status(access_token), 400)
  await auth.signOut({ issuer: login.issuer, subject: 'ada' })
  assert.equal([ofKind('AccessToken'), ofKind('RefreshToken')], [0, 0])
})

for (const lost of [undefined, 'scope7'])
  test(`who has a refresh token pushes out no access token of its owner (lost: ${lost})`, async (t) => {
    const names = Array.from({ length: 8 }, (_, n) => `scope${n}`)
    const scopes = Object.fromEntries(names.map((name) => [name, name]))
    let may = names
    const { register, codeOf, token, status, kept } = await watched(t, { scopes, scopesOf: () => may })
    const client = await register()
    const { form } = await codeOf(client, undefined, { scope: names.join(' ') })
    const { body: first } = await token(form)
    may = names.filter((name) => name !== lost)
    const own = { grant_type: 'refresh_token', client_id: client.client_id ?? '' }
    const { body: second } = await token({ ...own, refresh_token: first.refresh_token ?? '' })
    for (let n = 1; n < 60; n += 1) {
      const scope = names.filter((_, bit) => n & (1 << bit)).join(' ')
      const again = await token({ ...own, refresh_token: second.refresh_token ?? '', scope })
      assert.is(again.status, 200)
    }
    for (const { access_token } of [first, second]) assert.is(await status(access_token), 400)
    // 32 of one renewal are kept that are for less
    assert.is([...kept.keys()].filter((key) => key.startsWith('AccessToken ')).length, 34)
  })

test.slow('a user is known in 100 browsers: the oldest signs in again', async (t) => {
  const { register, begin, kept, login } = await watched(t)
  const client = await register()
  const visit = async (browser: Browser): Promise<boolean> => {
    const before = login.asked.length
    await browser.open(begin(client).url, isBack)
    return login.asked.length > before
  }
  const browsers = Array.from({ length: 101 }, () => new Browser())
  for (const browser of browsers) await visit(browser)
  const ofKind = (kind: RegExp) => [...kept.keys()].filter((key) => kind.test(key)).length
  assert.equal([ofKind(/^Session (?!uid)/), ofKind(/^Session uid /)], [100, 100])
  const [oldest = new Browser(), newest = new Browser()] = [browsers[0], browsers.at(-1)]
  assert.equal([await visit(newest), await visit(oldest), await visit(oldest)], [false, true, false])
})

test('of a registration so much is kept; what no page shows is left out', async (t) => {
  const { register, begin, kept, origin } = await watched(t)
  const long = 'x'.repeat(2_500)
  assert.is((await register({ client_name: long })).error, 'invalid_client_metadata')
  const shown = ['client_uri', 'logo_uri', 'policy_uri', 'tos_uri']
  // what is left out counts as it comes
  assert.ok(
    (await fetch(`${origin}/register`, { method: 'POST', body: `{"contacts":["${long}${long}"]}` }))
      .status === 413,
  )
  const uris = shown.map((name) => [name, `https://friend.example/${long.slice(0, 600)}`])
  const client = await register({ ...Object.fromEntries(uris), contacts: ['ada@example.com'] })
  const [text = ''] = [...kept].filter(([key]) => key.startsWith('Client ')).map(([, one]) => one)
  assert.not.match(text, 'friend.example')
  assert.match((await new Browser().open(begin(client).url, isBack)).text, 'Friend')
})

test('proofs of a user are kept in few values; without the engine nobody is let in', async (t) => {
  const { register, codeOf, origin, resource, kept, engine } = await watched(t, { dpop: true })
  const { form } = await codeOf(await register())
  const key = await makeProofKey()
  const own = await prove(key, '', { claims: { htu: `${origin}/token`, ath: undefined } })
  const request = { method: 'POST', headers: { dpop: own }, body: new URLSearchParams(form) }
  const { access_token: token = '' } = (await (await fetch(`${origin}/token`, request)).json()) as Json
  const dpop = () => prove(key, token, { claims: { htu: resource, htm: 'DELETE' } })
  const ask = async (proof: string) => {
    const headers = { authorization: `DPoP ${token}`, dpop: proof }
    const response = await fetch(resource, { method: 'DELETE', headers })
    await response.arrayBuffer()
    return response.status
  }
  const first = await dpop()
  assert.equal([await ask(first), await ask(first)], [400, 401])
  for (let n = 0; n < 80; n += 1) assert.is(await ask(await dpop()), 400)
  assert.is(await ask(first), 401)
  const all = [...kept.keys()].filter((one) => one.startsWith('proofs '))
  assert.ok(all.length < 80 && all.every((one) => one.includes('"ada"')), String(all.length))
  let left = 2
  engine.before = async () => {
    left -= 1
    if (left < 0) throw new TransportError('CLUSTER_UNAVAILABLE', 'it is away', { retryable: true })
  }
  assert.is(await ask(await dpop()), 503)
  engine.before = async () => {}
  assert.is(await ask(await dpop()), 400)
})

test.run()
