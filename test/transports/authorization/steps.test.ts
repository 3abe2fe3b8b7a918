// second tier: time
// shares a process
import { systemWorld } from 'caduceus/runtime'
import { files } from 'caduceus/server'
import type { FakeUser } from 'caduceus/testing'
import * as assert from 'uvu/assert'
import { makeFolder } from '../../support/folder.js'
import { suite } from '../../support/suite.js'
import { attack, type Json } from './_attack.js'
import { Browser } from './_browser.js'

const test = suite('steps of a sign-in', { timeout: 20_000 })

test('an authorization is begun by a browser that is known, in no other way', async (t) => {
  const { register, begin, origin } = await attack(t)
  const { url } = begin(await register())
  const way = url.href.slice(url.origin.length)
  for (const method of ['HEAD', 'POST', 'PUT', 'OPTIONS'])
    for (const path of [way, '/authorize/abc']) {
      const { status, headers } = await fetch(`${origin}${path}`, { method, redirect: 'manual' })
      assert.equal([status, headers.get('allow')], [405, 'GET'], `${method} ${path}`)
    }
  // one that has the cookies of the step, and not the one by which it is known
  const first = await fetch(url, { redirect: 'manual' })
  const page = new URL(first.headers.get('location') ?? '', url)
  const cookies = first.headers.getSetCookie().map((line) => line.split(';')[0] ?? '')
  const tossed = cookies.filter((pair) => !pair.startsWith('sign-in='))
  const step = (given: readonly string[]) =>
    fetch(page, { headers: { cookie: given.join('; ') }, redirect: 'manual' })
  assert.is((await step(tossed)).status, 400)
  assert.is((await step([...tossed, 'sign-in='])).status, 400)
  assert.is((await step(cookies)).status, 303)
})

test('any number of calls at once renew with one token; used later it ends its grant', async (t) => {
  const time = { ms: 0 }
  const clock = { ...systemWorld, date: () => Date.now() + time.ms }
  const { register, codeOf, token, status } = await attack(t, { clock })
  const { form } = await codeOf(await register())
  const { body: first } = await token(form)
  const renew = (refreshToken = '') =>
    token({ grant_type: 'refresh_token', refresh_token: refreshToken, client_id: form.client_id })
  const all = await Promise.all(Array.from({ length: 40 }, () => renew(first.refresh_token)))
  for (const { body } of all) assert.is(await status(body.access_token), 400)
  const next = all[0]?.body.refresh_token
  assert.is.not(next, first.refresh_token)
  for (const { body } of all) assert.is(body.refresh_token, next)
  time.ms += 20_000
  assert.is((await renew(first.refresh_token)).body.refresh_token, next)
  time.ms += 11_000
  const last = await renew(next)
  assert.is(last.status, 200)
  // whoever has the first one now has stolen it
  assert.is((await renew(first.refresh_token)).body.error, 'invalid_grant')
  assert.is(await status(last.body.access_token), 401)
  assert.is((await renew(last.body.refresh_token)).body.error, 'invalid_grant')
})

test('who came in by another provider comes in by this one, or not', async (t) => {
  const engine = files({ folder: await makeFolder(t) })
  const before = await attack(t, { engine })
  const { form } = await before.codeOf(await before.register())
  const { body } = await before.token(form)
  assert.is(await before.status(body.access_token), 400)
  await before.server.stop()
  const after = await attack(t, { engine, port: before.port })
  assert.is(await after.status(body.access_token), 401)
  const renewal = { grant_type: 'refresh_token', refresh_token: body.refresh_token ?? '' }
  assert.is((await after.token({ ...renewal, client_id: form.client_id })).body.error, 'invalid_grant')
  // and signs in again
  const own = await after.codeOf({ client_id: form.client_id })
  assert.is(await after.status((await after.token(own.form)).body.access_token), 400)
})

test('scopes of a renewal are those that there are, and the one of all', async (t) => {
  const { register, codeOf, token } = await attack(t, { scopes: { write: 'Write', read: 'Read' } })
  const { form } = await codeOf(await register(), new Browser(), { scope: 'mcp write read' })
  const { refresh_token = '' } = (await token(form)).body
  const renewal: Json = { grant_type: 'refresh_token', refresh_token, scope: 'openid read offline_access' }
  assert.is((await token({ ...renewal, client_id: form.client_id })).body.scope, 'mcp read')
})

test('a host may repeat what it asked for, though its user has granted less', async (t) => {
  const { register, codeOf, token } = await attack(t, {
    scopes: { write: 'Write', read: 'Read' },
    scopesOf: () => ['read'],
  })
  const { form } = await codeOf(await register(), new Browser(), { scope: 'mcp write read' })
  const { refresh_token = '' } = (await token(form)).body
  const renewal: Json = { grant_type: 'refresh_token', refresh_token, scope: 'mcp write read' }
  assert.is((await token({ ...renewal, client_id: form.client_id })).body.scope, 'mcp read')
})

/** A user of whom the login and what is asked after it say something else. */
function twoFaced(first: () => void, second: Pick<FakeUser, 'email' | 'emailVerified'>): FakeUser {
  let asked = 0
  return {
    subject: 'eve',
    claims: { email_verified: true },
    emailVerified: second.emailVerified ?? false,
    get email() {
      asked += 1
      if (asked === 1) first()
      return asked === 1 ? (undefined as never) : (second.email as string)
    },
  }
}

test('an address counts as verified by the word of who says the address', async (t) => {
  const seen: unknown[] = []
  const { login, register, codeOf } = await attack(t, {
    allow({ email, claims }) {
      seen.push([email, claims.email_verified])
      return true
    },
  })
  login.user = twoFaced(() => {}, { email: 'boss@example.com', emailVerified: false })
  await codeOf(await register())
  assert.equal(seen[0], [undefined, false])
})

test('a provider that says no more of a user than who it is lets them in', async (t) => {
  const { login, register, codeOf, token, status } = await attack(t)
  // the token opens something else
  login.user = twoFaced(() => login.revoke(), {})
  const { form } = await codeOf(await register())
  assert.is(await status((await token(form)).body.access_token), 400)
})

test.run()
