import * as oauth from 'oauth4webapi'
import * as assert from 'uvu/assert'
import { freePort } from '../../support/free-port.js'
import { suite } from '../../support/suite.js'
import { startAuth } from './_auth.js'

const test = suite('DPoP of auth with the proofs of oauth4webapi', { timeout: 15_000 })

for (const algorithm of ['ES256', 'Ed25519', 'PS256'])
  test(`${algorithm}: proofs are accepted, and a nonce demand is understood`, async (t) => {
    const port = await freePort()
    const resource = `http://127.0.0.1:${port}/mcp`
    const dpop = { required: true, nonceKeys: ['x'.repeat(32)] }
    const { issuer } = await startAuth(t, { resource, dpop }, { port })
    const DPoP = oauth.DPoP({}, await oauth.generateKeyPair(algorithm))
    const jkt = await DPoP.calculateThumbprint()
    const token = await issuer.issue({ aud: resource, cnf: { jkt } })
    const params = {
      protocolVersion: '2025-11-25',
      capabilities: {},
      clientInfo: { name: 'x', version: '1' },
    }
    const ask = () =>
      oauth.protectedResourceRequest(
        token,
        'POST',
        new URL(resource),
        new Headers({ 'content-type': 'application/json', accept: 'application/json, text/event-stream' }),
        JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params }),
        { DPoP, [oauth.allowInsecureRequests]: true },
      )
    const refused = await ask().catch((error: unknown) => error)
    assert.ok(oauth.isDPoPNonceError(refused))
    for (let count = 0; count < 2; count += 1) {
      const { status, body } = await ask()
      await body?.cancel()
      assert.is(status, 200)
    }
  })

test.run()
