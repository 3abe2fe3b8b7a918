// node scripts/pictures.mjs: takes the pictures of the live view that pages show; needs `npm run build` and chromium.
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { chromium } from 'playwright-core'
import { repository } from './house/sources.mjs'

const { defineServer, defineTool, observe, serveHttp, startClients, startServer } = await import(
  '../dist/index.js'
)
const executablePath = ['/usr/bin/chromium', '/usr/bin/google-chrome'].find(existsSync)

const shop = defineServer({
  name: 'shop',
  version: '1.0.0',
  tools: {
    report: defineTool({ run: () => sleep(8_000, 'done') }),
    price: defineTool({
      run() {
        throw new TypeError("Cannot read properties of undefined (reading 'amount')")
      },
    }),
  },
})
const server = await startServer(shop, { transport: serveHttp({ port: 3000 }), logger: false })
const names = ['orders', 'search', 'mail']
const clients = await startClients(Object.fromEntries(names.map((name) => [name, { url: server.url }])), {
  client: { era: 'handshake' },
  required: 'all',
  logger: false,
})
const view = await observe({ name: 'shop', port: 0, local: false, actions: true })
const browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] })
try {
  await clients
    .get('search')
    .callTool('price')
    .catch(() => {})
  clients
    .get('orders')
    .callTool('report')
    .catch(() => {})
  await sleep(500)
  const page = await browser.newPage({ viewport: { width: 1_180, height: 640 } })
  await page.goto(view.url)
  const sessions = page.locator('.line', { hasText: 'session' }).filter({ hasText: 'in flight' })
  await sessions.nth(1).click()
  await page.locator('.acts .kill').click()
  await page.locator('.line.died').waitFor()
  for (const name of names)
    clients
      .get(name)
      .callTool('report')
      .catch(() => {})
  await page.locator('.line.back').waitFor()
  await page.screenshot({ path: join(repository, 'transports', 'view', 'page.png') })
} finally {
  await browser.close()
  await view.close()
  await clients.close()
  await server.stop()
}
