// What anybody can have kept: each row of transports/authorization/bounds.md that has no test elsewhere.
import { existsSync, readFileSync } from 'node:fs'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { systemWorld } from 'caduceus/runtime'
import type { SignedInUser, TransportError } from 'caduceus/transports'
import type { AdapterPayload } from 'oidc-provider'
import * as assert from 'uvu/assert'
import { keepAmong } from '../../../transports/auth/keep-among.js'
import { OwnServer } from '../../../transports/auth/own-server.js'
import { clientKey, ValueAdapter } from '../../../transports/authorization/adapter.js'
import { Grants } from '../../../transports/authorization/grants.js'
import { RateLimits } from '../../../transports/authorization/rate-limits.js'
import { UpstreamLogins } from '../../../transports/authorization/upstream-logins.js'
import type { Values } from '../../../transports/contract/values.js'
import { inRoot } from '../../support/root.js'
import { suite, type TestContext } from '../../support/suite.js'
import { attack, isBack } from './_attack.js'
import { Browser } from './_browser.js'
import { keptValues } from './_values.js'
import { watched } from './_watched.js'

const test = suite('what anybody can have kept', { timeout: 30_000 })
const hour = 3_600_000

/** The records of one kind, in an engine whose clock the test sets. */
function records(kind: string) {
  const time = { ms: 0 }
  const { values, texts, at } = keptValues(() => time.ms)
  const world = { ...systemWorld, date: () => time.ms, now: () => time.ms }
  const failed = (): Error => new Error('refused')
  const last: (() => Promise<void>)[] = []
  const atLast = (act: () => Promise<void>): void => void last.push(act)
  const parts = { values, world, usedAlready: failed, unavailable: failed, atLast }
  return { time, values, world, texts, at, last, adapter: new ValueAdapter(kind, parts) }
}

test('a login of a browser remembers clients for so many characters', async () => {
  const { adapter, texts } = records('Session')
  const of = (length: number) =>
    Array.from({ length: 200 }, (_, n) => [
      `${n}`.padEnd(length, 'x'),
      { sid: 's'.repeat(43), grantId: `${n}`.padEnd(43, 'g') },
    ])
  const save = async (length: number) => {
    const authorizations = Object.fromEntries(of(length)) as Record<string, object>
    const payload = { kind: 'Session', accountId: 'ada', authorizations } as unknown as AdapterPayload
    await adapter.upsert('s', payload, 60)
    const [text = ''] = texts('Session s')
    return { length: text.length, kept: Object.keys(JSON.parse(text).authorizations) }
  }
  for (const length of [43, 512]) {
    const { length: all, kept } = await save(length)
    assert.ok(all < 17_000 && all > 15_000, `${length}: ${all}`)
    // those of last
    assert.ok(kept.at(-1)?.startsWith('199'), kept.at(-1))
  }
})

test('of two who use a code at once one does', async () => {
  const { adapter, last, at, values, world } = records('AuthorizationCode')
  const failed = (): Error => new Error('refused')
  const parts = { values, world, usedAlready: failed, unavailable: failed, atLast: () => {} }
  const begin = async (): Promise<void> => {
    await new ValueAdapter('Grant', parts).upsert('g', { kind: 'Grant' } as AdapterPayload, 60)
    const code = { kind: 'AuthorizationCode', grantId: 'g', exp: 600 } as AdapterPayload
    await adapter.upsert('code', code, 600)
  }
  const ends = async (promise: Promise<void> | undefined) =>
    (promise ?? Promise.reject()).then(
      () => 'done',
      () => (at('Grant g') === undefined ? 'ended' : 'refused'),
    )
  // at once: whoever comes to the end second is told, and what the first one has ends
  await begin()
  await Promise.all([adapter.consume('code'), adapter.consume('code')])
  assert.equal([await ends(last.pop()?.()), await ends(last.pop()?.())], ['done', 'ended'])
  // what came to nothing uses nothing up
  await begin()
  await adapter.consume('code')
  last.pop()
  await adapter.consume('code')
  assert.is(await ends(last.pop()?.()), 'done')
})

test('what is kept of a proof is short, however long its client is called', async () => {
  const { adapter, texts } = records('ReplayDetection')
  const payload = { kind: 'ReplayDetection', jti: 'i'.repeat(43), iss: 'x'.repeat(512), iat: 1, exp: 2 }
  await adapter.upsert('one', payload, 600)
  assert.ok(texts('ReplayDetection').every((text) => text.length < 150))
  const twice = await adapter.upsert('one', payload, 600).catch((error: Error) => error.message)
  assert.is(twice, 'refused')
})

