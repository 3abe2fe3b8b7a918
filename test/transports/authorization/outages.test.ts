// second tier: time
// shares a process
import * as assert from 'uvu/assert'
import { systemWorld } from 'caduceus/runtime'
import { TransportError } from 'caduceus/transports'
import { suite, type TestContext } from '../../support/suite.js'
import { back, isBack, type Json } from './_attack.js'
import { Browser } from './_browser.js'
import { watched } from './_watched.js'

const test = suite('sign-ins while something else happens', { timeout: 30_000 })

/** Runs `act` once, before the engine is asked for the time `at`. */
function onceAt(
  engine: { before: () => Promise<void> },
  at: number,
  act: () => Promise<void>,
): () => boolean {
  let asked = 0
  let isDone = false
  engine.before = async () => {
    asked += 1
    if (asked <= at || isDone) return
    isDone = true
    await act()
  }
  return () => isDone
}

/** An engine that answers so often, and is away then. */
function awayAfter(engine: { before: () => Promise<void> }, most: number): () => boolean {
  let asked = 0
  engine.before = async () => {
    asked += 1
    if (asked > most) throw new TransportError('CLUSTER_UNAVAILABLE', 'it is away', { retryable: true })
  }
  return () => asked > most
}

for (const kind of ['access_token', 'refresh_token'] as const)
  test(`who revokes an ${kind} while the engine is away is told, and tries again`, async (t) => {
    const { register, codeOf, token, status, engine, origin } = await watched(t)
    const client = await register()
    const browser = new Browser()
    for (let at = 0, isOver = false; !isOver; at += 1) {
      const { form } = await codeOf(client, browser)
      const { body } = await token(form)
      const revoke = () =>
        fetch(`${origin}/revoke`, {
          method: 'POST',
          body: new URLSearchParams({ token: body[kind] ?? '', client_id: form.client_id }),
        })
      const wasAway = awayAfter(engine, at)
      const response = await revoke()
      const text = await response.text()
      engine.before = async () => {}
      isOver = !wasAway()
      if (isOver) assert.is(response.status, 200)
      else {
        assert.equal([response.status, (JSON.parse(text) as Json).error], [503, 'temporarily_unavailable'])
        assert.is((await revoke()).status, 200)
      }
      assert.is(await status(body.access_token), 401, `${at}`)
      const renewal = { grant_type: 'refresh_token', refresh_token: body.refresh_token ?? '' }
      const renewed = await token({ ...renewal, client_id: form.client_id })
      assert.is(renewed.body.error, 'invalid_grant', `${at}`)
    }
  })

test('who renews while the engine is away is told, and tries again with that token', async (t) => {
  const time = { ms: 0 }
  const clock = { ...systemWorld, date: () => Date.now() + time.ms }
  const { register, codeOf, token, status, engine } = await watched(t, { clock })
  const { form } = await codeOf(await register())
  let { body } = await token(form)
  for (let at = 0, isOver = false; !isOver; at += 1) {
    const own = { grant_type: 'refresh_token', refresh_token: body.refresh_token ?? '', scope: 'mcp' }
    const renew = () => token({ ...own, client_id: form.client_id })
    time.ms += 42_000
    const wasAway = awayAfter(engine, at)
    let answer = await renew()
    engine.before = async () => {}
    isOver = !wasAway()
    if (!isOver) {
      assert.equal([answer.status, answer.body.error], [503, 'temporarily_unavailable'], `${at}`)
      assert.is(answer.headers.get('retry-after'), '5')
      // later than the one before is good
      time.ms += 60_000
      answer = await renew()
    }
    assert.is(answer.status, 200, `${at}`)
    body = answer.body
    assert.is(await status(body.access_token), 400, `${at}`)
  }
})

test('who exchanges a code while the engine is away tries again, and ends nothing', async (t) => {
  const time = { ms: 0 }
  const clock = { ...systemWorld, date: () => Date.now() + time.ms }
  const { register, begin, token, status, engine } = await watched(t, { clock })
  const redirect = { redirect_uri: 'https://web.example/cb' }
  const client = await register({ application_type: 'web', redirect_uris: [redirect.redirect_uri] })
  const browser = new Browser()
  const isThere = ({ href }: URL): boolean => href.startsWith(redirect.redirect_uri)
  // a client on the web is let in once: its windows share a grant
  const windowOf = async (): Promise<Json> => {
    const { url, verifier } = begin(client, redirect)
    const page = await browser.open(url, isThere)
    const last = isThere(page.url) ? page : await browser.press(page, 'allow', isThere)
    const code = last.url.searchParams.get('code') ?? ''
    const own = { grant_type: 'authorization_code', client_id: client.client_id ?? '', ...redirect }
    return { ...own, code, code_verifier: verifier }
  }
  const { body: other } = await token(await windowOf())
  for (let at = 0, isOver = false; !isOver; at += 1) {
    const form = await windowOf()
    const wasAway = awayAfter(engine, at)
    let answer = await token(form)
    engine.before = async () => {}
    isOver = !wasAway()
    if (!isOver) {
      assert.is(answer.status, 503, `${at}`)
      time.ms += Number(answer.headers.get('retry-after')) * 1_000
      answer = await token(form)
    }
    assert.is(answer.status, 200, `${at}`)
    assert.is(await status(answer.body.access_token), 400, `${at}`)
    assert.is(await status(other.access_token), 400, `${at}`)
    // and used once more it is a stolen one
    if (isOver) assert.is((await token(form)).body.error, 'invalid_grant')
  }
  assert.is(await status(other.access_token), 401)
})

