// second tier: browser
// time limit: 600 s
import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, extname, join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { chromium, type Page } from 'playwright-core'
import * as assert from 'uvu/assert'
import { inRoot, root } from '../support/root.js'
import { suite, type TestContext } from '../support/suite.js'

const test = suite('npm run docs', { timeout: 560_000 })
const executablePath = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find(
  (path) => existsSync(path),
)
const folder = mkdtempSync(join(tmpdir(), 'site-'))
process.on('exit', () => rmSync(folder, { recursive: true, force: true }))
/** The folder of the site: it takes its time, and is built once. */
const built = build(folder)
built.catch(() => {}) // whoever reads it hears of it
/** What a reader types, and the page that comes first: the guide before symbols, a symbol by its whole name. */
const firstOf = Object.entries({
  'server/guide/tutorial': ['getting started', 'hello world'],
  'server/guide/testing': ['how to test', 'unit test', 'vitest', 'mock'],
  'server/': ['rate limit', 'throttle'],
  'server/guide/authenticate': ['bearer token', 'jwt', 'authentication', 'api key'],
  'server/guide/login': ['github login', 'oauth proxy', 'sso'],
  'server/guide/deployment': ['graceful shutdown', 'docker', 'kubernetes', 'health check', 'nginx'],
  'server/guide/log': ['logging'],
  'server/guide/progress': ['progress', 'cancel'],
  'server/guide/tools': ['define a tool', 'zod', 'structured output'],
  'server/guide/content': ['image', 'audio'],
  'server/guide/resources': ['resource template'],
  'server/guide/completion': ['autocomplete'],
  'server/guide/elicit': ['elicitation', 'human in the loop'],
  'server/guide/sample': ['sampling'],
  'server/guide/state': ['session state'],
  'server/guide/engines': ['persist sessions', 'redis'],
  'server/guide/own-engine': ['postgres', 'sqlite'],
  'server/guide/hooks': ['middleware'],
  'server/guide/recipes': ['recipes', 'per user'],
  'server/guide/hosts': ['claude desktop', 'cursor', 'vs code'],
  'server/guide/lifespan': ['lifespan', 'database connection'],
  'server/guide/scopes': ['permissions', 'rbac'],
  'server/guide/tasks': ['long running', 'background job'],
  'server/guide/isolation': ['sandbox', 'cpu bound'],
  'server/guide/processes': ['multi core'],
  'server/guide/cluster': ['horizontal scaling', 'load balancer'],
  'server/guide/gateway': ['proxy', 'aggregate servers'],
  'server/guide/openapi': ['swagger', 'rest api'],
  'server/guide/fetch': ['cloudflare workers'],
  'server/guide/functions': ['lambda'],
  'server/from-the-sdk': ['migrate from the sdk'],
  'server/guide/from-fastmcp': ['fastmcp'],
  'client/guide/retry': ['retry', 'reconnect'],
  'client/guide/models': ['langchain', 'openai', 'ai sdk'],
  'client/guide/many': ['multiple servers'],
  'client/guide/troubleshooting': ['troubleshooting'],
  'transports/guide/mount': ['express', 'hono', 'next.js'],
  'transports/guide/telemetry': ['prometheus', 'opentelemetry'],
  'transports/guide/live-view': ['dashboard'],
  'transports/guide/choose': ['streamable http', 'stdio'],
  'command/': ['cli', 'inspector', 'hot reload'],
  'protocol/errors': ['error codes'],
  'api/caduceus/functions/startServer': ['startServer'],
  'api/caduceus/functions/startClientPool': ['startClientPool'],
} as const).flatMap(([page, words]) => words.map((word) => ({ word, page })))

test('the pages of the site link to what is there', async () => {
  const site = await built
  assert.equal(lostLinks(site), [])
  const texts = readFileSync(join(site, 'llms.txt'), 'utf8')
  const listed = [...texts.matchAll(/\]\(([^)]+)\)/g)].map(([, path = '']) => path)
  assert.ok(listed.length > 90, `${listed.length} pages in llms.txt`)
  assert.equal(
    listed.filter((path) => !existsSync(join(site, path))),
    [],
  )
  assert.match(readFileSync(join(site, 'options.html'), 'utf8'), 'statelessRequests')
})

const inBrowser = 'what a reader types finds its page first; nothing is fetched from elsewhere'
if (executablePath === undefined) test.skip(inBrowser, 'chromium is not installed')
else test(inBrowser, (t) => browse(t, executablePath))

test.run()

async function build(site: string): Promise<string> {
  const { stdout } = await promisify(execFile)(
    process.execPath,
    [inRoot('scripts', 'docs.mjs'), '--out', site],
    { cwd: root },
  )
  assert.match(stdout, join(site, 'index.html'))
  return site
}

