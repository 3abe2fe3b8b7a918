// second tier: third party
// time limit: 120 s
import { fakeIdentityProvider } from 'caduceus/testing'
import * as assert from 'uvu/assert'
import { suite } from '../support/suite.js'
import { bundleWorker, hasWorkerd, startWorker } from '../support/worker.js'
import { freePort, signedIn } from '../transports/authorization/_server.js'

const test = suite('a Worker at which users sign in', { timeout: 60_000 })
const inWorkerd = hasWorkerd ? test : (promise: string) => test.skip(promise, 'workerd is not installed')
const program = hasWorkerd
  ? bundleWorker(
      `import 'oidc-provider'; export { worker as default, Sessions } from './test/server/_worker-sign-in.ts'`,
    )
  : undefined

inWorkerd('a client registers, its user signs in and agrees, and a tool knows who it is', async (t) => {
  const login = await fakeIdentityProvider()
  t.after(() => login.close())
  const { text } = (await program) ?? { text: '' }
  const port = await freePort()
  const resource = `http://127.0.0.1:${port}/mcp`
  await startWorker(t, text, {
    port,
    bindings: {
      RESOURCE: resource,
      ISSUER: login.issuer,
      CLIENT: login.clientId,
      SECRET: login.clientSecret,
    },
    durableObjects: { SESSIONS: 'Sessions' },
  })
  const { client, pages } = signedIn(t, resource)
  assert.is((await client.callTool('whoami')).text, 'ada@example.com')
  assert.is(pages.length, 1)
})

test.run()