test('who exchanges a code while `allow` cannot say tries again at once', async (t) => {
  let isAway = true
  const allow = (): boolean => {
    if (isAway && given) throw new Error('the directory is away')
    return true
  }
  let given = false
  const { register, codeOf, token } = await watched(t, { allow })
  const { form } = await codeOf(await register())
  given = true
  const told = await token(form)
  assert.equal([told.status, told.headers.get('retry-after')], [503, '5'])
  isAway = false
  assert.is((await token(form)).status, 200)
})

for (const what of ['code', 'refresh token'])
  test(`who has gone while it takes its time may come again with the same ${what}`, async (t) => {
    let slow = Promise.resolve()
    let asked = 0
    const allow = async (): Promise<boolean> => {
      asked += 1
      await slow
      return true
    }
    const { register, codeOf, token, status, origin } = await watched(t, { allow })
    const { form } = await codeOf(await register())
    const own = async (): Promise<Json> => {
      if (what === 'code') return form
      const { body } = await token(form)
      const renewal = { grant_type: 'refresh_token', refresh_token: body.refresh_token ?? '' }
      return { ...renewal, client_id: form.client_id }
    }
    const asks = await own()
    const before = asked
    let goOn = (): void => {}
    slow = new Promise<void>((resolve) => {
      goOn = resolve
    })
    const gone = new AbortController()
    const body = new URLSearchParams(asks)
    const first = fetch(`${origin}/token`, { method: 'POST', body, signal: gone.signal }).catch(() => {})
    while (asked === before) await new Promise(setImmediate)
    gone.abort()
    await first
    slow = Promise.resolve()
    const second = await token(asks)
    assert.is(second.status, 200)
    goOn()
    // the first one comes to its end only now
    for (let looks = 0; looks < 20; looks += 1)
      assert.is(await status(second.body.access_token), 400, `${looks}`)
  })

test('a thief who exchanges a code while its owner does is noticed', async (t) => {
  let slow = Promise.resolve()
  const allow = async (): Promise<boolean> => {
    await slow
    return true
  }
  const { register, codeOf, token, status, engine } = await watched(t, { allow })
  for (const thiefComes of ['first', 'later'] as const) {
    const { form } = await codeOf(await register())
    let goOn = (): void => {}
    slow = new Promise<void>((resolve) => {
      goOn = resolve
    })
    const taken = new Promise<void>((resolve) => {
      engine.before = async () => resolve()
    })
    const first = token(form)
    await taken
    engine.before = async () => {}
    if (thiefComes === 'later') for (let n = 0; n < 50; n += 1) await new Promise(setImmediate)
    const second = token(form)
    await Promise.race([second, new Promise((resolve) => setTimeout(resolve, 500))])
    goOn()
    const both = await Promise.all([first, second])
    for (const { body } of both)
      if (body.access_token !== undefined) assert.is(await status(body.access_token), 401, thiefComes)
    slow = Promise.resolve()
  }
})

test('who renews while `allow` cannot say is told, and tries again with that token', async (t) => {
  const time = { ms: 0 }
  const clock = { ...systemWorld, date: () => Date.now() + time.ms }
  let left = Number.POSITIVE_INFINITY
  const allow = (): boolean => {
    left -= 1
    if (left === -1) throw new Error('the directory is away')
    return true
  }
  const { register, codeOf, token } = await watched(t, { clock, allow })
  const { form } = await codeOf(await register())
  let { body } = await token(form)
  let times = 0
  for (let isOver = false; !isOver; times += 1) {
    const own = { grant_type: 'refresh_token', refresh_token: body.refresh_token ?? '' }
    const renew = () => token({ ...own, client_id: form.client_id })
    time.ms += 60_000
    left = times
    let answer = await renew()
    isOver = left >= 0
    left = Number.POSITIVE_INFINITY
    if (!isOver) {
      assert.equal([answer.status, answer.body.error], [503, 'temporarily_unavailable'], `${times}`)
      time.ms += 60_000
      answer = await renew()
    }
    assert.is(answer.status, 200, `${times}`)
    body = answer.body
  }
  assert.ok(times > 1)
})

