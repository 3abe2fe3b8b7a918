import { once } from 'node:events'
import { connect } from 'node:net'
import * as assert from 'uvu/assert'
import { loopbackSignIn } from 'caduceus/client'
import { suite, type TestContext } from '../../support/suite.js'
import { rejection } from '../_raw.js'

const test = suite('sign-in with the browser of this machine')
const place = new URL('https://as.example/authorize?state=s')

test('the address is shown, and the matching redirect is received', async (t) => {
  const shown: URL[] = []
  const session = await loopbackSignIn({ open: (url) => shown.push(url) }).begin(undefined)
  t.after(() => session.close?.())
  const answer = session.authorize(place, t.signal)
  const { origin } = new URL(session.redirectUri)
  assert.match(session.redirectUri, /^http:\/\/127\.0\.0\.1:\d+\/callback$/)
  assert.is((await fetch(`${origin}/favicon.ico`)).status, 404)
  assert.is((await fetch(`${session.redirectUri}?code=stray`)).status, 400)
  assert.is((await fetch(`${session.redirectUri}?code=c&state=s&state2=<script>`)).status, 200)
  assert.is((await answer).get('code'), 'c')
  assert.equal(shown, [place])
})

test('the page says that a redirect without one code signs nobody in', async (t) => {
  for (const more of ['', '&code=', '&code=a&code=b', '&error=access_denied']) {
    const session = await loopbackSignIn({ open: () => {} }).begin(undefined)
    const answer = session.authorize(place, t.signal)
    const page = await fetch(`${session.redirectUri}?state=s${more}`)
    assert.match(await page.text(), 'Not signed in', more)
    await answer
    await session.close?.()
  }
})

test('a redirect with a foreign state is refused, and the sign-in goes on', async (t) => {
  const session = await loopbackSignIn({ open: () => {} }).begin(undefined)
  t.after(() => session.close?.())
  const answer = session.authorize(place, t.signal)
  const port = Number(new URL(session.redirectUri).port)
  const host = `127.0.0.1:${port}`
  for (const [target, status, asked = host] of [
    ['/callback?code=x&state=anything', '400'],
    ['/callback?code=x&state=', '400'],
    ['/callback?code=x&state=s&state=anything', '400'],
    ['/callback?code=x&state=s', '403', `evil.example:${port}`],
    ['/callback?code=x&state=s', '403', '127.0.0.1'],
    ['/callback?code=x&state=s', '403', ''],
    ['//', '404'],
    ['//[', '404'],
    ['http://[/', '404'],
    ['*', '404'],
    ['/callback/?code=x&state=s', '404'],
    ['/%ff?code=x&state=s', '404'],
    [`http://${host}/callback?code=c&state=s`, '200'],
  ] as const)
    assert.is(await statusOf(t, port, target, asked), status, target)
  assert.is((await answer).get('code'), 'c')
  // it counts once
  assert.is(await statusOf(t, port, '/callback?code=d&state=s', host), '400')
})

test('a redirect that arrives before the address was shown is accepted', async (t) => {
  let back: Promise<Response> | undefined
  const signIn = loopbackSignIn({
    open(url) {
      back = fetch(`${url.searchParams.get('redirect_uri')}?code=c&state=s`)
      return back
    },
  })
  const session = await signIn.begin(undefined)
  t.after(() => session.close?.())
  const url = new URL(place)
  url.searchParams.set('redirect_uri', session.redirectUri)
  assert.is((await session.authorize(url, t.signal)).get('code'), 'c')
  assert.is((await back)?.status, 200)
})

test('whoever shows the address and never is done keeps nobody waiting', async (t) => {
  const session = await loopbackSignIn({ open: () => new Promise(() => {}) }).begin(undefined)
  t.after(() => session.close?.())
  const answer = session.authorize(place, t.signal)
  assert.match(await (await fetch(`${session.redirectUri}?code=c&state=s`)).text(), /Signed in/)
  assert.is((await answer).get('code'), 'c')
})

test('the browser shows that a sign-in was refused', async (t) => {
  const session = await loopbackSignIn({ open: () => {} }).begin(undefined)
  t.after(() => session.close?.())
  const answer = session.authorize(place, t.signal)
  const told = await fetch(`${session.redirectUri}?error=access_denied&state=s`)
  assert.match(await told.text(), /<title>Not signed in<.*refused/)
  assert.is((await answer).get('error'), 'access_denied')
})

