import * as assert from 'uvu/assert'
import { systemWorld } from 'caduceus/runtime'
import { suite } from '../../support/suite.js'
import { attack } from './_attack.js'
import { Browser } from './_browser.js'

const test = suite('what a click on Allow is good for', { timeout: 20_000 })

/** A client on the web, which is not asked for each time: what it gets, and whether somebody had to click. */
async function webClient(
  { register, begin, token }: Awaited<ReturnType<typeof attack>>,
  at = 'https://web.example/cb',
) {
  const client = await register({ application_type: 'web', redirect_uris: [at] })
  const isWeb = (url: URL): boolean => url.href.startsWith(at)
  const browser = new Browser()
  return async (): Promise<readonly [scope: string | undefined, how: 'by a click' | 'silently']> => {
    const { url, verifier } = begin(client, { redirect_uri: at, scope: 'mcp write' })
    const page = await browser.open(url, isWeb)
    const last = isWeb(page.url) ? page : await browser.press(page, 'allow', isWeb)
    const code = last.url.searchParams.get('code') ?? last.url.href
    const form = { grant_type: 'authorization_code', code, code_verifier: verifier }
    const { body } = await token({ ...form, client_id: client.client_id ?? '', redirect_uri: at })
    return [body.scope, last === page ? 'silently' : 'by a click']
  }
}

test('a scope that a user has lost is in no new token of a grant that there was', async (t) => {
  const may = { scopes: ['write'] }
  const ask = await webClient(await attack(t, { scopes: { write: 'Write' }, scopesOf: () => may.scopes }))
  assert.equal(await ask(), ['mcp write', 'by a click'])
  may.scopes = []
  assert.equal(await ask(), ['mcp', 'silently'])
  may.scopes = ['write']
  assert.equal(await ask(), ['mcp write', 'silently'])
})

test('an address of the device itself is asked for each time, however it is written', async (t) => {
  const found = await attack(t)
  for (const host of [
    ...['127.0.0.2', '0.0.0.0', '0.1.2.3', '[::1]', '[::]', '[::127.0.0.1]', '[::ffff:127.0.0.1]'],
    ...['[::ffff:0.0.0.0]', '[::ffff:0:127.0.0.1]', '[64:ff9b::127.0.0.1]', 'localhost:8443', 'localhost..'],
    ...['app.localhost', 'localhost.localdomain', 'localhost6.localdomain6', 'ip6-localhost', 'ip6-loopback'],
  ]) {
    const ask = await webClient(found, new URL(`https://${host}/cb`).href)
    for (const _ of [1, 2]) assert.equal(await ask(), ['mcp', 'by a click'], host)
  }
  for (const host of ['10.127.0.0', '[::ffff:7.240.0.1]', '[2001:db8::1]', 'localhost.example']) {
    const ask = await webClient(found, new URL(`https://${host}/cb`).href)
    assert.equal(
      [await ask(), await ask()],
      [
        ['mcp', 'by a click'],
        ['mcp', 'silently'],
      ],
      host,
    )
  }
})

test('a web client is asked for again once its user can grant what it wanted', async (t) => {
  const may = { scopes: [] as string[], isAway: false }
  const ask = await webClient(
    await attack(t, {
      scopes: { write: 'Write', other: 'Other' },
      scopesOf() {
        if (may.isAway) throw new Error('the directory is away')
        return may.scopes
      },
    }),
  )
  assert.equal(await ask(), ['mcp', 'by a click'])
  may.scopes = ['other']
  assert.equal(await ask(), ['mcp', 'silently'])
  may.scopes = ['write']
  may.isAway = true
  assert.equal(await ask(), [undefined, 'silently'])
  may.isAway = false
  assert.equal(await ask(), ['mcp write', 'by a click'])
  assert.equal(await ask(), ['mcp write', 'silently'])
})

test('a click lets a web client in as long as a login, however often it comes', async (t) => {
  const time = { ms: 0 }
  const clock = { ...systemWorld, date: () => Date.now() + time.ms }
  const ask = await webClient(
    await attack(t, { clock, lifetimes: { login: 60_000 }, scopes: { write: 'Write' } }),
  )
  const seen: string[] = []
  for (let visits = 0; visits < 6; visits += 1) {
    seen.push((await ask())[1])
    time.ms += 25_000
  }
  const [click, none] = ['by a click', 'silently']
  assert.equal(seen, [click, none, none, click, none, none])
})

test.run()
