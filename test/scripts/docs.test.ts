// second tier: browser
// time limit: 270 s
import { execFile } from 'node:child_process'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { chromium, type Page } from 'playwright-core'
import * as assert from 'uvu/assert'
import { inRoot, root } from '../support/root.js'
import { suite, type TestContext } from '../support/suite.js'

const test = suite('npm run docs', { timeout: 240_000 })
const executablePath = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find(
  (path) => existsSync(path),
)
const folder = mkdtempSync(join(tmpdir(), 'site-'))
process.on('exit', () => rmSync(folder, { recursive: true, force: true }))
/** The folder of the site: it takes its time, and is built once. */
const built = build(folder)
built.catch(() => {}) // whoever reads it hears of it
/** What a reader types, and what comes first: the guide before symbols, a symbol by its whole name. */
const firstOf = [
  ['how to test', 'Test a server'],
  ['rate limit', 'caduceus/server'],
  ['bearer token', 'Tokens: an OAuth resource server'],
  ['graceful shutdown', 'Deployment'],
  ['logging', 'Log messages for the client'],
  ['streaming', 'Which transport'],
  ['authentication', 'Tokens: an OAuth resource server'],
  ['timeout', 'Progress, and giving up'],
  ['retry', 'Calls that are made again'],
  ['express', 'In a web application of yours'],
  ['mount', 'In a web application of yours'],
  ['prometheus', 'Traces and metrics'],
  ['docker', 'Deployment'],
  ['session state', 'State of a session'],
  ['startServer', 'startServer'],
] as const

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
  assert.match(readFileSync(join(site, 'documents', 'Options.html'), 'utf8'), 'statelessRequests')
})

const inBrowser = 'the site works from a folder: search works, nothing is fetched'
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
  const site = await built
  const browser = await chromium.launch({ args: ['--no-sandbox'], executablePath })
  t.after(() => browser.close())
  const page = await browser.newPage({ colorScheme: 'light' })
  const troubles: string[] = []
  page.on('pageerror', ({ message }) => troubles.push(message))
  page.on('request', (request) => {
    if (!/^(?:file|data|blob):/.test(request.url())) troubles.push(request.url())
  })
  const open = (path: string) => page.goto(pathToFileURL(join(site, path)).href)

  await open('index.html')
  assert.match(await page.title(), 'Caduceus')
  for (const group of ['First hour', 'Servers', 'Clients', 'Operating', 'Reference'])
    await page.locator('#tsd-nav-container', { hasText: group }).waitFor()

  await find(page, 'ask the user', 'Ask the user')
  await find(page, 'startClientPool', 'startClientPool')
  await find(page, 'drainDelay', 'Deployment')
  for (const [words, title] of firstOf) await find(page, words, title, 'li:first-child')

  await open('documents/Contributing.html')
  await page.locator('.mermaid svg').first().waitFor()

  await open('documents/Why_supervision.html')
  const loaded = await page
    .locator('.tsd-typography img')
    .evaluateAll((images) =>
      images.map((image) => (image as unknown as { naturalWidth: number }).naturalWidth > 0),
    )
  assert.equal(loaded, [true, true])

  const background = () => page.evaluate('getComputedStyle(document.body).backgroundColor') as Promise<string>
  const light = await background()
  await page.locator('details.tsd-accordion summary', { hasText: 'Settings' }).click()
  await page.locator('#tsd-theme').selectOption('dark')
  assert.is.not(await background(), light)
  assert.equal(troubles, [])
}

/** Types into the search, until a page of this title is among the results, or is the one that `which` says. */
async function find(page: Page, words: string, title: string, which = 'li'): Promise<void> {
  await page.locator('#tsd-search-trigger').click()
  await page.locator('#tsd-search-input').fill(words)
  await page.locator(`#tsd-search-results ${which}`, { hasText: title }).first().waitFor()
  await page.keyboard.press('Escape')
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
      const target = file === '' ? from : resolve(dirname(from), decodeURIComponent(file))
      if (!existsSync(target)) return [`${path}: ${link}`]
      const isThere =
        anchor === '' || !target.endsWith('.html') || anchorsOf(target).has(decodeURIComponent(anchor))
      return isThere ? [] : [`${path}: ${link}`]
    })
  })
}