test('of all that go on from one step at once one does, and none comes back', async (t) => {
  const { register, begin, origin, kept, engine } = await watched(t)
  const steps = () => [...kept.keys()].filter((key) => key.startsWith('Interaction '))
  const first = await fetch(begin(await register()).url, { redirect: 'manual' })
  await first.arrayBuffer()
  const cookie = first.headers
    .getSetCookie()
    .map((line) => line.split(';')[0])
    .join('; ')
  const [step = ''] = steps()
  const resume = step.replace('Interaction ', '/authorize/')
  // all have seen the step before one of them ends it
  engine.before = () => new Promise((resolve) => void setImmediate(resolve))
  const all = await Promise.all(
    Array.from({ length: 20 }, async () => {
      const response = await fetch(origin + resume, { headers: { cookie }, redirect: 'manual' })
      await response.arrayBuffer()
      return response.status
    }),
  )
  assert.equal(all.toSorted(), [303, ...Array.from({ length: 19 }, () => 400)])
  assert.is(steps().length, 1)
})

test('a decision about a step that has ended does not bring it back', async () => {
  const { adapter, texts } = records('Interaction')
  const step = { kind: 'Interaction', jti: 'one', exp: 600, params: {} } as AdapterPayload
  const decide = () =>
    adapter.upsert('one', { ...step, result: {} }, 600).catch((error: Error) => error.message)
  await adapter.upsert('one', step, 600)
  assert.is(await decide(), undefined)
  await adapter.destroy('one')
  assert.is(await decide(), 'refused')
  assert.equal(texts('Interaction'), [])
})

test('whoever is signed out again and again has a hundred clients kept', async () => {
  const { time, values, world, at } = records('Client')
  const grants = new Grants(values, world)
  const isKept = (n: number): boolean => at(clientKey(`client ${n}`)) !== undefined
  for (let n = 0; n < 150; n += 1) {
    const clientId = `client ${n}`
    await values.set(clientKey(clientId), '{}', { ttl: 8 * hour, was: undefined })
    const consent = { grantId: `grant ${n}`, accountId: `account ${n}`, clientId }
    await grants.note(consent, 'https://client.example/back')
    await grants.endAll(`account ${n}`, 'ada')
  }
  time.ms = 9 * hour
  assert.equal([0, 49, 50, 149].map(isKept), [false, false, true, true])
})

test('the last document of a client is kept for a week', async () => {
  const { time, values, world, texts } = records('Client')
  const grants = new Grants(values, world)
  const clientId = 'https://client.example/mcp'
  const consent = { grantId: 'grant', accountId: 'ada', clientId }
  await grants.note(consent, 'https://client.example/back')
  await grants.keepDocument(clientId, '{}')
  time.ms = 7 * 24 * hour - 1
  assert.is(texts('last document').length, 1)
  time.ms += 1
  assert.is(texts('last document').length, 0)
})

test('what a provider calls somebody is short, or they are nobody', async (t) => {
  const { register, codeOf, begin, kept, login } = await watched(t)
  const client = await register()
  login.user = { subject: 'a'.repeat(512), name: 'n'.repeat(5_000) }
  await codeOf(client)
  const [user = ''] = [...kept].filter(([key]) => key.startsWith('user ')).map(([, text]) => text)
  assert.is((JSON.parse(user) as SignedInUser).name?.length, 200)
  login.user = { subject: 'a'.repeat(513) }
  const page = await new Browser().open(begin(client).url, isBack)
  assert.is(page.url.searchParams.get('error'), 'access_denied', page.text)
})

/** What a server asks of a sign-in whose user is Ada. */
async function ofAda(t: TestContext) {
  const found = await watched(t)
  await found.codeOf(await found.register())
  const principal = { issuer: found.login.issuer, subject: 'ada' }
  const { signal } = new AbortController()
  const ask = (...scopes: string[]) =>
    OwnServer.parts(found.auth).credentials(principal, { scopes, visit: undefined }, signal)
  return { ...found, ask }
}

test('a user has sixteen visits for more scopes at a time, each of so many characters', async (t) => {
  const { ask, kept } = await ofAda(t)
  for (let n = 0; n < 20; n += 1) await ask(`scope-${n}`)
  const visits = () => [...kept.keys()].filter((key) => key.startsWith('visit '))
  assert.is(visits().length, 16)
  await ask('scope-19')
  assert.is(visits().length, 16)
  const error = await ask('x'.repeat(5_000)).catch((cause: unknown) => cause)
  assert.is((error as TransportError).code, 'MESSAGE_TOO_LONG')
})