async function browse(t: TestContext, executablePath: string): Promise<void> {
  const url = await serve(t, await built)
  const browser = await chromium.launch({ args: ['--no-sandbox'], executablePath })
  t.after(() => browser.close())
  const page = await browser.newPage({ colorScheme: 'light' })
  const troubles: string[] = []
  page.on('pageerror', ({ message }) => troubles.push(message))
  page.on('request', (request) => {
    if (!request.url().startsWith(url) && !request.url().startsWith('data:')) troubles.push(request.url())
  })
  page.on('response', (response) => {
    if (response.status() >= 400) troubles.push(`${response.status()} ${response.url()}`)
  })

  await page.goto(url)
  assert.match(await page.title(), 'Caduceus')
  await page.locator('.VPHomeHero img').waitFor()
  const wrong = await searches(page, url)
  assert.equal(wrong, [])

  await page.goto(`${url}contributing.html`)
  await page.locator('.diagram svg').first().waitFor()
  for (const group of ['First hour', 'Servers', 'Clients', 'Operating', 'Reference'])
    await page.locator('.VPSidebar', { hasText: group }).waitFor()

  await page.goto(`${url}runtime/guide/why.html`)
  const loaded = await page
    .locator('.vp-doc img')
    .evaluateAll((images) =>
      images.map((image) => (image as unknown as { naturalWidth: number }).naturalWidth > 0),
    )
  assert.equal(loaded, [true, true])

  const background = () => page.evaluate('getComputedStyle(document.body).backgroundColor') as Promise<string>
  const light = await background()
  await page.locator('.VPNavBarAppearance button').click()
  assert.is.not(await background(), light)

  await page.setViewportSize({ width: 390, height: 844 })
  for (const path of ['', 'server/guide/tools.html', 'options.html', 'protocol/errors.html']) {
    await page.goto(url + path)
    assert.is(await page.evaluate('document.documentElement.scrollWidth - innerWidth'), 0, path)
  }
  assert.equal(troubles, [])
}

/** Types each word into the search; answers where another page comes first. */
async function searches(page: Page, url: string): Promise<readonly string[]> {
  await page.locator('.VPNavBarSearch button').first().click()
  const input = page.locator('.VPLocalSearchBox input')
  const first = page.locator('.VPLocalSearchBox .results li:first-child a')
  const wrong: string[] = []
  for (const { word, page: wanted } of firstOf) {
    await input.fill('')
    await first.waitFor({ state: 'detached' })
    await input.fill(word)
    await first.waitFor()
    const found = (await first.getAttribute('href'))?.replace(/(?:\.html)?(?:#.*)?$/, '')
    if (found !== new URL(url).pathname + wanted) wrong.push(`${word}: ${found}`)
  }
  await page.keyboard.press('Escape')
  return wrong
}

/** The site as any web server serves files. */
async function serve(t: TestContext, site: string): Promise<string> {
  const types: Record<string, string> = {
    '.html': 'text/html',
    '.js': 'text/javascript',
    '.css': 'text/css',
    '.svg': 'image/svg+xml',
  }
  const server = createServer((request, response) => {
    const path = decodeURIComponent(new URL(request.url ?? '/', 'http://localhost').pathname)
    const file = join(site, path.endsWith('/') ? `${path}index.html` : path)
    const isThere = existsSync(file)
    response.writeHead(isThere ? 200 : 404, {
      'content-type': types[extname(file)] ?? 'application/octet-stream',
    })
    response.end(isThere ? readFileSync(file) : '')
  })
  t.after(() => void server.close())
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
}

/** Links of pages to files that are not there, or to places that a page does not have. */
function lostLinks(site: string): string[] {
  const pages = (readdirSync(site, { recursive: true }) as string[]).filter((path) => path.endsWith('.html'))
  const anchors = new Map<string, Set<string>>()
  const anchorsOf = (path: string) => {
    const known = anchors.get(path)
    if (known !== undefined) return known
    const found = new Set([...readFileSync(path, 'utf8').matchAll(/ id="([^"]+)"/g)].map(([, id = '']) => id))
    anchors.set(path, found)
    return found
  }
  return pages.flatMap((path) => {
    const from = join(site, path)
    const links = [...readFileSync(from, 'utf8').matchAll(/ (?:href|src)="([^"]*)"/g)].map(
      ([, to = '']) => to,
    )
    return links.flatMap((link) => {
      if (/^(?:https?|mailto|data):/.test(link)) return []
      const [file = '', anchor = ''] = link.split('#')
      const to = decodeURIComponent(file)
      const place = to.startsWith('/') ? join(site, to) : resolve(dirname(from), to)
      const target = file === '' ? from : to.endsWith('/') ? join(place, 'index.html') : place
      if (!existsSync(target)) return [`${path}: ${link}`]
      const isThere =
        anchor === '' || !target.endsWith('.html') || anchorsOf(target).has(decodeURIComponent(anchor))
      return isThere ? [] : [`${path}: ${link}`]
    })
  })
}
