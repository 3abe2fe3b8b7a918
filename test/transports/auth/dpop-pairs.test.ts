import * as assert from 'uvu/assert'
import { oauth, withClient } from 'caduceus/client'
import { defineServer, defineTool, startServer } from 'caduceus/server'
import { http, serveHttp, serveSse, serveWebSocket, sse, websocket } from 'caduceus/transports'
import { startLogin } from '../../examples/auth/login.js'
import { freePort } from '../../support/free-port.js'
import { suite } from '../../support/suite.js'

const test = suite('DPoP of our clients at our servers', { timeout: 15_000 })

const whoami = defineTool({ name: 'whoami', run: (_args, { principal }) => String(principal?.subject) })
const definition = defineServer({ name: 'test', version: '1', tools: [whoami] })

const kinds = {
  http: { serve: serveHttp, connect: http, path: '/mcp' },
  sse: { serve: serveSse, connect: sse, path: '/sse' },
  websocket: { serve: serveWebSocket, connect: websocket, path: '/mcp' },
} as const

for (const [kind, { serve, connect, path }] of Object.entries(kinds))
  for (const nonceKeys of [undefined, ['x'.repeat(32)]])
    test(`${kind}: bound tokens${nonceKeys === undefined ? '' : ' and nonces'}, one sign-in for many calls`, async (t) => {
      const login = await startLogin()
      t.after(() => login[Symbol.asyncDispose]())
      const port = await freePort()
      const resource = `http://127.0.0.1:${port}${path}`
      const dpop = { required: true, ...(nonceKeys && { nonceKeys }) }
      const auth = { resource, authorizationServers: [login.issuer], dpop }
      const server = await startServer(definition, {
        transport: serve({ port, auth } as never),
        logger: false,
      })
      t.after(() => server.stop())
      const provider = oauth({
        dpop: true,
        grant: 'client_credentials',
        client: { id: 'agent', secret: 's', issuer: login.issuer },
      })
      t.after(() => provider.close())
      const url = kind === 'websocket' ? resource.replace('http', 'ws') : resource
      const transport = connect(url, { auth: provider })
      for (let count = 0; count < 2; count += 1)
        await withClient({ transport, logger: false }, async (client) => {
          const calls = Array.from({ length: 10 }, () => client.callTool('whoami'))
          for (const { text } of await Promise.all(calls)) assert.is(text, 'agent')
        })
      // who does not ask for a bound token is told that it is wanted
      const plain = oauth({
        grant: 'client_credentials',
        client: { id: 'agent', secret: 's', issuer: login.issuer },
      })
      t.after(() => plain.close())
      const error = await withClient(
        { transport: connect(url, { auth: plain }), logger: false },
        () => {},
      ).catch((cause: Error) => cause)
      assert.match(String(error), /the option dpop/)
    })

test.run()