test('requests of one network are counted, by the kind of what each has kept', async (t) => {
  const limits = { registrations: 1, authorizations: 2, requests: 3 }
  const { register, begin, origin } = await attack(t, { limits })
  const ask = async (address: string | URL): Promise<number> => {
    const response = await fetch(address, { redirect: 'manual' })
    await response.arrayBuffer()
    return response.status
  }
  const client = await register()
  assert.is((await register()).error, 'temporarily_unavailable')
  const { url } = begin(client)
  assert.equal([await ask(url), await ask(`${origin}/sign-in/more/x`), await ask(url)], [303, 400, 429])
  const others = ['/authorize/x', '/sign-in/x', '/token', '/jwks'].map((path) => origin + path)
  const all: number[] = []
  for (const other of others) all.push(await ask(other))
  assert.equal([all.slice(0, 3).includes(429), all[3]], [false, 429])
})

test('a network is what one customer has, and 10,000 are counted', () => {
  const time = { ms: 0 }
  const own = { registrations: 1, authorizations: 1, requests: 1 }
  const limits = new RateLimits(own, { now: () => time.ms })
  const take = (address: string): boolean => limits.take('registrations', address) === undefined
  assert.equal(['2001:db8:1::1', '2001:db8:1:ffff::2', '2001:db8:2::1'].map(take), [true, false, true])
  time.ms = 599_999
  assert.not.ok(take('2001:db8:1::3'))
  time.ms = 600_000
  assert.ok(take('2001:db8:1::3'))
  const addressOf = (n: number): string => `10.${n >> 16}.${(n >> 8) & 255}.${n & 255}`
  for (let n = 0; n < 9_999; n += 1) take(addressOf(n))
  assert.not.ok(take('2001:db8:1::3'))
  take(addressOf(9_999))
  // the oldest is not counted any more
  assert.ok(take('2001:db8:1::3'))
})

/** The logins of users behind a gateway, at a time that the test sets. */
function upstream() {
  const time = { ms: 0 }
  const { values, texts } = keptValues(() => time.ms)
  const world = { ...systemWorld, date: () => time.ms, now: () => time.ms }
  const logins = new UpstreamLogins({ values, world, name: 'team', site: () => 'https://team.example' })
  const ask = async (subject: string, address: string): Promise<unknown> => {
    const { signal } = new AbortController()
    const { signIn } = logins.loginFor('mail', { issuer: 'urn:test', subject }, signal)
    try {
      const begun = await signIn?.begin()
      return await begun?.authorize(new URL(address), signal, { state: 'state' })
    } catch (error) {
      return (error as TransportError).code
    }
  }
  return { time, texts, ask, logins }
}

test('one login of a user at a server is under way, of so many characters', async () => {
  const { time, texts, ask } = upstream()
  const address = 'https://login.example/authorize'
  assert.is(await ask('ada', `${address}?${'x'.repeat(40_000)}`), 'MESSAGE_TOO_LONG')
  assert.equal([texts('upstream sign-in '), texts('upstream asked ')], [[], []])
  await Promise.all(Array.from({ length: 20 }, () => ask('ada', address)))
  assert.equal([texts('upstream sign-in ').length, texts('upstream asked ').length], [1, 1])
  // each is asked for eight minutes, and kept for ten
  for (; time.ms < 4 * hour; time.ms += 60_000) {
    await ask('ada', address)
    assert.ok(texts('upstream sign-in ').length <= 2)
  }
})

test('pages of a gateway are asked for so often by one network', async () => {
  const { logins } = upstream()
  const answers: number[] = []
  let resolve = (): void => {}
  const all = new Promise<void>((resolved) => {
    resolve = resolved
  })
  const response = {
    headersSent: false,
    writeHead(status: number) {
      if (answers.push(status) === 601) resolve()
      return response
    },
    end: () => response,
  }
  const request = { url: `/upstream/sign-in/${'x'.repeat(43)}`, method: 'GET', headers: {} }
  for (let n = 0; n < 601; n += 1)
    logins.pages.take(request as IncomingMessage, response as unknown as ServerResponse, {
      address: '10.0.0.1',
    })
  await all
  assert.is(answers.filter((status) => status === 429).length, 1)
})