test('a registered callback port is reused if free, else another one is taken', async (t) => {
  const signIn = loopbackSignIn({ open: () => {} })
  const first = await signIn.begin(undefined)
  const other = await signIn.begin(first.redirectUri)
  t.after(() => other.close?.())
  assert.is.not(other.redirectUri, first.redirectUri)
  await first.close?.()
  const again = await signIn.begin(first.redirectUri)
  t.after(() => again.close?.())
  assert.is(again.redirectUri, first.redirectUri)
})

test('sign-ins that are open at once share a fixed port, which is free after them', async (t) => {
  const free = await loopbackSignIn().begin(undefined)
  const port = Number(new URL(free.redirectUri).port)
  await free.close?.()
  const signIn = loopbackSignIn({ port, open: () => {} })
  const states = ['one', 'two', 'three']
  const sessions = await Promise.all(states.map(() => signIn.begin(undefined)))
  t.after(() => Promise.all(sessions.map((session) => session.close?.())))
  const answers = sessions.map((session, index) =>
    session.authorize(new URL(`https://as.example/authorize?state=${states[index]}`), t.signal),
  )
  await sessions[2]?.close?.()
  await sessions[2]?.close?.()
  for (const state of ['two', 'one'])
    assert.is((await fetch(`http://127.0.0.1:${port}/callback?code=${state}&state=${state}`)).status, 200)
  for (const [index, state] of ['one', 'two'].entries()) assert.is((await answers[index])?.get('code'), state)
  const ends = sessions.map((session) => session.close?.())
  const next = await signIn.begin(undefined)
  await Promise.all(ends)
  const taken = await rejection(loopbackSignIn({ port }).begin(undefined))
  assert.match(taken.message, `127.0.0.1:${port} cannot be listened on`)
  // whoever has it gives it back some time
  assert.equal([taken.code, taken.retryable, taken.data], ['AUTHORIZATION_FAILED', true, { sent: false }])
  await next.close?.()
  await (await loopbackSignIn({ port }).begin(undefined)).close?.()
})

test('a fixed port that was taken can be had by the next sign-in', async (t) => {
  const free = await loopbackSignIn().begin(undefined)
  const port = Number(new URL(free.redirectUri).port)
  const signIn = loopbackSignIn({ port, open: () => {} })
  const both = await Promise.all([0, 1].map(() => rejection(signIn.begin(undefined))))
  for (const { message } of both) assert.match(message, `127.0.0.1:${port} cannot be listened on`)
  await free.close?.()
  const next = await signIn.begin(undefined)
  t.after(() => next.close?.())
  assert.is(new URL(next.redirectUri).port, String(port))
  // the end of it is the end of its port, too
  await next.close?.()
  const again = await loopbackSignIn({ port }).begin(undefined)
  await again.close?.()
})

test('waiting can be aborted, and a failed display says what to do', async (t) => {
  const controller = new AbortController()
  const session = await loopbackSignIn({ open: () => {} }).begin(undefined)
  t.after(() => session.close?.())
  const waiting = session.authorize(place, controller.signal)
  controller.abort(new Error('given up'))
  assert.is((await rejection(waiting)).message, 'given up')
  const broken = () => {
    throw new Error('no screen')
  }
  const blind = await loopbackSignIn({ open: broken }).begin(undefined)
  t.after(() => blind.close?.())
  const error = await rejection(blind.authorize(place, t.signal))
  assert.equal([error.code, error.data], ['SIGN_IN_NEEDED', { sent: false }])
  assert.match(error.message, /no screen.* option open/)
})

test('a sign-in opens no file', async (t) => {
  const session = await loopbackSignIn({ open: () => assert.unreachable() }).begin(undefined)
  t.after(() => session.close?.())
  const file = new URL('file:///etc/passwd?state=s')
  assert.is((await rejection(session.authorize(file, t.signal))).code, 'BAD_OPTION')
})

test('wrong options are refused', () => {
  assert.throws(() => loopbackSignIn({ port: 70_000 }), /port: expected a port/)
  assert.throws(() => loopbackSignIn({ path: 'callback' }), /path: expected a path/)
  assert.throws(() => loopbackSignIn({ open: 1 as never }), /open: expected a function/)
})

/** The status of the answer to a target that no library would send. */
async function statusOf(t: TestContext, port: number, target: string, host: string): Promise<string> {
  const socket = connect(port, '127.0.0.1', () => {
    socket.write(`GET ${target} HTTP/1.1\r\nhost: ${host}\r\n\r\n`)
  })
  t.after(() => socket.destroy())
  const [chunk] = await once(socket.setEncoding('latin1'), 'data', { signal: t.signal })
  return /^HTTP\/1\.1 (\d+)/.exec(String(chunk))?.[1] ?? ''
}

test.run()