/** Signs Ada in, by a browser of her own, from the callback on, and signs her out; what is left of her. */
async function inAndOut(t: TestContext) {
  const found = await watched(t)
  const { register, begin, token, auth, login, kept } = found
  const client = await register()
  const begun = async (): Promise<() => Promise<void>> => {
    const browser = new Browser()
    const { url, verifier } = begin(client)
    const stopped = await browser.open(url, ({ pathname }) => pathname === '/sign-in/callback')
    return async () => {
      let page = await browser.open(stopped.url, isBack)
      if (/Allow access/.test(page.text)) page = await browser.press(page, 'allow', isBack)
      assert.ok(page.status < 500, `${page.url} ${page.text}`)
      const code = isBack(page.url) ? page.url.searchParams.get('code') : null
      const own = { client_id: client.client_id ?? '', redirect_uri: back }
      const form = { grant_type: 'authorization_code', code_verifier: verifier, ...own }
      if (code !== null) assert.ok((await token({ ...form, code })).status < 500)
    }
  }
  const out = () => auth.signOut({ issuer: login.issuer, subject: 'ada' })
  const kinds = /^(?:account|user|credentials|grants of|grants to|Grant|redirect) /
  const left = () => [...kept.keys()].filter((key) => kinds.test(key))
  /** What belongs to accounts that are no more. */
  const ownerless = () =>
    left().filter((key) => {
      const [, account] = /^(?:credentials|grants of) (.*)$/.exec(key) ?? []
      return account !== undefined && !kept.has(`user ${account}`)
    })
  return { ...found, begun, out, left, ownerless }
}

test('who is signed out while they sign in leaves nothing behind', async (t) => {
  const { engine, begun, out, left, ownerless } = await inAndOut(t)
  for (let at = 0, isOver = false; !isOver; at += 1) {
    const goOn = await begun()
    const isDone = onceAt(engine, at, out)
    await goOn()
    isOver = !isDone()
    assert.equal(ownerless(), [], `${at}`)
    await out()
    assert.equal(left(), [], `${at}`)
  }
})

test('a sign-out during which the engine goes away is said again', async (t) => {
  const { engine, begun, out, left, kept } = await inAndOut(t)
  for (let at = 0, isOver = false; !isOver; at += 1) {
    await (await begun())()
    const wasAway = awayAfter(engine, at)
    const error = await out().catch((cause: unknown) => cause)
    engine.before = async () => {}
    isOver = !wasAway()
    if (!isOver) assert.is((error as TransportError).code, 'CLUSTER_UNAVAILABLE')
    await out()
    // of a grant something may be left, which is good for nothing without its user, and ends by itself
    const ofUser = left().filter((key) => !/^(?:Grant|redirect|grants to) /.test(key))
    assert.equal(ofUser, [], `${at}`)
    for (const key of left()) kept.delete(key)
  }
})

test('who signs in while they are signed out leaves nothing behind', async (t) => {
  const { engine, begun, out, left, ownerless } = await inAndOut(t)
  for (const isThere of [false, true])
    for (let at = 0, isOver = false; !isOver; at += 1) {
      if (isThere) await (await begun())()
      const isDone = onceAt(engine, at, await begun())
      await out()
      isOver = !isDone()
      assert.equal(ownerless(), [], `${isThere} ${at}`)
      await out()
      assert.equal(left(), [], `${isThere} ${at}`)
    }
})

test('whoever signs in while the engine is away is told to try again, at each step', async (t) => {
  const { engine, register, begin } = await watched(t)
  const client = await register()
  for (let at = 0, isOver = false; !isOver; at += 1) {
    const browser = new Browser()
    const atCallback = ({ pathname }: URL): boolean => pathname === '/sign-in/callback'
    const stopped = await browser.open(begin(client).url, atCallback)
    const wasAway = awayAfter(engine, at)
    let page = await browser.open(stopped.url, isBack)
    if (/Allow access/.test(page.text)) page = await browser.press(page, 'allow', isBack)
    engine.before = async () => {}
    isOver = !wasAway()
    if (!isOver && !isBack(page.url)) assert.is(page.status, 503, `${at}: ${page.url} ${page.text}`)
    if (isBack(page.url)) {
      const expected = isOver ? null : 'temporarily_unavailable'
      assert.is(page.url.searchParams.get('error'), expected, `${at}`)
    }
  }
})

test.run()