test('each step of a sign-in is kept as long as is said, and no other kind is', async (t) => {
  const scopes = { write: 'Write' }
  const { register, begin, codeOf, token, kept, lifetimes, auth, login } = await watched(t, { scopes })
  const client = await register()
  // one who goes no further
  await new Browser().open(begin(client).url, (url) => url.pathname === '/sign-in/callback')
  const { form } = await codeOf(client)
  const { body } = await token(form)
  const own = { grant_type: 'refresh_token', client_id: client.client_id ?? '' }
  await token({ ...own, refresh_token: body.refresh_token ?? '' })
  const { signal } = new AbortController()
  const ada = { issuer: login.issuer, subject: 'ada' }
  await OwnServer.parts(auth).credentials(ada, { scopes: ['more'], visit: undefined }, signal)
  const { client_id: never = '' } = await register()
  assert.is(lifetimes.get(`Client ${never}`), 8 * hour)
  await codeOf(await register())
  await auth.signOut(ada)
  const minute = 60_000
  const day = 24 * hour
  const longest: Readonly<Record<string, number>> = {
    'signing key': 400 * day,
    'cookie key': 400 * day,
    Client: 400 * day,
    'clients of': 400 * day,
    Interaction: 10 * minute,
    browser: 10 * minute,
    shown: 10 * minute,
    login: 10 * minute,
    'end of login': 10 * minute,
    visit: 10 * minute,
    'visits of': 10 * minute,
    user: 400 * day,
    account: 400 * day,
    credentials: 400 * day,
    'Session uid': 8 * hour,
    Session: 8 * hour,
    'Sessions of': 8 * hour,
    Grant: 365 * day,
    'grants of': 365 * day,
    redirect: 365 * day,
    'grants to': 400 * day,
    AuthorizationCode: minute,
    AccessToken: hour,
    'AccessTokens of': hour,
    RefreshToken: 30 * day,
    'tokens of': 365 * day,
  }
  const seen = new Set<string>()
  for (const [key, ttl] of lifetimes) {
    const kind = Object.keys(longest).find((one) => key === one || key.startsWith(`${one} `)) ?? key
    seen.add(kind)
    assert.ok(ttl <= (longest[kind] ?? 0), `${key}: ${ttl}`)
  }
  assert.equal(
    Object.keys(longest).filter((kind) => !seen.has(kind)),
    [],
  )
  // of a user who is signed out
  const left = [...kept.keys()].filter((key) => /^(?:user|account|credentials|Grant|redirect) /.test(key))
  assert.equal(left, [])
})

test('of several values none goes whose place in the list could not be given away', async () => {
  const { values, texts } = keptValues(() => 0)
  const world = { ...systemWorld, setTimeout: (fn: () => void) => systemWorld.setTimeout(fn, 0) }
  const keep = (own: Values, key: string) =>
    keepAmong(own, world, { list: 'list', key, text: () => key, ttl: 1_000, longest: 1_000, most: 2 })
  for (const key of ['value 1', 'value 2', 'value 3']) await keep(values, key)
  assert.equal(texts('value '), ['value 2', 'value 3'])
  // others change the list again and again
  const busy: Values = { ...values, set: async (key, ...rest) => key !== 'list' && values.set(key, ...rest) }
  const code = await keep(busy, 'value 4').then(String, (error: { readonly code?: string }) => error.code)
  assert.equal([code, texts('value ')], ['CLUSTER_UNAVAILABLE', ['value 2', 'value 3']])
})

/** The tests that the tables of a page name in their last column: the file, and how the name begins. */
function* named(page: string): Iterable<readonly [file: string, start: string]> {
  const fileOf = (name: string): string | undefined =>
    [
      `test/transports/authorization/${name}.test.ts`,
      `test/transports/${name}.test.ts`,
      `test/${name}.test.ts`,
    ]
      .map((path) => inRoot(path))
      .find((path) => existsSync(path))
  const rows = readFileSync(inRoot(`transports/authorization/${page}.md`), 'utf8').matchAll(
    /^\| .*\| (.*) \|$/gm,
  )
  for (const [, cell = ''] of rows)
    for (const item of cell === 'test' || cell === '---' ? [] : cell.split('; ')) {
      const [name = '', parts = ''] = item.split(/: (.*)/)
      const file = fileOf(name)
      if (file === undefined) yield [String(fileOf('attacks')), item]
      else for (const part of parts.split(', ')) yield [file, part]
    }
}

test('the tests that the tables of bounds and attacks name are there', () => {
  const lost: string[] = []
  for (const page of ['bounds', 'bounds-gateway', 'attacks']) {
    const all = [...named(page)]
    assert.ok(all.length > 8, page)
    for (const [file, start] of all)
      if (
        !readFileSync(file, 'utf8')
          .split(/\n *test(?:\.slow)?\(\s*['"`]/)
          .some((one) => one.startsWith(start))
      )
        lost.push(`${page}: ${file} ${start}`)
  }
  assert.equal(lost, [])
})

test.run()
