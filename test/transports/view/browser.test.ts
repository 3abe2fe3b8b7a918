// second tier: browser
// time limit: 120 s
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type Browser, chromium, type Page } from 'playwright-core'
import * as assert from 'uvu/assert'
import { startClients } from 'caduceus/client'
import { childSpec, defineActor, startSupervisor } from 'caduceus/runtime'
import { defineServer, defineTool, startServer } from 'caduceus/server'
import { observe, serveHttp } from 'caduceus/transports'
import { suite, type TestContext } from '../../support/suite.js'

const test = suite('the page, in a browser', { timeout: 60_000 })
const found = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find(existsSync)
const inBrowser: typeof test = Object.assign(
  found === undefined ? (promise: string) => test.skip(promise, 'chromium is not installed') : test,
  test,
)

async function open(t: TestContext): Promise<{ page: Page; complaints: string[]; browser: Browser }> {
  // the tests of a container run as root, which the sandbox of chromium does not take
  const args = ['--no-sandbox', '--disable-dev-shm-usage']
  const browser = await chromium.launch({ ...(found && { executablePath: found }), args })
  t.after(() => browser.close())
  const page = await browser.newPage({ viewport: { width: 1_200, height: 700 } })
  const complaints: string[] = []
  page.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning') complaints.push(message.text())
  })
  page.on('pageerror', (error) => complaints.push(error.message))
  return { page, complaints, browser }
}

inBrowser('a killed session turns red and returns within seconds', async (t) => {
  const shop = defineServer({ name: 'shop', version: '1', tools: { ok: defineTool({ run: () => 'ok' }) } })
  const server = await startServer(shop, { transport: serveHttp({ port: 0 }), logger: false })
  t.after(() => server.stop())
  const entries = { orders: { url: server.url ?? '' } }
  const clients = await startClients(entries, {
    client: { era: 'handshake' },
    logger: false,
    required: 'all',
  })
  t.after(() => clients.close())
  const observation = await observe({ name: 'shop', port: 0, local: false, actions: true })
  t.after(() => observation.close())
  const { page, complaints } = await open(t)
  await page.goto(observation.url ?? '')
  assert.is(new URL(page.url()).search, '')
  const session = page
    .locator('.line', { hasText: 'session' })
    .filter({ hasText: 'ready, 0 in flight' })
    .first()
  await session.click()
  assert.match(await page.locator('#details').innerText(), /says\s+ready, 0 in flight/)
  // each is there for a moment: a look from here may come too late
  await page.evaluate(`marks = new Set()
    new MutationObserver(() => {
      for (const mark of ['died', 'back']) if (document.querySelector('.line.' + mark)) marks.add(mark)
    }).observe(document.body, { subtree: true, childList: true, attributes: true })`)
  await page.locator('.acts .kill').click()
  // nobody else notices: its client calls, and it is there
  assert.is((await clients.get('orders').callTool('ok')).text, 'ok')
  const seen = (): boolean => {
    const { marks } = globalThis as unknown as { readonly marks: ReadonlySet<string> }
    return marks.has('died') && marks.has('back')
  }
  await page.waitForFunction(seen, undefined, { timeout: 10_000 })
  await page.locator('.happening.end', { hasText: 'killed' }).waitFor()
  await page.locator('.happening.restart', { hasText: 'session' }).waitFor()
  assert.match(await page.locator('#details h2').innerText(), /^session /)
  assert.is(await page.locator('.chip', { hasText: '1 session ready' }).count(), 1)
  assert.equal(complaints, [])
})

inBrowser('with 5,000 processes the page draws the visible part and searches', async (t) => {
  const plain = defineActor({ name: 'plain', init: () => ({}) })
  const hostile = '<img src=x onerror="document.title=1">'
  const children = Array.from({ length: 4_900 }, (_, i) => childSpec(plain, undefined, { id: `child ${i}` }))
  const tree = await startSupervisor({
    ...{ name: 'many', strategy: 'one_for_one', logger: false },
    children: [...children, childSpec(plain, undefined, { id: hostile })],
  })
  t.after(() => tree.stop())
  const observation = await observe({ port: 0, local: false })
  t.after(() => observation.close())
  const { page, complaints } = await open(t)
  await page.emulateMedia({ colorScheme: 'dark' })
  await page.goto(observation.url ?? '')
  await page.locator('.line', { hasText: 'child 3' }).first().waitFor()
  assert.ok((await page.locator('.line').count()) < 100)
  const ground = await page.evaluate('getComputedStyle(document.body).backgroundColor')
  assert.is(ground, 'rgb(20, 22, 26)')
  await page.keyboard.press('End')
  await page.locator('.line.selected', { hasText: hostile }).waitFor()
  await page.keyboard.press('Home')
  await page.locator('.line.selected', { hasText: 'many' }).waitFor()
  await page.keyboard.press('ArrowLeft')
  // the page's policy forbids what waits by a text of a program
  await page.locator('.line').nth(1).waitFor({ state: 'detached' })
  await page.keyboard.press('/')
  await page.keyboard.type('child 4321')
  await page.locator('.line', { hasText: 'child 4321' }).waitFor()
  await page.locator('.line').nth(2).waitFor({ state: 'detached' })
  assert.is(await page.locator('.line').count(), 2)
  await page.keyboard.press('Escape')
  assert.is(await page.locator('#search').inputValue(), '')
  assert.is(await page.title(), `${observation.path === undefined ? 'browser.test' : ''} · caduceus`)
  assert.is(await page.locator('.acts').count(), 0)
  assert.equal(complaints, [])
})

inBrowser('the page says when its program is gone, and keeps apart one of another secret', async (t) => {
  const first = await observe({ port: 0, local: false })
  t.after(() => first.close())
  const { page } = await open(t)
  await page.goto(first.url ?? '')
  await page.locator('#title', { hasText: 'browser.test' }).waitFor()
  const { port } = new URL(first.url ?? '')
  await first.close()
  await page.locator('#banner', { hasText: 'The program is away' }).waitFor()
  const second = await observe({ port: Number(port), local: false })
  t.after(() => second.close())
  await page
    .locator('#banner', { hasText: 'does not let this page look any more' })
    .waitFor({ timeout: 20_000 })
})

inBrowser('a reload shows the program again, and no server of another port learns the secret', async (t) => {
  const observation = await observe({ port: 0, local: false })
  t.after(() => observation.close())
  const heard: string[] = []
  const other = createServer((request, response) => {
    heard.push(JSON.stringify([request.url, request.headers]))
    // what another port sets comes to the page, too
    response.setHeader('set-cookie', `caduceus-${new URL(observation.url ?? '').port}=junk; path=/`)
    response.setHeader('content-type', 'text/html').end('<title>other</title>')
  }).listen(0, '127.0.0.1')
  t.after(() => other.close().closeAllConnections())
  await once(other, 'listening')
  const { page } = await open(t)
  const shown = () => page.locator('#title', { hasText: 'browser.test' }).waitFor()
  await page.goto(observation.url ?? '')
  await shown()
  const { origin } = new URL(observation.url ?? '')
  assert.is(page.url(), `${origin}/`)
  await page.goto(`http://127.0.0.1:${(other.address() as AddressInfo).port}/`)
  await page.goto(`${origin}/`)
  await shown()
  await page.reload()
  await shown()
  const secret = new URL(observation.url ?? '').hash.slice('#secret='.length)
  assert.ok(heard.length > 0)
  assert.not(heard.some((request) => request.includes(secret)))
})

test.run()
