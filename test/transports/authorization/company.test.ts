// second tier: third party, browser
// time limit: 120 s
import { existsSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Provider } from 'oidc-provider'
import { chromium } from 'playwright-core'
import * as assert from 'uvu/assert'
import { oauth, startClient } from 'caduceus/client'
import { http, oidc } from 'caduceus/transports'
import { freePort } from '../../support/free-port.js'
import { suite, type TestContext } from '../../support/suite.js'
import { Browser, type Page } from './_browser.js'
import { start } from './_server.js'

const test = suite("the login of a company's provider", { timeout: 60_000 })
const found = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find(existsSync)
const inBrowser: typeof test = Object.assign(
  found === undefined ? (promise: string) => test.skip(promise, 'chromium is not installed') : test,
  test,
)
const back = 'http://127.0.0.1:6274/callback'
const isBack = (url: URL): boolean => url.href.startsWith(back)

/** A certified provider, at which nobody can register: it knows one client, the server of `port`. */
async function company(t: TestContext, port: number): Promise<string> {
  const server = createServer()
  server.listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const provider = new Provider(issuer, {
    clients: [
      {
        client_id: 'mcp',
        client_secret: 'the secret of the company',
        redirect_uris: [`http://127.0.0.1:${port}/sign-in/callback`],
      },
    ],
    claims: { openid: ['sub'], email: ['email', 'email_verified'], profile: ['name'] },
    findAccount: (_ctx, accountId) => ({
      accountId,
      claims: () => ({
        ...{ sub: accountId, name: accountId.toUpperCase() },
        ...{ email: `${accountId}@example.com`, email_verified: true },
      }),
    }),
    pkce: { required: () => true },
  })
  server.on('request', provider.callback())
  return issuer
}

/** A server behind that login, and the address that its client sends a user to. */
async function begin(t: TestContext) {
  const port = await freePort()
  const issuer = await company(t, port)
  const provider = oidc({ issuer, clientId: 'mcp', clientSecret: 'the secret of the company' })
  return { issuer, ...(await start(t, { provider, port, scopes: { write: 'Change the stock' } })) }
}

/** A client whose user is whoever `visit` is. */
function client(t: TestContext, resource: string, visit: (address: URL) => Promise<URLSearchParams>) {
  const auth = oauth({
    signIn: { begin: async () => ({ redirectUri: back, authorize: visit }) },
    clientName: 'Host',
  })
  t.after(() => auth.close())
  const one = startClient({ transport: http(resource, { auth }), logger: false })
  t.after(() => one.close())
  return one
}

test('a certified provider without registration signs its users in', async (t) => {
  const { issuer, resource } = await begin(t)
  const browser = new Browser()
  const told = await client(t, resource, async (address) => {
    let page: Page = await browser.open(address, isBack)
    while (page.url.origin === issuer) {
      const prompt = /name="prompt" value="(\w+)"/.exec(page.text)?.[1] ?? ''
      page = await browser.send(page, { prompt, login: 'ada', password: 'any' }, isBack)
    }
    return (await browser.press(page, 'allow', isBack)).url.searchParams
  }).callTool('whoami')
  const principal = JSON.parse(told.text)
  assert.equal(
    [principal.issuer, principal.subject, principal.claims.email],
    [issuer, 'ada', 'ada@example.com'],
  )
})

inBrowser('a person signs in and agrees in a real browser, without a complaint of it', async (t) => {
  const { issuer, resource } = await begin(t)
  const args = ['--no-sandbox', '--disable-dev-shm-usage']
  const browser = await chromium.launch({ ...(found && { executablePath: found }), args })
  t.after(() => browser.close())
  const page = await browser.newPage()
  const complaints: string[] = []
  page.on('console', (message) => void (message.type() === 'error' && complaints.push(message.text())))
  const seen: string[] = []
  await page.route(`${back}**`, (route) => route.fulfill({ body: 'Done' }))
  const mcp = client(t, resource, async (address) => {
    await page.goto(address.href)
    while (page.url().startsWith(issuer)) {
      const login = page.locator('input[name=login]')
      if ((await login.count()) > 0) {
        await login.fill('ada')
        await page.locator('input[name=password]').fill('any')
      }
      await page.locator('button[type=submit]').click()
    }
    seen.push(await page.locator('body').innerText())
    await page.getByRole('button', { name: 'Allow' }).click()
    await page.waitForURL(`${back}**`)
    return new URL(page.url()).searchParams
  })
  assert.match((await mcp.callTool('whoami')).text, /"ada"/)
  assert.is((await mcp.callTool('write')).text, 'written')
  assert.match(
    String(seen[0]),
    /Host wants to use 127\.0\.0\.1:\d+ as you: ADA, signed in at 127\.0\.0\.1:\d+/,
  )
  assert.match(String(seen[0]), /Change the stock/)
  assert.equal(
    complaints.filter((text) => /Content Security Policy|Refused/.test(text) && !text.includes('fonts')),
    [],
  )
})

test.run()
