// second tier: third party
// time limit: 120 s
import { mkdtempSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { http, startClient } from 'caduceus'
import { fakeIdentityProvider } from 'caduceus/testing'
import * as assert from 'uvu/assert'
import { freePort } from '../support/free-port.js'
import { suite, type TestContext } from '../support/suite.js'
import { bundleWorker, hasWorkerd, startWorker } from '../support/worker.js'
import { signedIn } from '../transports/authorization/_server.js'

const test = suite('a Worker at which users sign in', { timeout: 60_000 })
const inWorkerd = hasWorkerd ? test : (promise: string) => test.skip(promise, 'workerd is not installed')
const program = hasWorkerd
  ? bundleWorker(
      `import 'oidc-provider'; export { worker as default, Sessions } from './test/server/_worker-sign-in.ts'`,
    )
  : undefined

/** A Worker at a port of its own, whose object keeps what it has in a folder. */
async function start(t: TestContext) {
  const login = await fakeIdentityProvider()
  t.after(() => login.close())
  const { text } = (await program) ?? { text: '' }
  const port = await freePort()
  const resource = `http://127.0.0.1:${port}/mcp`
  const folder = mkdtempSync(join(tmpdir(), 'object-'))
  t.after(() => rm(folder, { recursive: true, force: true }))
  const run = () =>
    startWorker(t, text, {
      port,
      bindings: {
        RESOURCE: resource,
        ISSUER: login.issuer,
        CLIENT: login.clientId,
        SECRET: login.clientSecret,
      },
      durableObjects: { SESSIONS: { className: 'Sessions', useSQLite: true } },
      durableObjectsPersist: folder,
    })
  return { resource, run }
}

inWorkerd('a client registers, its user signs in and agrees, and a tool knows who it is', async (t) => {
  const { resource, run } = await start(t)
  await run()
  const { client, pages } = signedIn(t, resource)
  assert.is((await client.callTool('whoami')).text, 'ada@example.com')
  assert.is(pages.length, 1)
})

inWorkerd('a tool asks the user who has signed in', async (t) => {
  const { resource, run } = await start(t)
  await run()
  const { auth } = signedIn(t, resource)
  const client = startClient({
    transport: http(resource, { auth }),
    logger: false,
    onElicit: () => ({ action: 'accept', content: { which: 'the red one' } }),
  })
  t.after(() => client.close())
  assert.is((await client.callTool('ask')).text, 'ada@example.com: the red one')
})

inWorkerd('an object that was evicted knows its users and their sessions', async (t) => {
  const { resource, run } = await start(t)
  const before = await run()
  const { client, pages } = signedIn(t, resource)
  assert.is((await client.callTool('count')).text, '1')
  await before.end()
  await run()
  assert.is((await client.callTool('count')).text, '2')
  assert.is(pages.length, 1)
})

test.run()
