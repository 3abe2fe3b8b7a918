import { inspect as render } from 'node:util'
import * as assert from 'uvu/assert'
import { defineServer, startServer } from 'caduceus/server'
import { type ClientTransport, http, serveHttp, serveSse, sse, websocket } from 'caduceus/transports'
import { suite } from '../../support/suite.js'
import { listen, polite, type Seen, status } from '../../transports/_http.js'
import { rejection, watch } from '../_raw.js'

const test = suite('addresses in errors')

const secret = 's3cr3t'

/** An address with a key, and how it may be shown. */
function addresses(url: string): { readonly keyed: string; readonly shown: string } {
  const [place] = url.split('?')
  return { keyed: `${place}?key=${secret}`, shown: `${place}?...` }
}

for (const [name, connect] of [
  ['http', (url: string) => http(url)],
  ['sse', (url: string) => sse(url)],
  ['websocket', (url: string) => websocket(url.replace('http', 'ws'))],
] as const) {
  test(`${name}: a refusal names the address, and no key in its query`, async (t) => {
    const { url } = await listen(t, (seen) => status(seen, 404))
    const { keyed, shown } = addresses(url)
    const error = await failureOf(t, connect(keyed))
    assert.match(error.message, shown.replace(/^https?:/, ''))
    assert.match(error.message, 'status 404')
    assert.not.match(render(error, { depth: 9 }), secret)
  })

  test(`${name}: an outage names the address without the key in its query`, async (t) => {
    const { url, server } = await listen(t, (seen) => status(seen, 404))
    await new Promise((resolve) => server.close(resolve))
    const { keyed, shown } = addresses(url)
    const error = await failureOf(t, connect(keyed))
    assert.match(error.message, `${shown.replace(/^https?:/, '')} cannot be reached: `)
    assert.not.match(render(error, { depth: 9 }), secret)
  })
}

test('our server names the MCP path to local clients that miss it, and to no other', async (t) => {
  const definition = defineServer({ name: 'somewhere', version: '1' })
  for (const [serve, said] of [
    [serveHttp({ path: '/here' }), 'MCP is served at /here'],
    [serveSse({ path: '/there' }), 'MCP is served at /there'],
    [serveHttp({ host: '0.0.0.0', allowedHosts: ['*'] }), 'nothing is served at this path'],
  ] as const) {
    const server = await startServer(definition, { transport: serve, logger: false, signals: false })
    t.after(() => server.stop())
    const url = `http://127.0.0.1:${server.port}/`
    assert.match((await failureOf(t, http(url))).message, said)
    assert.is((await (await fetch(url)).text()).includes('MCP is served'), said.startsWith('MCP'))
  }
})

test('inspection of an open connection shows no key of the address', async (t) => {
  const { url } = await listen(t, polite())
  const { keyed, shown } = addresses(url)
  const { client } = watch(t, { transport: http(keyed, { stream: false }) })
  await client.ready()
  const seen = render(client.inspect(), { depth: 9 })
  assert.match(seen, shown)
  assert.not.match(seen, secret)
})

test('an HTML page instead of an answer is reported as a page', async (t) => {
  const page = ({ response }: Seen) =>
    void response.writeHead(200, { 'content-type': 'text/html' }).end('<p>hi')
  const { url } = await listen(t, page)
  const { message } = await failureOf(t, http(url))
  assert.match(
    message,
    `${addresses(url).shown} answered with text/html, expected application/json or text/event-stream`,
  )
})

/** What a client that comes back for ever, or not at all, says of it. */
async function failureOf(t: Parameters<typeof watch>[0], transport: ClientTransport): Promise<Error> {
  const { client, states } = watch(t, { transport })
  const { reason } = await states.next((state) => state.reason !== undefined)
  const error = await rejection(client.ready({ timeout: 1 }))
  assert.ok(reason)
  assert.match(error.message, reason.message)
  return reason
}

test.run()
